"""The database of jobs: a file of SQLite beside the uploads, or Postgres, where several machines index."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from filelock import FileLock

from service.ingestion.incoming import NoState, writing
from text.errors import StoryQAError

if TYPE_CHECKING:
    import psycopg

log = logging.getLogger(__name__)

# How long a machine that indexes may say nothing before its job is another's.
LEASE_S = 15.0
_BUSY_S = 10.0
_ANSWER_S = 3  # the most that Postgres may take for each step, so that a lease is renewed in time or given up
_SCHEMES = ("postgresql://", "postgres://")
_LOCK = 0x73746F7279  # any number that nobody else locks in this database
_TABLE = """
create table if not exists jobs (
    number {number},
    id text not null unique,
    book_id text not null,
    title text,
    name text not null,
    status text not null check (status in ('queued', 'running', 'done', 'failed')),
    progress double precision not null default 0,
    error text,
    attempts integer not null default 0
)
"""
_LATER = {
    # 1 for a job that was cancelled while a process was at it, until that one is gone.
    "stopped": "integer not null default 0",
    # The process that is at the job, and until when it is, in seconds of the database's clock.
    "owner": "text not null default ''",
    "lease": "double precision",
    # 0 for a job whose book takes the place of none that is there by the time it is indexed.
    "replaces": "integer not null default 1",
    # The versions of the builds that processes at the job were about to publish.
    "builds": "text not null default ''",
}


class MissingDriver(StoryQAError):
    """The extra for Postgres is not installed."""


class BadJobsAddress(StoryQAError):
    """An address that is none of a database that jobs can be kept in."""


class Connection:
    """A connection whose parameters are ``?``; each statement is a transaction unless one is begun."""

    def __init__(self, connection: Any, mark: str, begin: Sequence[str]) -> None:
        self._connection = connection
        self._mark = mark
        self._begin = begin

    def execute(self, query: str, values: Sequence[object] = ()) -> Any:
        """The cursor of the query, with ``rowcount`` and what it has found."""
        return self._connection.execute(query.replace("?", self._mark), values)

    def begin(self) -> None:
        """Begin a transaction; of those that are begun so, one at a time goes on."""
        for statement in self._begin:
            self._connection.execute(statement)


class JobDatabase(Protocol):
    """Where the table of jobs is.

    ``lease`` is the SQL of until when a process that takes a job now has it, and ``is_lost`` that of whether
    the process at a running job is dead, where nobody indexes but processes that ask so. ``is_shared`` if
    several machines may.
    """

    lease: str
    is_lost: str
    is_shared: bool
    url: str | None

    def exists(self) -> bool:
        """Whether there may be jobs; nothing is made."""
        ...

    def connected(self) -> AbstractContextManager[Connection]:
        """A connection to the database, which is made if need be."""
        ...


class SqliteJobs:
    """A file on this machine; who indexes holds a lock, so a running job that it finds is a dead one's."""

    lease = "null"
    is_lost = "1 = 1"
    is_shared = False
    url: str | None = None

    def __init__(self, file: Path) -> None:
        self._file = file
        self._made = False

    def exists(self) -> bool:
        """Whether there were ever jobs."""
        return self._file.exists()

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Raises ``NoState`` and ``NoRoom``."""
        with writing(self._file):
            if not self._made or not self.exists():
                self._make()
            connection = sqlite3.connect(self._file, timeout=_BUSY_S, isolation_level=None)
            with closing(connection):
                yield Connection(connection, "?", ["begin immediate"])

    def _make(self) -> None:
        """Make the database, unless another process has: one at a time, for WAL cannot be begun by two."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._file.with_suffix(".lock")), closing(sqlite3.connect(self._file)) as database:
            database.execute("pragma journal_mode = wal")
            database.execute(_TABLE.format(number="integer primary key autoincrement"))
            there = {column[1] for column in database.execute("pragma table_info(jobs)")}
            for name, kind in _LATER.items():
                if name not in there:  # in older tables
                    database.execute(f"alter table jobs add column {name} {kind}")
        self._made = True


class PostgresJobs:
    """A database of Postgres at ``url``, and leases by its clock; raises ``MissingDriver``."""

    lease = f"extract(epoch from clock_timestamp()) + {LEASE_S}"
    is_lost = "lease < extract(epoch from clock_timestamp())"
    is_shared = True

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ModuleNotFoundError as error:
            raise MissingDriver(
                "jobs in Postgres need its driver: pip install 'storyqa[postgres]'"
            ) from error
        self.url: str | None = url
        self._driver = psycopg
        self._made = False
        self._trouble: str | None = None

    def exists(self) -> bool:
        """There may be jobs of other machines."""
        return True

    @contextmanager
    def connected(self) -> Iterator[Connection]:
        """Raises ``NoState``."""
        try:
            with closing(self._connect()) as connection:
                database = Connection(connection, "%s", ["begin", f"select pg_advisory_xact_lock({_LOCK})"])
                if not self._made:
                    self._make(database)
                self._trouble = None
                yield database
        except self._driver.Error as error:
            reason = str(error).strip().partition("\n")[0]
            if reason != self._trouble:  # every second somebody asks
                log.error("the database of STORYQA_JOBS cannot be used: %s", reason)
            self._trouble = reason
            # Whoever asked may be a stranger, to whom it is not told where the database is.
            raise NoState("the database of STORYQA_JOBS cannot be used now; the log says why") from error

    def _connect(self) -> psycopg.Connection[Any]:
        return self._driver.connect(
            self.url or "",
            autocommit=True,
            connect_timeout=_ANSWER_S,
            tcp_user_timeout=_ANSWER_S * 1000,
            options=f"-c statement_timeout={_ANSWER_S * 1000}",
        )

    def _make(self, database: Connection) -> None:
        database.begin()
        database.execute(_TABLE.format(number="bigint generated always as identity primary key"))
        for name, kind in _LATER.items():
            database.execute(f"alter table jobs add column if not exists {name} {kind}")
        database.execute("commit")
        self._made = True


def job_database(folder: Path, url: str | None) -> JobDatabase:
    """The database at ``url``, or the file in ``folder``; raises ``BadJobsAddress`` and ``MissingDriver``."""
    if url is None:
        return SqliteJobs(folder / "jobs.sqlite")
    if not url.startswith(_SCHEMES):
        scheme = url.partition("://")[0]
        raise BadJobsAddress(
            f"{scheme[:20]!r} is no database for jobs; wanted postgresql://USER:PASSWORD@HOST/NAME in "
            "STORYQA_JOBS"
        )
    return PostgresJobs(url)

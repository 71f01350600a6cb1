"""The jobs that index uploads, in SQLite: they outlive the process that took them.

Not by huey, which deletes a task as it hands it out: a kill would lose the book in hand.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from filelock import FileLock

from indexing.write import flush
from service.http_errors import Refused
from service.ingestion.incoming import IncomingFile, writing

Status = Literal["queued", "running", "done", "failed"]

# How often a book may take the indexing process with it before it is let be.
_MOST_ATTEMPTS = 3
# Finished jobs that can still be asked about. By count and not by age: clocks jump.
_REMEMBERED = 1000
_BUSY_S = 10.0
_ID = re.compile("[0-9a-f]{32}")
_TABLE = """
create table if not exists jobs (
    number integer primary key autoincrement,
    id text not null unique,
    book_id text not null,
    title text,
    name text not null,
    status text not null check (status in ('queued', 'running', 'done', 'failed')),
    progress real not null default 0,
    error text,
    attempts integer not null default 0,
    stopped integer not null default 0
)
"""
# Older tables have it not. 1 for a job that was cancelled while a process was at it, until that one is gone.
_STOPPED = "alter table jobs add column stopped integer not null default 0"
_NONE_STOPPED = "update jobs set stopped = 0 where stopped"
_COLUMNS = "id, book_id, title, name, status, progress, error"


class UnknownJob(Refused):
    """A job that never was, or is forgotten."""

    status = 404
    kind = "unknown-job"


class TooManyJobs(Refused):
    """As many uploads wait already as may."""

    status = 503
    kind = "too-many-jobs"


@dataclass(frozen=True, slots=True)
class UploadJob:
    """A book to be indexed as ``book_id``, and how far it is: ``progress`` from 0 to 1.

    ``name`` is what its uploader calls the file, ``title`` what they call the book, if they do.
    ``error`` says why it failed.
    """

    id: str
    book_id: str
    title: str | None
    name: str
    status: Status
    progress: float
    error: str | None

    @property
    def finished(self) -> bool:
        """Whether nothing about it will change any more."""
        return self.status in ("done", "failed")


class JobQueue:
    """The queue of one service, whichever of its processes asks; ``folder`` need not exist yet.

    Jobs are begun in the order in which they came. Every call may raise ``NoState``, or ``NoRoom``
    where it writes.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "jobs.sqlite"
        self._uploads = folder / "uploads"
        self._made = False

    def upload(self, job_id: str) -> Path:
        """The file of the book that the job is to index; never a name that a client chose."""
        return self._uploads / job_id

    def reserve(self, most: int) -> IncomingFile:
        """A place for the book of a job to come; raises ``TooManyJobs`` where ``most`` are waiting."""
        with self._connected() as database:
            _check_room(database, most)
        id = secrets.token_hex(16)
        path = self.upload(id)
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            while True:
                file = path.open("xb")
                fcntl.flock(file, fcntl.LOCK_EX)  # for as long as it is held, the file is not swept away
                if path.exists():
                    return IncomingFile(id, path, file)
                file.close()  # it was swept away before that

    def add(self, incoming: IncomingFile, book_id: str, title: str | None, name: str, most: int) -> UploadJob:
        """Queue the job whose book has come in whole; raises ``TooManyJobs``."""
        with writing(incoming.path):
            incoming.file.flush()
            os.fsync(incoming.file.fileno())
            flush(incoming.path.parent)
        with self._connected() as database:
            database.execute("begin immediate")
            _check_room(database, most)
            database.execute(
                "insert into jobs (id, book_id, title, name, status) values (?, ?, ?, ?, 'queued')",
                (incoming.id, book_id, title, name),
            )
            database.execute(
                "delete from jobs where status in ('done', 'failed') and number <= (select number from jobs "
                "where status in ('done', 'failed') order by number desc limit 1 offset ?)",
                (_REMEMBERED,),
            )
            database.execute("commit")
        incoming.added = True
        return UploadJob(incoming.id, book_id, title, name, "queued", 0.0, None)

    def get(self, id: str) -> UploadJob:
        """The job as it is now; raises ``UnknownJob``."""
        job = self._find(id) if _ID.fullmatch(id) and self._exists() else None
        if job is None:
            raise UnknownJob(
                f"unknown job {id[:50]!r}; it was never begun, or is forgotten: GET /books lists the books"
            )
        return job

    def pending(self) -> bool:
        """Whether there is work."""
        if not self._exists():
            return False
        with self._connected() as database:
            query = "select exists (select 1 from jobs where status in ('queued', 'running'))"
            return bool(database.execute(query).fetchone()[0])

    def of_book(self, book_id: str) -> list[UploadJob]:
        """The jobs for a book that are not finished, in their order."""
        if not self._exists():
            return []
        with self._connected() as database:
            query = f"select {_COLUMNS} from jobs where book_id = ? and status in ('queued', 'running')"
            return [UploadJob(*row) for row in database.execute(f"{query} order by number", (book_id,))]

    def running(self) -> UploadJob | None:
        """The job that a process is at, or was when it died."""
        with self._connected() as database:
            query = f"select {_COLUMNS} from jobs where status = 'running' order by number limit 1"
            row = database.execute(query).fetchone()
        return None if row is None else UploadJob(*row)

    def stopped(self) -> bool:
        """Whether a process may be at a job that was cancelled: it has to be ended."""
        with self._connected() as database:
            query = "select exists (select 1 from jobs where stopped)"
            return bool(database.execute(query).fetchone()[0])

    def forget_stopped(self) -> None:
        """The process that was at a cancelled job is no more."""
        with self._connected() as database:
            database.execute(_NONE_STOPPED)

    def start_next(self) -> UploadJob | None:
        """The next job, now running, or None; for the one process that indexes."""
        with self._connected() as database:
            database.execute("begin immediate")
            database.execute(_NONE_STOPPED)  # whoever asks is at none of them
            query = f"select {_COLUMNS} from jobs where status = 'queued' order by number limit 1"
            row = database.execute(query).fetchone()
            if row is not None:
                database.execute(
                    "update jobs set status = 'running', progress = 0, attempts = attempts + 1 where id = ?",
                    row[:1],
                )
            database.execute("commit")
        return None if row is None else replace(UploadJob(*row), status="running", progress=0.0)

    def recover(self) -> None:
        """Queue what a process that died was at; a book that killed several is given up."""
        with self._connected() as database:
            database.execute(
                "update jobs set status = 'failed', error = ? where status = 'running' and attempts >= ?",
                (
                    f"indexing this book ended the process {_MOST_ATTEMPTS} times (is memory short?); "
                    "split the book and try again",
                    _MOST_ATTEMPTS,
                ),
            )
            database.execute("update jobs set status = 'queued' where status = 'running'")
            database.execute(_NONE_STOPPED)

    def progress(self, id: str, share: float) -> None:
        """Note how far a running job is."""
        with self._connected() as database:
            query = "update jobs set progress = ? where id = ? and status = 'running'"
            database.execute(query, (round(share, 4), id))

    def finish(self, id: str) -> None:
        """The book is in the store; nothing to a job that has failed, for it was cancelled meanwhile."""
        with self._connected() as database:
            database.execute(
                "update jobs set status = 'done', progress = 1, error = null "
                "where id = ? and status != 'failed'",
                (id,),
            )
        self.upload(id).unlink(missing_ok=True)

    def fail(self, id: str, error: str) -> None:
        """The book cannot be indexed; the first reason counts."""
        with self._connected() as database:
            query = "update jobs set status = 'failed', error = ? where id = ? and status != 'failed'"
            database.execute(query, (error, id))
        self.upload(id).unlink(missing_ok=True)

    def cancel(self, book_id: str, error: str) -> int:
        """Fail the jobs for a book that are not finished; how many they were.

        A process that is at one of them is to be ended by whoever started it: ``stopped``.
        """
        return self._cancel("book_id", book_id, error)

    def cancel_job(self, id: str, error: str) -> None:
        """Fail one job, as ``cancel`` does, unless it is finished."""
        self._cancel("id", id, error)

    def _cancel(self, column: str, value: str, error: str) -> int:
        if not self._exists():
            return 0
        with self._connected() as database:
            database.execute("begin immediate")
            query = f"select id from jobs where {column} = ? and status in ('queued', 'running')"
            gone = database.execute(query, (value,)).fetchall()
            database.executemany(
                "update jobs set stopped = (status = 'running'), status = 'failed', error = ? where id = ?",
                [(error, id) for (id,) in gone],
            )
            database.execute("commit")
        for (id,) in gone:
            self.upload(id).unlink(missing_ok=True)
        return len(gone)

    def remove_orphans(self) -> None:
        """Delete uploads that no job waits for: their process died before they were complete."""
        if not self._uploads.is_dir():
            return
        for path in self._uploads.iterdir():
            with suppress(FileNotFoundError, BlockingIOError), path.open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                job = self._find(path.name)
                if job is None or job.finished:
                    path.unlink(missing_ok=True)

    def _exists(self) -> bool:
        return self._file.exists()

    def _find(self, id: str) -> UploadJob | None:
        with self._connected() as database:
            row = database.execute(f"select {_COLUMNS} from jobs where id = ?", (id,)).fetchone()
        return None if row is None else UploadJob(*row)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """The database; each statement is a transaction by itself unless one is begun."""
        with writing(self._file):
            if not self._made or not self._exists():
                self._make()
            connection = sqlite3.connect(self._file, timeout=_BUSY_S, isolation_level=None)
            with closing(connection) as database:
                yield database

    def _make(self) -> None:
        """Make the database, unless another process has: one at a time, for WAL cannot be begun by two."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self._file.with_suffix(".lock")), closing(sqlite3.connect(self._file)) as database:
            database.execute("pragma journal_mode = wal")
            database.execute(_TABLE)
            if "stopped" not in (column[1] for column in database.execute("pragma table_info(jobs)")):
                database.execute(_STOPPED)
        self._made = True


def _check_room(database: sqlite3.Connection, most: int) -> None:
    query = "select count(*) from jobs where status in ('queued', 'running')"
    waiting = database.execute(query).fetchone()[0]
    if waiting >= most:
        raise TooManyJobs(
            f"{waiting:,} books wait to be indexed already; send this one later", {"Retry-After": "30"}
        )

"""The jobs that index uploads, in a database: they outlive the process that took them.

Not by huey, which deletes a task as it hands it out: a kill would lose the book in hand.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from indexing.write import flush
from service.http_errors import Refused
from service.ingestion.incoming import IncomingFile, writing
from service.ingestion.job_database import Connection, job_database

Status = Literal["queued", "running", "done", "failed"]

# How often a book may take the indexing process with it before it is let be.
_MOST_ATTEMPTS = 3
# Finished jobs that can still be asked about. By count and not by age: clocks jump.
_REMEMBERED = 1000
_ID = re.compile("[0-9a-f]{32}")
_NOT_STOPPED = "update jobs set stopped = 0 where stopped = 1 and owner = ?"
_COLUMNS = "id, book_id, title, name, status, progress, error, replaces, builds"


class UnknownJob(Refused):
    """A job that never was, or is forgotten."""

    status = 404
    kind = "unknown-job"


class TooManyJobs(Refused):
    """As many uploads wait already as may."""

    status = 503
    kind = "too-many-jobs"


class BookExists(Refused):
    """A book that would have to be replaced, by an upload that may replace none."""

    status = 409
    kind = "book-there"

    def __init__(self, book_id: str) -> None:
        super().__init__(
            f"there is a book {book_id!r} already; send id={book_id} to replace it, or another id"
        )


@dataclass(frozen=True, slots=True)
class UploadJob:
    """A book to be indexed as ``book_id``, and how far it is: ``progress`` from 0 to 1.

    ``name`` is what its uploader calls the file, ``title`` what they call the book, if they do.
    ``error`` says why it failed, ``replaces`` whether it may take the place of a book that is there. Those
    whose versions are ``builds`` are its own, published by a process that ended before it could say so.
    """

    id: str
    book_id: str
    title: str | None
    name: str
    status: Status
    progress: float
    error: str | None
    replaces: bool
    builds: tuple[str, ...] = ()

    @property
    def finished(self) -> bool:
        """Whether nothing about it will change any more."""
        return self.status in ("done", "failed")


class JobQueue:
    """The queue of one service, whichever of its processes asks; ``folder`` need not exist yet.

    Jobs are begun in the order in which they came, and of one book one at a time. Every call may raise
    ``NoState``, or ``NoRoom`` where it writes. ``owner`` is the name of a process that indexes, and of no
    other: what it says of a job counts for as long as it is the one that has it.

    The jobs are in the database at ``url``, or in a file of the folder; ``job_database`` says what it raises.
    """

    def __init__(self, folder: Path, url: str | None = None) -> None:
        self.database = job_database(folder, url)
        self._uploads = folder / "uploads"

    def upload(self, job_id: str) -> Path:
        """The file of the book that the job is to index; never a name that a client chose."""
        return self._uploads / job_id

    def reserve(self, most: int) -> IncomingFile:
        """A place for the book of a job to come; raises ``TooManyJobs`` where ``most`` are waiting."""
        with self.database.connected() as database:
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

    def add(
        self,
        incoming: IncomingFile,
        book_id: str,
        title: str | None,
        name: str,
        most: int,
        is_there: Callable[[], bool] | None = None,
    ) -> UploadJob:
        """Queue the job whose book has come in whole; raises ``TooManyJobs`` and ``BookExists``.

        ``is_there`` is given where no book may be replaced, and says whether the store has such a book.
        """
        with writing(incoming.path):
            incoming.file.flush()
            os.fsync(incoming.file.fileno())
            flush(incoming.path.parent)
        with self.database.connected() as database:
            database.begin()
            _check_room(database, most)
            # In this step no job is added and none ends, so of uploads at once one alone is the first.
            if is_there is not None and (_has_job(database, book_id) or is_there()):
                raise BookExists(book_id)
            replaces = is_there is None
            database.execute(
                "insert into jobs (id, book_id, title, name, status, replaces) "
                "values (?, ?, ?, ?, 'queued', ?)",
                (incoming.id, book_id, title, name, int(replaces)),
            )
            database.execute(
                "delete from jobs where status in ('done', 'failed') and number <= (select number from jobs "
                "where status in ('done', 'failed') order by number desc limit 1 offset ?)",
                (_REMEMBERED,),
            )
            database.execute("commit")
        incoming.added = True
        return UploadJob(incoming.id, book_id, title, name, "queued", 0.0, None, replaces)

    def get(self, id: str) -> UploadJob:
        """The job as it is now; raises ``UnknownJob``."""
        job = self._find(id) if _ID.fullmatch(id) and self.database.exists() else None
        if job is None:
            raise UnknownJob(
                f"unknown job {id[:50]!r}; it was never begun, or is forgotten: GET /books lists the books"
            )
        return job

    def pending(self) -> bool:
        """Whether there is work that nobody is at."""
        if not self.database.exists():
            return False
        with self.database.connected() as database:
            query = (
                "select exists (select 1 from jobs where status = 'queued' "
                f"or status = 'running' and {self.database.is_lost})"
            )
            return bool(database.execute(query).fetchone()[0])

    def of_book(self, book_id: str) -> list[UploadJob]:
        """The jobs for a book that are not finished, in their order."""
        if not self.database.exists():
            return []
        with self.database.connected() as database:
            query = f"select {_COLUMNS} from jobs where book_id = ? and status in ('queued', 'running')"
            return [_job(row) for row in database.execute(f"{query} order by number", (book_id,))]

    def running(self, owner: str = "") -> UploadJob | None:
        """The job that the process is at, or was when it died."""
        with self.database.connected() as database:
            query = (
                f"select {_COLUMNS} from jobs where status = 'running' and owner = ? order by number limit 1"
            )
            row = database.execute(query, (owner,)).fetchone()
        return None if row is None else _job(row)

    def stopped(self, owner: str = "") -> bool:
        """Whether the process may be at a job that was cancelled: it has to be ended."""
        with self.database.connected() as database:
            query = "select exists (select 1 from jobs where stopped = 1 and owner = ?)"
            return bool(database.execute(query, (owner,)).fetchone()[0])

    def forget_stopped(self, owner: str = "") -> None:
        """The process that was at a cancelled job is no more."""
        with self.database.connected() as database:
            database.execute(_NOT_STOPPED, (owner,))

    def start_next(self, owner: str = "") -> UploadJob | None:
        """The next job, now running, or None."""
        with self.database.connected() as database:
            database.begin()
            database.execute(_NOT_STOPPED, (owner,))  # whoever asks is at none of them
            query = (
                f"select {_COLUMNS} from jobs where status = 'queued' and not exists ("
                "select 1 from jobs other where other.book_id = jobs.book_id and other.status = 'running' "
                "and other.owner <> ?) "
                "order by number limit 1"
            )
            row = database.execute(query, (owner,)).fetchone()
            if row is not None:
                database.execute(
                    "update jobs set status = 'running', progress = 0, attempts = attempts + 1, "
                    f"owner = ?, lease = {self.database.lease} where id = ?",
                    (owner, row[0]),
                )
            database.execute("commit")
        return None if row is None else replace(_job(row), status="running", progress=0.0)

    def renew(self, owner: str) -> None:
        """The process lives: nobody else may have its job."""
        with self.database.connected() as database:
            query = f"update jobs set lease = {self.database.lease} where status = 'running' and owner = ?"
            database.execute(query, (owner,))

    def has(self, owner: str, id: str) -> bool:
        """Whether the job is still the process's: nobody has cancelled it, and nobody else has it."""
        with self.database.connected() as database:
            query = "select exists (select 1 from jobs where id = ? and owner = ? and status = 'running')"
            return bool(database.execute(query, (id, owner)).fetchone()[0])

    def recover(self) -> None:
        """Queue what processes that died were at; a book that killed several is given up."""
        self._give_back(self.database.is_lost)

    def release(self, owner: str) -> None:
        """Do that with what one process was at, which has died."""
        self._give_back("owner = ?", owner)

    def _give_back(self, condition: str, *values: str) -> None:
        with self.database.connected() as database:
            database.begin()
            database.execute(
                "update jobs set status = 'failed', error = ? "
                f"where status = 'running' and attempts >= ? and {condition}",
                (
                    f"indexing this book ended the process {_MOST_ATTEMPTS} times (is memory short?); "
                    "split the book and try again",
                    _MOST_ATTEMPTS,
                    *values,
                ),
            )
            database.execute(
                f"update jobs set status = 'queued', owner = '' where status = 'running' and {condition}",
                values,
            )
            database.execute(f"update jobs set stopped = 0 where stopped = 1 and {condition}", values)
            database.execute("commit")

    def progress(self, id: str, share: float, owner: str = "") -> None:
        """Note how far a running job is."""
        with self.database.connected() as database:
            query = "update jobs set progress = ? where id = ? and status = 'running' and owner = ?"
            database.execute(query, (round(share, 4), id, owner))

    def note_build(self, id: str, version: str, owner: str = "") -> None:
        """Note that the process is about to publish a build of that version for the job."""
        with self.database.connected() as database:
            change = "update jobs set builds = builds || ' ' || ?"
            database.execute(
                f"{change} where id = ? and status = 'running' and owner = ?", (version, id, owner)
            )

    def finish(self, id: str, owner: str = "") -> None:
        """The book is in the store; nothing to a job that was cancelled, or is another's, meanwhile."""
        self._end(id, owner, "status = 'done', progress = 1, error = ?", None)

    def fail(self, id: str, error: str, owner: str = "") -> None:
        """The book cannot be indexed; the first reason counts."""
        self._end(id, owner, "status = 'failed', error = ?", error)

    def _end(self, id: str, owner: str, change: str, error: str | None) -> None:
        with self.database.connected() as database:
            query = f"update jobs set {change} where id = ? and owner = ? and status in ('queued', 'running')"
            ended = database.execute(query, (error, id, owner)).rowcount
        if ended:  # else somebody else may need the upload
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
        if not self.database.exists():
            return 0
        with self.database.connected() as database:
            database.begin()
            query = f"select id from jobs where {column} = ? and status in ('queued', 'running')"
            gone = database.execute(query, (value,)).fetchall()
            for (id,) in gone:
                database.execute(
                    "update jobs set stopped = case status when 'running' then 1 else 0 end, "
                    "status = 'failed', error = ? where id = ?",
                    (error, id),
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

    def _find(self, id: str) -> UploadJob | None:
        with self.database.connected() as database:
            row = database.execute(f"select {_COLUMNS} from jobs where id = ?", (id,)).fetchone()
        return None if row is None else _job(row)


def _job(row: Sequence[Any]) -> UploadJob:
    job = UploadJob(*row)
    return replace(job, replaces=bool(row[-2]), builds=tuple(row[-1].split()))


def _has_job(database: Connection, book_id: str) -> bool:
    query = "select exists (select 1 from jobs where book_id = ? and status in ('queued', 'running'))"
    return bool(database.execute(query, (book_id,)).fetchone()[0])


def _check_room(database: Connection, most: int) -> None:
    query = "select count(*) from jobs where status in ('queued', 'running')"
    waiting = database.execute(query).fetchone()[0]
    if waiting >= most:
        raise TooManyJobs(
            f"{waiting:,} books wait to be indexed already; send this one later", {"Retry-After": "30"}
        )

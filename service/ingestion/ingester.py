"""The store as clients change it: books brought in through jobs, books taken out."""

from __future__ import annotations

import time
from functools import partial

from indexing.store_protocol import Store
from service.http_errors import Refused
from service.ingestion.incoming import IncomingFile
from service.ingestion.indexer import Indexer
from service.ingestion.jobs import JobQueue, UploadJob
from service.ingestion.uploads import Upload
from service.settings import Settings

_REMOVED = "the book was removed before it was indexed"
_STOP_S = 15.0  # that the process which indexes may take to be ended, by whichever service has started it
_POLL_S = 0.05


class BookBusy(Refused):
    """A book that cannot be removed while it is being indexed."""

    status = 409
    kind = "book-busy"


class Ingester:
    """What the calls share: the store, the jobs and the process that does them."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self.store = store
        self.jobs = JobQueue(settings.state_folder, settings.jobs_url)
        self.indexer = Indexer(settings.state_folder, store.address, self.jobs, settings.stall_s)
        self.most = settings.most_jobs
        self.closing = False

    def close(self) -> None:
        """Have the streams of events end."""
        self.closing = True

    def add(self, upload: Upload, incoming: IncomingFile) -> UploadJob:
        """Queue the book that came in; raises ``BookExists``, ``NoRoom`` and ``TooManyJobs``."""
        book_id = upload.book_id()
        is_there = partial(self.store.holds, book_id) if upload.id is None else None
        job = self.jobs.add(incoming, book_id, upload.title, upload.name, self.most, is_there)
        self.indexer.wake()
        return job

    def cancel(self, job_id: str) -> None:
        """Give up a job, whether it waits or runs; raises ``UnknownJob``."""
        self.jobs.get(job_id)
        self.jobs.cancel_job(job_id, "the job was cancelled")
        self.indexer.wake()

    def remove(self, book_id: str) -> None:
        """Take a book out of the store, out of the queue, and from the process that indexes it.

        Raises ``UnknownBook``, ``BookBusy``, and what ``Store.claim`` and ``JobQueue.cancel`` do.
        """
        if not self.store.holds(book_id) and not self.jobs.of_book(book_id):
            self.store.current(book_id)  # which says what ids look like this one
        ended_at: float | None = None
        while not self._removed(book_id):
            # Another process is at the book: one that does our jobs is ended, and no other.
            if ended_at is None and any(job.status == "running" for job in self.jobs.of_book(book_id)):
                ended_at = time.monotonic()
                self.jobs.cancel(book_id, _REMOVED)
                self.indexer.wake()
            if ended_at is None or time.monotonic() - ended_at > _STOP_S:
                raise BookBusy(
                    f"{book_id!r} is being indexed; remove it when that is done", {"Retry-After": "10"}
                )
            time.sleep(_POLL_S)

    def _removed(self, book_id: str) -> bool:
        """Remove the book unless another process has claimed it."""
        try:
            # A process that has begun with a job asks, with the book claimed, whether the job is wanted:
            # so it never publishes what was removed. Files go first, for there may be no room to cancel.
            with self.store.claim(book_id, wait=False) as claim:
                claim.withdraw()
                self.jobs.cancel(book_id, _REMOVED)
        except BlockingIOError:
            return False
        self.indexer.wake()
        return True

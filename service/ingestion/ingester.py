"""The store as clients change it: books brought in through jobs, books taken out."""

from __future__ import annotations

from indexing.errors import IndexMismatch, UnknownBook
from indexing.store import IndexStore
from service.http_errors import Refused
from service.ingestion.incoming import IncomingFile, NoState
from service.ingestion.indexer import Indexer
from service.ingestion.jobs import JobQueue, UploadJob
from service.ingestion.uploads import Upload
from service.settings import Settings


class BookExists(Refused):
    """A book that would have to be replaced, or is being indexed."""

    status = 409
    kind = "book-there"


class Ingester:
    """What the calls share: the store, the jobs and the process that does them."""

    def __init__(self, settings: Settings, store: IndexStore) -> None:
        self.store = store
        self.jobs = JobQueue(settings.state_folder)
        self.indexer = Indexer(settings.state_folder, store.root, self.jobs)
        self.most = settings.most_jobs
        self.closing = False

    def close(self) -> None:
        """Have the streams of events end."""
        self.closing = True

    def add(self, upload: Upload, incoming: IncomingFile) -> UploadJob:
        """Queue the book that came in; raises ``BookExists``, ``NoRoom`` and ``TooManyJobs``."""
        book_id = upload.book_id()
        if upload.id is None and (self._has(book_id) or self.jobs.of_book(book_id)):
            raise BookExists(
                f"there is a book {book_id!r} already; send id={book_id} to replace it, or another id"
            )
        job = self.jobs.add(incoming, book_id, upload.title, upload.name, self.most)
        self.indexer.wake()
        return job

    def remove(self, book_id: str) -> None:
        """Take a book out of the store, and out of the queue; raises ``UnknownBook`` and ``BookExists``."""
        waiting = self.jobs.of_book(book_id)
        try:
            if any(job.status == "running" for job in waiting):
                raise BlockingIOError
            self.store.remove(book_id, wait=False)
        except BlockingIOError:
            raise BookExists(
                f"{book_id!r} is being indexed; remove it when that is done", {"Retry-After": "10"}
            ) from None
        except UnknownBook:
            if not waiting:
                raise
        except OSError as error:
            raise NoState(
                f"{book_id!r} cannot be removed ({error.strerror}); is the store read only?"
            ) from error
        self.jobs.cancel(book_id, "the book was removed before it was indexed")

    def _has(self, book_id: str) -> bool:
        try:
            self.store.current(book_id)
        except UnknownBook:
            return False
        except IndexMismatch:  # damaged, but there
            pass
        return True

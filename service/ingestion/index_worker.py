"""The process that indexes uploads: one book after the other, and none of its weight on the answering."""

from __future__ import annotations

import ctypes
import fcntl
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from indexing.build import BuildSettings, IdTaken, build_book
from indexing.errors import DiskFull, IndexMismatch, NotWritable, SourceError, UnknownBook
from indexing.formats.read import read_book
from indexing.manifest import Manifest
from indexing.sources.locate import Source, read_file
from indexing.store_protocol import Store
from service.ingestion.incoming import NoState
from service.ingestion.jobs import BookExists, JobQueue, UploadJob
from service.settings import read_settings
from text.errors import StoryQAError
from text.output_files import is_full

log = logging.getLogger(__name__)

_PR_SET_PDEATHSIG = 1  # linux/prctl.h

# The longest novels have ten million; a book of more is taken for an attempt to fill the memory.
MOST_CHARACTERS = 20_000_000
_IDLE_S = 60.0  # then the process ends and gives the memory of the encoder back
_POLL_S = 0.5
_REPORT_S = 0.2
_NICENESS = 10


class Cancelled(Exception):
    """The job in hand is not wanted any more."""


def main() -> None:
    """``python -m service.ingestion.index_worker LOCK STORE PARENT OWNER``, as ``Indexer`` starts it.

    Of those with the same lock, a file beside the uploads, one works at a time. ``PARENT`` is the id of the
    process that starts it, and reads its end of the pipe at standard input; ``OWNER`` is its own name among
    those that do jobs.
    """
    end_with_parent(int(sys.argv[3]))
    locked, store, owner = Path(sys.argv[1]), sys.argv[2], sys.argv[4]
    logging.basicConfig(format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("indexing").setLevel(logging.INFO)
    with locked.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # another service's process was quicker
        _lower_priority()
        try:
            settings = read_settings(store)
            work(JobQueue(locked.parent, settings.jobs_url), settings.index_store(), _IDLE_S, owner)
        except StoryQAError as error:  # of the queue: the folder of the state is full, or gone
            log.error("%s", error)
            sys.exit(1)


def work(jobs: JobQueue, store: Store, idle_s: float, owner: str = "") -> None:
    """Do all jobs there are, and those that come until none has come for ``idle_s``."""
    jobs.recover()
    since = time.monotonic()
    while time.monotonic() - since < idle_s:
        job = jobs.start_next(owner)
        if job is None:
            time.sleep(_POLL_S)
            jobs.recover()  # what other machines were at that are no more
            continue
        try:
            _index(job, jobs, store, owner)
        except Cancelled:
            log.info("%s: cancelled, or taken over", job.name)
        except NoState:  # of the queue: that is no fault of the book
            raise
        except (StoryQAError, OSError, MemoryError) as error:
            log.error("%s: %s", job.name, error)
            jobs.fail(job.id, _reason_for_uploader(error, jobs.upload(job.id)), owner)
        except Exception as error:
            log.exception("indexing %s failed", job.name)
            jobs.fail(job.id, f"an unexpected {type(error).__name__}; the server's log has more", owner)
        else:
            jobs.finish(job.id, owner)
        since = time.monotonic()


def _lower_priority() -> None:
    """Whoever waits for an answer goes first, and half of the processor stays theirs."""
    from encoders.device import threads, use_threads

    os.nice(_NICENESS)
    use_threads(max(1, threads() // 2))


def _index(job: UploadJob, jobs: JobQueue, store: Store, owner: str) -> None:
    """Put the job's book into the store, in place of the one of that id if there is one and it may be."""
    upload = jobs.upload(job.id)
    if not upload.exists():
        if not jobs.has(owner, job.id):
            raise Cancelled
        raise SourceError("the upload is not here; STORYQA_STATE has to be one folder for all that index")
    source = Source(job.name, job.book_id, partial(read_file, upload))
    book = read_book(source, job.book_id, job.title)
    if len(book.text) > MOST_CHARACTERS:
        raise SourceError(
            f"{job.name} has {len(book.text):,} characters; wanted at most {MOST_CHARACTERS:,}: split it"
        )
    report = _progress_reporter(job, jobs, owner)

    def check_wanted(manifest: Manifest) -> None:
        if not jobs.has(owner, job.id):
            raise Cancelled
        if not job.replaces and _holds_another(store, job):  # it came while this one waited or was built
            raise BookExists(job.book_id)
        jobs.note_build(job.id, manifest.version, owner)

    build = partial(build_book, book, BuildSettings(), store, on_progress=report, on_written=check_wanted)
    try:
        build()
    except IdTaken as error:  # by a book from elsewhere
        if not job.replaces:
            raise BookExists(job.book_id) from error
        build(force=True)


def _holds_another(store: Store, job: UploadJob) -> bool:
    """Whether the store has a book of the job's id that is not of the job itself."""
    try:
        return store.holds(job.book_id) and store.manifest(job.book_id).version not in job.builds
    except UnknownBook:  # removed meanwhile
        return False
    except IndexMismatch:
        return True


def _progress_reporter(job: UploadJob, jobs: JobQueue, owner: str) -> Callable[[int, int], None]:
    last = -_REPORT_S

    def report(done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _REPORT_S:
            last = time.monotonic()
            with suppress(NoState):  # it is said again
                jobs.progress(job.id, done / max(1, total), owner)

    return report


def _reason_for_uploader(error: Exception, upload: Path) -> str:
    """What the uploader is told: what is wrong with the book, and nothing of where it lay."""
    if isinstance(error, MemoryError):
        return "there is too little memory to index this book; split it, or try again later"
    if isinstance(error, DiskFull) or is_full(error):
        return "the server's disk is full; make room and send the book again"
    if isinstance(error, NotWritable):
        return "the server may not write to its store; send the book again when that is mended"
    if isinstance(error, OSError):
        return f"the book could not be written to the store ({error.strerror or error}); send it again later"
    return str(error).replace(str(upload), "the upload")


def end_with_parent(parent: int) -> None:
    """Have this process killed when its parent, the process of id ``parent``, ends, however that ends.

    Linux does it by itself, even where a loop in C keeps Python's lock; elsewhere the pipe at standard
    input, which closes with the parent, is watched by a thread.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(0)  # it had ended before that
    threading.Thread(target=_end_with_pipe, daemon=True).start()


def _end_with_pipe() -> None:
    # Not sys.stdin: its lock, held by this thread, would abort the process where it ends by itself.
    while os.read(0, 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()

"""Processes that index books side by side, each one book at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from typing import Any

from indexing.book import Book
from indexing.build import BookTask, BuildSettings, Outcome, Progress, build_book, failed
from indexing.store_protocol import Store
from text.errors import StoryQAError

_POLL_S = 0.1
_FIRST_SLOT = 1  # number 0 is 1 once work is to stop; then two for each worker

# In a worker: the shared numbers, written without a lock, which a dying process could keep.
_shared: Any = None


class Cancelled(Exception):
    """Raised inside a worker when the books in hand are to be dropped."""


@dataclass(frozen=True, slots=True)
class _Running:
    task: BookTask
    id: str
    slot: int  # where its two shared numbers are: windows done, of


class Pool:
    """Runs tasks in processes that end with this one, however it ends."""

    def __init__(
        self,
        workers: int,
        threads: int,
        settings: BuildSettings,
        store: Store,
        force: bool,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._workers, self._threads = workers, threads
        self._settings, self._store, self._force = settings, store, force
        self._on_progress = on_progress
        # Spawned: a forked child would share the threads and locks of torch and FAISS.
        self._context = multiprocessing.get_context("spawn")
        self._shared: Any = self._context.RawArray("q", _FIRST_SLOT + 2 * workers)
        self._slots = [_FIRST_SLOT + 2 * worker for worker in range(workers)]
        self._executor: ProcessPoolExecutor | None = None
        self._running: dict[Future[Outcome], _Running] = {}

    def run(self, todo: Iterable[Outcome | tuple[BookTask, Book]]) -> Iterator[Outcome]:
        """Index the books among ``todo``; outcomes among it are passed on."""
        for item in todo:
            if isinstance(item, Outcome):
                yield item
                continue
            while not self._slots:
                yield from self._wait()
            self._submit(*item)
        while self._running:
            yield from self._wait()

    def stop(self) -> None:
        """Drop the books in hand and end the processes."""
        self._shared[0] = 1
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _submit(self, task: BookTask, book: Book) -> None:
        slot = self._slots.pop()
        self._shared[slot] = self._shared[slot + 1] = 0
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self._workers, self._context, initializer=_start, initargs=(self._shared, self._threads)
            )
        try:
            future = self._executor.submit(_work, book, self._settings, self._store, self._force, slot)
        except BrokenProcessPool:
            self._executor = None
            self._slots.append(slot)
            self._submit(task, book)
        else:
            self._running[future] = _Running(task, book.id, slot)

    def _wait(self) -> Iterator[Outcome]:
        """Outcomes of the next books to be finished; progress of all is reported meanwhile."""
        finished: set[Future[Outcome]] = set()
        while not finished:
            timeout = None if self._on_progress is None else _POLL_S
            finished, _ = wait(self._running, timeout, return_when=FIRST_COMPLETED)
            self._report()
        for future in finished:
            running = self._running.pop(future)
            self._slots.append(running.slot)
            try:
                yield replace(future.result(), name=running.task.name)
            except BrokenProcessPool:
                self._executor = None
                died = StoryQAError(
                    "a process died while this book was in hand (was it killed, or out of memory?); "
                    "run the same command again, with fewer --workers if memory is short"
                )
                yield failed(running.task, running.id, died)
            except Exception as error:
                yield failed(running.task, running.id, error)

    def _report(self) -> None:
        if self._on_progress is not None:
            for running in self._running.values():
                done, total = self._shared[running.slot : running.slot + 2]
                if total:
                    self._on_progress(Progress(running.task.name, running.id, done, total))


def _start(shared: Any, threads: int) -> None:
    """In a new worker: use its share of the threads, and leave ending to the parent."""
    from encoders.device import use_threads

    global _shared
    _shared = shared
    use_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which tells the workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(book: Book, settings: BuildSettings, store: Store, force: bool, slot: int) -> Outcome:
    def report(done: int, total: int) -> None:
        if _shared[0]:
            raise Cancelled
        _shared[slot : slot + 2] = (done, total)

    return build_book(book, settings, store, force, report)

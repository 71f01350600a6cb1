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
from indexing.build import BuildSettings, Job, Outcome, Progress, build_book, failed
from indexing.store import IndexStore
from text.errors import StoryQAError

_POLL_S = 0.1
_HEAD = 1  # the first number of the board is 1 once work is to stop; two more for each worker follow

# In a worker: the shared numbers, written without a lock, which a dying process could keep.
_board: Any = None


class Stopped(Exception):
    """Raised inside a worker when the books in hand are to be dropped."""


@dataclass(frozen=True, slots=True)
class _InHand:
    job: Job
    id: str
    place: int  # of the worker's two numbers on the board: windows done, of


class Pool:
    """Runs jobs in processes that end with this one, however it ends."""

    def __init__(
        self,
        workers: int,
        threads: int,
        settings: BuildSettings,
        store: IndexStore,
        force: bool,
        on_progress: Callable[[Progress], None] | None,
    ) -> None:
        self._workers, self._threads = workers, threads
        self._settings, self._store, self._force = settings, store, force
        self._on_progress = on_progress
        # Spawned: a forked child would share the threads and locks of torch and FAISS.
        self._context = multiprocessing.get_context("spawn")
        self._board: Any = self._context.RawArray("q", _HEAD + 2 * workers)
        self._places = [_HEAD + 2 * worker for worker in range(workers)]
        self._executor: ProcessPoolExecutor | None = None
        self._in_hand: dict[Future[Outcome], _InHand] = {}

    def run(self, todo: Iterable[Outcome | tuple[Job, Book]]) -> Iterator[Outcome]:
        """Index the books among ``todo``; outcomes among it are passed on."""
        for item in todo:
            if isinstance(item, Outcome):
                yield item
                continue
            while not self._places:
                yield from self._wait()
            self._submit(*item)
        while self._in_hand:
            yield from self._wait()

    def stop(self) -> None:
        """Drop the books in hand and end the processes."""
        self._board[0] = 1
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)

    def _submit(self, job: Job, book: Book) -> None:
        place = self._places.pop()
        self._board[place] = self._board[place + 1] = 0
        if self._executor is None:
            self._executor = ProcessPoolExecutor(
                self._workers, self._context, initializer=_start, initargs=(self._board, self._threads)
            )
        try:
            future = self._executor.submit(_work, book, self._settings, self._store.root, self._force, place)
        except BrokenProcessPool:
            self._executor = None
            self._places.append(place)
            self._submit(job, book)
        else:
            self._in_hand[future] = _InHand(job, book.id, place)

    def _wait(self) -> Iterator[Outcome]:
        """Outcomes of the next books to be finished; progress of all is told meanwhile."""
        finished: set[Future[Outcome]] = set()
        while not finished:
            timeout = None if self._on_progress is None else _POLL_S
            finished, _ = wait(self._in_hand, timeout, return_when=FIRST_COMPLETED)
            self._tell()
        for future in finished:
            book = self._in_hand.pop(future)
            self._places.append(book.place)
            try:
                yield replace(future.result(), name=book.job.name)
            except BrokenProcessPool:
                self._executor = None
                died = StoryQAError(
                    "a process died while this book was in hand (was it killed, or out of memory?); "
                    "run the same command again, with fewer --workers if memory is short"
                )
                yield failed(book.job, book.id, died)
            except Exception as error:
                yield failed(book.job, book.id, error)

    def _tell(self) -> None:
        if self._on_progress is not None:
            for book in self._in_hand.values():
                done, total = self._board[book.place : book.place + 2]
                if total:
                    self._on_progress(Progress(book.job.name, book.id, done, total))


def _start(board: Any, threads: int) -> None:
    """In a new worker: share the processor fairly, and leave ending to the parent."""
    import torch

    global _board
    _board = board
    torch.set_num_threads(threads)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which tells the workers
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(book: Book, settings: BuildSettings, root: Any, force: bool, place: int) -> Outcome:
    def tell(done: int, total: int) -> None:
        if _board[0]:
            raise Stopped
        _board[place : place + 2] = (done, total)

    return build_book(book, settings, IndexStore(root), force, tell)

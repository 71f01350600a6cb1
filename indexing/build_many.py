"""Many books into the store, in parallel processes, without doing any work twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from encoders.bi_encoder import load_encoder
from indexing.book import Book
from indexing.build import (
    BookTask,
    BuildSettings,
    IdTaken,
    Outcome,
    Progress,
    build_book,
    failed,
    resolved,
    up_to_date,
)
from indexing.manifest import content_key
from indexing.store_protocol import Store
from text.errors import StoryQAError


def build_many(
    tasks: Iterable[BookTask],
    settings: BuildSettings,
    store: Store,
    workers: int | None = None,
    force: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Outcome]:
    """Index many books, ``workers`` at a time; the outcome of each as soon as it is known.

    Every book is published by itself, so that stopping at any moment, closing this iterator or
    killing the process, loses the books in hand at most, and the same call again goes on from there.
    A task that fails does not stop the others. By default there are as many workers as processor
    cores or tasks, whichever are fewer; with one worker, all cores work on one book in this process.
    """
    tasks = list(tasks)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers is None:
        workers = max(1, min(cores, len(tasks)))
    if workers < 1:
        raise StoryQAError(f"{workers} workers; wanted 1 or more")
    settings = resolved(settings)
    store.sweep()
    todo = _unbuilt(tasks, settings, store, force)
    if workers == 1:
        yield from _one_by_one(todo, settings, store, force, on_progress)
    else:
        from indexing.pool import Pool

        pool = Pool(workers, max(1, cores // workers), settings, store, force, on_progress)
        try:
            yield from pool.run(todo)
        finally:
            pool.stop()


def _unbuilt(
    tasks: Iterable[BookTask], settings: BuildSettings, store: Store, force: bool
) -> Iterator[Outcome | tuple[BookTask, Book]]:
    """The tasks' books as they are read, or the outcome of those that fail or need no work."""
    taken: dict[str, str] = {}
    for task in tasks:
        try:
            book = task.load()
        except Exception as error:
            yield failed(task, None, error)
            continue
        encoder_hash = load_encoder(settings.encoder).hash  # not before: what cannot be read is told at once
        id = book.id
        try:
            if id in taken:
                raise IdTaken(
                    f"the id {id!r} of {book.source} already stands for {taken[id]}; "
                    "index it by itself and give it another with --id"
                )
            taken[id] = book.source
            kept = None if force else up_to_date(book, content_key(book, settings, encoder_hash), store)
        except Exception as error:
            yield failed(task, id, error)
            continue
        yield (task, book) if kept is None else Outcome(task.name, id, "skipped", kept)


def _one_by_one(
    todo: Iterable[Outcome | tuple[BookTask, Book]],
    settings: BuildSettings,
    store: Store,
    force: bool,
    on_progress: Callable[[Progress], None] | None,
) -> Iterator[Outcome]:
    for item in todo:
        if isinstance(item, Outcome):
            yield item
            continue
        task, book = item

        def report(done: int, total: int, task: BookTask = task, id: str = book.id) -> None:
            if on_progress is not None:
                on_progress(Progress(task.name, id, done, total))

        try:
            outcome = build_book(book, settings, store, force, report)
        except Exception as error:
            yield failed(task, book.id, error)
        else:
            yield replace(outcome, name=task.name)

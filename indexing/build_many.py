"""Many books into the store, in parallel processes, without doing any work twice."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from encoders.bi_encoder import load_encoder
from encoders.errors import ModelError
from indexing.book import Book
from indexing.build import (
    BookTask,
    BuildSettings,
    IdTaken,
    Outcome,
    Progress,
    build_book,
    failed,
    indexed_before,
    resolved,
    up_to_date,
)
from indexing.manifest import Manifest, content_key
from indexing.store_protocol import Store
from text.errors import StoryQAError


def build_many(
    tasks: Iterable[BookTask],
    settings: BuildSettings,
    store: Store,
    workers: int | None = None,
    force: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    sweep: bool = True,
) -> Iterator[Outcome]:
    """Index many books, ``workers`` at a time; the outcome of each as soon as it is known.

    Every book is published by itself, so that stopping at any moment, closing this iterator or
    killing the process, loses the books in hand at most, and the same call again goes on from there.
    A task that fails does not stop the others. By default there are as many workers as processor
    cores or tasks, whichever are fewer; with one worker, all cores work on one book in this process.
    What killed processes left anywhere in the store is deleted first, unless other machines write to its
    folder as well and ``sweep`` is False: their locks may not be seen here.
    """
    tasks = list(tasks)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers is None:
        workers = max(1, min(cores, len(tasks)))
    if workers < 1:
        raise StoryQAError(f"{workers} workers; wanted 1 or more")
    settings = resolved(settings)
    if sweep:
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


def build_one(task: BookTask, settings: BuildSettings, store: Store, force: bool = False) -> Outcome:
    """The outcome of one task, in this process: what every executor has done with each book.

    ``settings`` are ``resolved``. Raises ModelError where the encoder cannot be loaded.
    """
    [outcome] = _one_by_one(_unbuilt([task], settings, store, force), settings, store, force, None)
    return outcome


def _unbuilt(
    tasks: Iterable[BookTask], settings: BuildSettings, store: Store, force: bool
) -> Iterator[Outcome | tuple[BookTask, Book]]:
    """The tasks' books as they are read, or the outcome of those that fail or need no work."""
    taken: dict[str, str] = {}
    for task in tasks:
        try:
            found = (None if force else indexed_before(task, settings, store)) or task.load()
        except ModelError:
            raise
        except Exception as error:
            yield failed(task, None, error)
            continue
        # Not before: what cannot be read is told at once, and what is indexed already needs no encoder.
        encoder_hash = load_encoder(settings.encoder).hash if isinstance(found, Book) else ""
        try:
            if found.id in taken:
                raise IdTaken(
                    f"the id {found.id!r} of {found.source} already stands for {taken[found.id]}; "
                    "index it by itself and give it another with --id"
                )
            taken[found.id] = found.source
            if isinstance(found, Manifest):
                yield Outcome(task.name, found.id, "skipped", found)
                continue
            kept = None if force else up_to_date(found, content_key(found, settings, encoder_hash), store)
        except Exception as error:
            yield failed(task, found.id, error)
            continue
        yield (task, found) if kept is None else Outcome(task.name, found.id, "skipped", kept)


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

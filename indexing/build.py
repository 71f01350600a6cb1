"""Books into the store: one, or many in parallel processes, without doing any work twice."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from encoders.backbone import NAME
from encoders.bi_encoder import STORY, load_encoder
from indexing.book import Book
from indexing.errors import IndexMismatch, UnknownBook
from indexing.manifest import BuildSettings, Manifest, content_key
from indexing.store import IndexStore
from indexing.write import write_build
from text.errors import StoryQAError

__all__ = ["BuildSettings", "IdTaken", "Job", "Outcome", "Progress", "build_book", "build_many"]

log = logging.getLogger(__name__)


class IdTaken(StoryQAError):
    """A book id that already stands for a book from elsewhere."""


@dataclass(frozen=True, slots=True)
class Job:
    """A book to index: what messages call it, and how to read it (called in the calling process)."""

    name: str
    load: Callable[[], Book]


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a book is: ``done`` of ``total`` windows encoded."""

    name: str
    id: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a job; ``manifest`` is None, and ``message`` says why, exactly when it failed."""

    name: str
    id: str | None
    status: Literal["built", "skipped", "failed"]
    manifest: Manifest | None = None
    message: str = ""


def build_book(
    book: Book,
    settings: BuildSettings,
    store: IndexStore,
    force: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
) -> Outcome:
    """Index ``book`` and publish it, unless the store has it already; ``on_progress(windows done, of)``.

    ``force`` builds it in any case. Raises IdTaken when the id stands for another text from
    elsewhere, and SourceError for a book without words.
    """
    settings = _located(settings)
    encoder = load_encoder(settings.encoder)
    with store.claim(book.id) as claim:
        if not force:
            kept = _kept(book, content_key(book, settings, encoder.hash), store)
            if kept is not None:
                return Outcome(book.source, book.id, "skipped", kept)
        manifest = claim.publish(
            lambda directory: write_build(book, settings, encoder, directory, on_progress)
        )
    counts = manifest.counts
    log.info("indexed %s: %d passages in %.1f s", book.id, counts.passages, manifest.build_seconds)
    return Outcome(book.source, book.id, "built", manifest)


def build_many(
    jobs: Iterable[Job],
    settings: BuildSettings,
    store: IndexStore,
    workers: int | None = None,
    force: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
) -> Iterator[Outcome]:
    """Index many books, ``workers`` at a time, and tell what became of each as soon as it is known.

    Every book is published by itself, so that stopping at any moment, closing this iterator or
    killing the process, loses the books in hand at most, and the same call again goes on from there.
    A job that fails does not stop the others. By default there are as many workers as processor
    cores or jobs, whichever are fewer; with one worker, all cores work on one book in this process.
    """
    jobs = list(jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers is None:
        workers = max(1, min(cores, len(jobs)))
    if workers < 1:
        raise StoryQAError(f"{workers} workers; wanted 1 or more")
    settings = _located(settings)
    store.sweep()
    todo = _unbuilt(jobs, settings, store, force)
    if workers == 1:
        yield from _one_by_one(todo, settings, store, force, on_progress)
    else:
        from indexing.pool import Pool

        pool = Pool(workers, max(1, cores // workers), settings, store, force, on_progress)
        try:
            yield from pool.run(todo)
        finally:
            pool.stop()


def failed(job: Job, id: str | None, error: BaseException) -> Outcome:
    """The outcome of a job that raised ``error``."""
    if isinstance(error, (StoryQAError, OSError)):
        message = str(error)
    else:
        log.error("indexing %s failed", job.name, exc_info=error)
        message = f"{type(error).__name__}: {error}"
    return Outcome(job.name, id, "failed", message=message)


def _located(settings: BuildSettings) -> BuildSettings:
    """The settings with an encoder's folder spelt out, so that it is found from any folder later."""
    if settings.encoder in (NAME, STORY):
        return settings
    return replace(settings, encoder=str(Path(settings.encoder).resolve()))


def _kept(book: Book, key: str, store: IndexStore) -> Manifest | None:
    """The manifest of the current build when it need not be replaced; raises IdTaken when it must not be."""
    try:
        manifest = store.open(book.id).manifest
    except (UnknownBook, IndexMismatch):
        return None
    if manifest.key == key:
        return manifest
    if manifest.source != book.source:
        raise IdTaken(
            f"the id {book.id!r} of {book.source} already stands for {manifest.source}; "
            "give this one another with --id, or replace that one with --force"
        )
    return None


def _unbuilt(
    jobs: Iterable[Job], settings: BuildSettings, store: IndexStore, force: bool
) -> Iterator[Outcome | tuple[Job, Book]]:
    """The jobs' books as they are read, or the outcome of those that fail or need no work."""
    encoder_hash = load_encoder(settings.encoder).hash
    taken: dict[str, str] = {}
    for job in jobs:
        id = None
        try:
            book = job.load()
            id = book.id
            if id in taken:
                raise IdTaken(
                    f"the id {id!r} of {book.source} already stands for {taken[id]}; "
                    "index it by itself and give it another with --id"
                )
            taken[id] = book.source
            kept = None if force else _kept(book, content_key(book, settings, encoder_hash), store)
        except Exception as error:
            yield failed(job, id, error)
            continue
        yield (job, book) if kept is None else Outcome(job.name, id, "skipped", kept)


def _one_by_one(
    todo: Iterable[Outcome | tuple[Job, Book]],
    settings: BuildSettings,
    store: IndexStore,
    force: bool,
    on_progress: Callable[[Progress], None] | None,
) -> Iterator[Outcome]:
    for item in todo:
        if isinstance(item, Outcome):
            yield item
            continue
        job, book = item

        def tell(done: int, total: int, job: Job = job, id: str = book.id) -> None:
            if on_progress is not None:
                on_progress(Progress(job.name, id, done, total))

        try:
            outcome = build_book(book, settings, store, force, tell)
        except Exception as error:
            yield failed(job, book.id, error)
        else:
            yield replace(outcome, name=job.name)

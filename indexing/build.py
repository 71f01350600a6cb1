"""One book into the store, unless the same build is there already."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from encoders.bi_encoder import NAMES, encoder_hash, load_encoder
from indexing.book import Book
from indexing.errors import DiskFull, IndexMismatch, StoreUnreachable, UnknownBook
from indexing.manifest import WINDOW_STEP, WINDOW_WORDS, BuildSettings, Manifest, content_key
from indexing.store_protocol import Store
from indexing.write import write_build
from text.errors import StoryQAError
from text.output_files import is_full

__all__ = [
    "BookTask",
    "BuildSettings",
    "IdTaken",
    "Outcome",
    "Progress",
    "build_book",
    "failed",
    "indexed_before",
    "resolved",
    "up_to_date",
]

log = logging.getLogger(__name__)


class IdTaken(StoryQAError):
    """A book id that already stands for a book from elsewhere."""


@dataclass(frozen=True, slots=True)
class BookTask:
    """A book to index: its name in messages, and a function that reads it (called in the calling process).

    Where ``id`` and ``source_key`` are known, a book that is indexed already need not be read to be passed
    over. ``source_key`` gives that of the book that ``load`` would make.
    """

    name: str
    load: Callable[[], Book]
    id: str | None = None
    source_key: Callable[[], str] | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a book is: ``done`` of ``total`` windows encoded."""

    name: str
    id: str
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a task; ``manifest`` is None, and ``message`` says why, exactly when it failed.

    ``transient`` where that lies in the store or a disk, and not in the book: the same again may succeed.
    """

    name: str
    id: str | None
    status: Literal["built", "skipped", "failed"]
    manifest: Manifest | None = None
    message: str = ""
    transient: bool = False


def build_book(
    book: Book,
    settings: BuildSettings,
    store: Store,
    force: bool = False,
    on_progress: Callable[[int, int], None] | None = None,
    on_written: Callable[[Manifest], None] | None = None,
) -> Outcome:
    """Index ``book`` and publish it, unless the store has it already; ``on_progress(windows done, of)``.

    ``force`` builds it in any case. ``on_written`` is called with the manifest before the build is published,
    which what it raises prevents. Raises IdTaken when the id stands for another text from elsewhere, and
    SourceError for a book without words.
    """
    settings = resolved(settings)
    encoder = load_encoder(settings.encoder)
    with store.claim(book.id) as claim:
        if not force:
            kept = up_to_date(book, content_key(book, settings, encoder.hash), store)
            if kept is not None:
                return Outcome(book.source, book.id, "skipped", kept)

        def write(directory: Path) -> Manifest:
            manifest = write_build(book, settings, encoder, directory, on_progress)
            if on_written is not None:
                on_written(manifest)
            return manifest

        manifest = claim.publish(write)
    counts = manifest.counts
    log.info("indexed %s: %d passages in %.1f s", book.id, counts.passages, manifest.build_seconds)
    return Outcome(book.source, book.id, "built", manifest)


def failed(task: BookTask, id: str | None, error: BaseException) -> Outcome:
    """The outcome of a task that raised ``error``."""
    if is_full(error):
        message = f"the disk is full ({error}); make room and run the same command again"
    elif isinstance(error, (StoryQAError, OSError)):
        message = str(error)
    else:
        log.error("indexing %s failed", task.name, exc_info=error)
        message = f"{type(error).__name__}: {error}"
    transient = is_full(error) or isinstance(error, (DiskFull, StoreUnreachable))
    return Outcome(task.name, id or task.id, "failed", message=message, transient=transient)


def resolved(settings: BuildSettings) -> BuildSettings:
    """The settings with an encoder's folder spelt out, so that it is found from any folder later."""
    if settings.encoder in NAMES:
        return settings
    return replace(settings, encoder=str(Path(settings.encoder).resolve()))


def indexed_before(task: BookTask, settings: BuildSettings, store: Store) -> Manifest | None:
    """The manifest of the current build of the task's book, where it is known without reading the book.

    ``settings`` are ``resolved``. None says nothing: then the book has to be read.
    """
    if task.id is None or task.source_key is None or not store.holds(task.id):
        return None
    try:
        manifest = store.checked_manifest(task.id)
    except (UnknownBook, IndexMismatch):
        return None
    same = (
        (manifest.window_words, manifest.window_step, manifest.context_words)
        == (WINDOW_WORDS, WINDOW_STEP, settings.context_words)
        and manifest.settings == settings
        and manifest.source_key == task.source_key()
        and manifest.encoder_hash == encoder_hash(settings.encoder)
    )
    return manifest if same else None


def up_to_date(book: Book, key: str, store: Store) -> Manifest | None:
    """The manifest of the current build when it need not be replaced; raises IdTaken when it must not be."""
    if not store.holds(book.id):
        return None  # before the store looks through all others for an id that is near
    try:
        manifest = store.open(book.id).manifest
    except (UnknownBook, IndexMismatch):
        return None
    if manifest.key == key:
        return manifest
    if book.source not in (manifest.source, str(Path(manifest.source).absolute())):  # older: as it was typed
        raise IdTaken(
            f"the id {book.id!r} of {book.source} already stands for {manifest.source}; "
            "give this one another with --id, or replace that one with --force"
        )
    return None

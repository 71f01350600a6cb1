"""A story in scenes, so long that it is counted, and one of the same scenes that is too short for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from answering.book_qa import Ask, BookQA
from answering.citing import CitedAnswer
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore

_FILLER = (
    "The rain fell on the slates, and the barges waited below the lock until the water was high enough. "
)


def long_story(scenes: Sequence[str]) -> str:
    """The scenes, with so much between them that whoever is asked about is counted."""
    return "\n\n".join(scene + _FILLER * 80 for scene in scenes)


def store_of(scenes: Sequence[str], folder: Path) -> IndexStore:
    """The long story as ``lock``, and the scenes alone as ``short``."""
    store = IndexStore(folder)
    for id, text in (("lock", long_story(scenes)), ("short", "\n\n".join(scenes))):
        build_book(Book(id, "Below the Lock", text, f"{id}.txt"), BuildSettings(words=60), store)
    return store


def answer(qa: BookQA, question: str, book: str = "lock", before: int | None = None) -> CitedAnswer:
    """What is said, by the cheapest retriever and reader where passages are read."""
    return qa.answer(Ask(book, question, retriever="bm25", reader="overlap", before=before, n_best=9))


def counted(cited: CitedAnswer) -> bool:
    """Whether it was counted, not read."""
    return cited.note is not None and cited.note.endswith("counted, not read")

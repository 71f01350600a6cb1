"""A reader of facts that says where someone is who takes things along, and a book to ask it about."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from pathlib import Path

import pytest

from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from readers import READERS, ReaderSpec
from readers.facts import FactReader, Inferred, Told

NAME = "last-place"
BOOK = "ferry"
FACTS = ("Odo went to the ferry.", "Hale went to the mill.", "Hale took the key.", "Odo went to the barn.")
TEXT = "CHAPTER I\n\n" + " It rained for a whole day and a whole night. ".join(FACTS)
QUESTION = "Where is the key?"
ANSWER = "mill"
CHAIN = (FACTS[2], FACTS[1])  # who took it, and where that one went
_KNOWN = frozenset(re.findall(r"\w+", "where is the a went to took odo hale key mill ferry barn"))


class LastPlace(FactReader):
    """Finds who took the thing that is asked for, then where that one went last."""

    @classmethod
    def load(cls, argument: str | None) -> LastPlace:
        """The reader; it has no weights."""
        return cls()

    @property
    def known(self) -> Container[str]:
        """The words that it knows."""
        return _KNOWN

    def infer(self, told: Sequence[Told]) -> list[Inferred]:
        """The last word of the last fact about who took what the question ends with."""
        return [_inferred(one) for one in told]


def _inferred(told: Told) -> Inferred:
    facts = [(number, fact.words) for number, fact in enumerate(told.facts)]
    took = [(number, words) for number, words in facts if words[1:] == ("took", "the", told.question[-1])]
    if not took:
        return Inferred((), 0.0)
    taken, (who, *_) = took[-1]
    went = [(number, words) for number, words in facts if words[:2] == (who, "went")]
    if not went:
        return Inferred((), 0.0)
    gone, words = went[-1]
    return Inferred((words[-1],), 0.9, (taken, gone))


def install(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the reader in the table, as the name ``NAME``, while the test runs."""
    spec = ReaderSpec(NAME, f"{__name__}:LastPlace", "says where a thing is that was taken", model="none")
    monkeypatch.setitem(READERS, NAME, spec)


def stock(root: Path) -> IndexStore:
    """A store that holds the book, in passages that each hold one of the facts."""
    store = IndexStore(root)
    build_book(Book(BOOK, "The Ferry", TEXT, "ferry.txt"), BuildSettings(words=15), store)
    return store

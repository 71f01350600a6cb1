"""What a question is searched in: one book, or several as one."""

from __future__ import annotations

import hashlib
import itertools
import logging
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from answering.ask import Ask, BadRequest
from answering.open_books import OpenBook
from answering.scope import builds_of, limit_of, unmeant
from indexing.merged_index import MergedIndex
from indexing.store_protocol import Store
from retrieval import open_together
from retrieval.hits import BookHit, Hit, Readable, Retriever
from retrieval.merged_part import MergedPart
from retrieval.several_books import BookPart, Part

log = logging.getLogger(__name__)

FEWEST_MERGED = 8  # books that are searched at once, from which on the merged index is faster
MANY_ALONE = 32  # of them that are not in it
MOST_READ = 8  # books whose text is read to look for a name: as many novels take a second

Opener = Callable[[str], OpenBook]


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is searched; ``version`` changes exactly when one of the books does, or which they are.

    ``characters`` are a passage's, about.
    """

    version: str
    passages: int
    characters: float


class Scope(Protocol):
    """What a question is searched in; questions of one ``key`` are searched together, up to ``before``."""

    extent: Extent
    before: int | None

    @property
    def key(self) -> Hashable:
        """Equal for the same books up to the same limits."""
        ...

    @property
    def is_limited(self) -> bool:
        """Whether there is a part of its books that may not be read."""
        ...

    def known_so_far(self) -> str:
        """The covers of its books and their text up to the limits; of many the first ``MOST_READ``."""
        ...

    def retriever(self, name: str) -> Retriever:
        """The retriever of that name; raises ``UnknownName``."""
        ...

    def placed(self, hit: Hit) -> BookHit:
        """A hit of one of these retrievers with the book that it is of."""
        ...


class OneBook:
    """One book, up to the limit that ``ask`` has for it."""

    def __init__(self, ask: Ask, book: OpenBook) -> None:
        _check_limits(ask, (book.index.id,))
        self._book = book
        counts = book.index.manifest.counts
        self.extent = Extent(book.index.version, counts.passages, counts.characters / max(1, counts.passages))
        self.before = ask.before_of(book.index.id, book.index.characters)
        self.readable = Readable(book.index, self.before)

    @property
    def key(self) -> Hashable:
        """See ``Scope.key``."""
        return self._book.index.id, self.before

    @property
    def is_limited(self) -> bool:
        """See ``Scope.is_limited``."""
        return self.readable.is_limited

    def known_so_far(self) -> str:
        """See ``Scope.known_so_far``."""
        return self.readable.known_so_far()

    def retriever(self, name: str) -> Retriever:
        """See ``Scope.retriever``."""
        return self._book.retriever(name)

    def placed(self, hit: Hit) -> BookHit:
        """See ``Scope.placed``."""
        return BookHit(hit.passage, hit.score, hit.encoded, hit.is_near, book=self.readable)


class SeveralBooks:
    """The books that ``ask`` names, each up to its own limit; opened when they are searched."""

    before: int | None = None

    def __init__(self, ask: Ask, store: Store, open: Opener, merged: MergedIndex | None) -> None:
        self._builds = builds_of(store, ask.book_id)
        _check_limits(ask, self._builds)
        self._ask = ask
        self._store = store
        self._open = open
        self._merged = merged
        version = hashlib.sha256("\n".join(f"{id} {build}" for id, build in self._builds.items()).encode())
        first = store.manifest(next(iter(self._builds))).counts
        self.extent = Extent(
            version.hexdigest()[:12],
            first.passages * len(self._builds),
            first.characters / max(1, first.passages),
        )

    @property
    def key(self) -> Hashable:
        """See ``Scope.key``."""
        return tuple(self._builds.items()), self._ask.before

    @cached_property
    def is_limited(self) -> bool:
        """See ``Scope.is_limited``; no book is opened for it."""
        if self._ask.before is None:
            return False
        merged = () if self._merged is None else self._merged.manifest.books
        characters = {(book.id, book.build): book.characters for book in merged}
        for id, build in self._builds.items():
            if limit_of(self._ask.before, id) is None:
                continue
            end = characters.get((id, build)) or self._store.manifest(id).counts.characters
            before = self._ask.before_of(id, end)
            if before is not None and before < end:
                return True
        return False

    def known_so_far(self) -> str:
        """See ``Scope.known_so_far``."""
        opened = [self._open(id).index for id in itertools.islice(self._builds, MOST_READ)]
        books = [Readable(index, self._ask.before_of(index.id, index.characters)) for index in opened]
        return "\n".join(book.known_so_far() for book in books)

    def retriever(self, name: str) -> Retriever:
        """See ``Scope.retriever``."""
        return open_together(name, self._parts())

    def placed(self, hit: Hit) -> BookHit:
        """See ``Scope.placed``."""
        assert isinstance(hit, BookHit)
        return hit

    def _parts(self) -> Sequence[Part]:
        """The books of the merged index in one, each other by itself; a few are not worth that index."""
        parts: list[Part] = []
        merged = self._merged
        limits: dict[str, int | None] = {}
        if merged is not None and len(self._builds) >= FEWEST_MERGED:
            for book in merged.manifest.books:
                if self._builds.get(book.id) == book.build:
                    limits[book.id] = self._ask.before_of(book.id, book.characters)
            if limits:  # none where all of them were indexed anew
                parts.append(MergedPart(merged, limits, self._readable))
        alone = [id for id in self._builds if id not in limits]
        if len(alone) > MANY_ALONE:
            log.warning("%d books are searched one by one; merge them: storyqa shelves index", len(alone))
        for id in alone:
            index = self._open(id).index
            parts.append(BookPart(Readable(index, self._ask.before_of(id, index.characters))))
        return parts

    def _readable(self, id: str, build: str) -> Readable | None:
        book = self._open(id)
        if book.build != build:  # replaced since the merged index was looked into
            return None
        return Readable(book.index, self._ask.before_of(id, book.index.characters))


def _check_limits(ask: Ask, ids: Collection[str]) -> None:
    """A limit of a book that is not asked is a slip, which would show what lies ahead in another."""
    others = unmeant(ask.before, ids)
    if others:
        raise BadRequest("before", f"before has a limit for {others[0]!r:.100}, which is not asked")


def opener(get: Callable[[str], OpenBook], opened: dict[str, OpenBook]) -> Opener:
    """Opens each book once: whoever searches several times must not see two builds of it."""

    def open(id: str) -> OpenBook:
        if id not in opened:
            opened[id] = get(id)
        return opened[id]

    return open

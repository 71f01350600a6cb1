"""The book as everything after indexing sees it: final text, and offsets that point into it."""

from __future__ import annotations

from dataclasses import dataclass, field


def _check_bounds(what: str, start: int, end: int) -> None:
    if not 0 <= start < end:
        raise ValueError(f"{what} has bounds [{start}, {end}); wanted 0 <= start < end")


@dataclass(frozen=True, slots=True)
class Chapter:
    """A marked division of the book: ``book.text[start:end]``, its heading included."""

    title: str
    start: int
    end: int

    def __post_init__(self) -> None:
        _check_bounds(f"chapter {self.title!r}", self.start, self.end)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the file, from ``start`` to where the next one starts; ``label`` is its printed number."""

    label: str
    start: int


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part of the book that is not searched, ``book.text[start:end]``: licence, reviews, contents."""

    start: int
    end: int

    def __post_init__(self) -> None:
        _check_bounds("what is left out", self.start, self.end)


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a book: ``book.text[start:end]``, offsets in Unicode code points, half-open."""

    number: int
    start: int
    end: int

    def __post_init__(self) -> None:
        _check_bounds(f"passage {self.number}", self.start, self.end)


@dataclass(frozen=True, slots=True)
class Book:
    """A book whose ``text`` is final; every offset anywhere points into it.

    ``source`` is where it was read from (a path, an address or ``gutenberg:ID``), ``author``
    who its file says wrote it, ``language`` which one it says it is in (BCP 47), ``pages`` those of a file
    that has pages. ``left_out`` is what can be read but is not searched, in order. ``cover`` is the file of
    the picture on its cover. ``source_key`` is a hash of what it was read from, and of how: see
    ``indexing.formats.read.source_key``.
    """

    id: str
    title: str
    text: str
    source: str
    chapters: tuple[Chapter, ...] = ()
    author: str | None = None
    pages: tuple[Page, ...] = ()
    language: str | None = None
    left_out: tuple[LeftOut, ...] = ()
    cover: bytes | None = field(default=None, repr=False)
    source_key: str | None = field(default=None, repr=False, compare=False)

"""What is to be indexed, as tasks: a book that was found, or a row of a list."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from indexing.book import Book
from indexing.build import BookTask
from indexing.errors import SourceError
from indexing.formats.read import read_book, source_key
from indexing.sources.book_list import Row
from indexing.sources.locate import FetchSettings, Source, find


@dataclass(frozen=True, slots=True)
class _Fetching:
    """See ``FetchSettings``; without the secrets that settings hold, for tasks go to other machines."""

    cache: Path
    gutenberg_mirror: str


def source_task(source: Source, id: str | None, title: str | None, everything: bool) -> BookTask:
    """The task of one book that was found; the rest is as ``read_book`` has it."""
    return BookTask(
        source.name,
        partial(read_book, source, id, title, everything),
        source.suggested_id if id is None else id,
        partial(source_key, source, title, everything),
    )


def row_task(row: Row, everything: bool, settings: FetchSettings) -> BookTask:
    """The task of a row; what is wrong with the row is raised when its book is read."""
    fetching = _Fetching(settings.cache, settings.gutenberg_mirror)
    if row.problem is not None:
        return BookTask(row.path or f"row {row.number}", partial(_fail, row.problem), row.id)
    return BookTask(
        row.path,
        partial(_read, row, everything, fetching),
        row.id,
        partial(_key, row, everything, fetching),
    )


def _fail(problem: str) -> Book:
    raise SourceError(problem)


def _read(row: Row, everything: bool, fetching: _Fetching) -> Book:
    return read_book(_source(row, fetching), row.id, row.title, everything)


def _key(row: Row, everything: bool, fetching: _Fetching) -> str:
    return source_key(_source(row, fetching), row.title, everything)


def _source(row: Row, fetching: _Fetching) -> Source:
    if Path(row.path).is_dir():
        raise SourceError(f"{row.path} is a folder; wanted one book in a row")
    [source] = find(row.path, fetching)
    return source

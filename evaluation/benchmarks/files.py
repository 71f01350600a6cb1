"""The publishers' files: read as they are, and named with what is expected where they are not."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from text.errors import StoryQAError

if TYPE_CHECKING:
    from evaluation.benchmarks.benchmark import Question
    from indexing.book import Book

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class DataError(StoryQAError):
    """A data set that is missing, incomplete or not in its publisher's layout."""


def require(path: Path, what: str) -> Path:
    """``path`` itself; raises ``DataError`` that says ``what`` is expected there where nothing is."""
    if not path.exists():
        raise DataError(f"{path} is missing; expected there: {what}")
    return path


def require_questions(questions: Iterable[Question], data: Path, what: str) -> tuple[Question, ...]:
    """The ``questions`` themselves; raises ``DataError`` that says ``what`` is expected for none."""
    found = tuple(questions)
    if not found:
        raise DataError(f"{data} holds no question; expected there: {what}")
    return found


def note_source(sources: dict[str, str], book: Book) -> None:
    """Add to ``sources``, by id, where the book is from; raises ``DataError`` where another has its id."""
    if book.id in sources:
        raise DataError(f"{sources[book.id]} and {book.source} have the same id {book.id!r}; rename one")
    sources[book.id] = book.source


def read_rows(path: Path, columns: Sequence[str], what: str) -> list[dict[str, str]]:
    """The rows of a CSV file by column name, in whatever order its columns are; "" where a cell is missing.

    Raises ``DataError`` where the file is missing, is not UTF-8 or lacks one of ``columns``.
    """
    require(path, what)
    try:
        text = path.read_text("utf-8-sig")
        reader = csv.DictReader(io.StringIO(text, newline=""))
        lacking = [column for column in columns if column not in (reader.fieldnames or ())]
        if lacking:
            raise DataError(f"{path} has no column {', '.join(lacking)}; expected there: {what}")
        return [{column: row[column] or "" for column in columns} for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read ({error}); expected there: {what}") from error


def choose(kind: str, name: str, choices: Iterable[str], where: str) -> str:
    """``name`` itself; raises ``DataError`` that lists the ``choices`` where it is none of them."""
    known = sorted(set(choices))
    if name not in known:
        raise DataError(f"unknown {kind} {name!r}; {where} has {', '.join(known) or 'none'}")
    return name


def check_split(path: Path, named: str | None, split: str) -> None:
    """Raise ``DataError`` where the name of ``path`` says that it is of another split, ``named``."""
    if named not in (None, split):
        raise DataError(f"{path} is of the split {named!r}, not of {split!r}; wanted that split, or its data")


def plain(text: str) -> str:
    """The text as a book holds it: newlines as one character, NFC, no control characters."""
    text = unicodedata.normalize("NFC", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _CONTROL.sub("", text).strip()

"""A list of books to index, a row each, as parquet, CSV or JSON lines, and the parts machines share it by."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indexing.errors import SourceError
from indexing.sources.locate import suggested_id
from text.errors import StoryQAError

_PATH, _ID, _TITLE = COLUMNS = ("path", "id", "title")
_ROWS_AT_A_TIME = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """A book of the list, by its ``number`` from 1.

    ``path`` is a file, an address or ``gutenberg:ID``, ``id`` the one that the book is to have. ``problem``
    says what is wrong with the row, None where nothing is; then ``path`` is not empty.
    """

    number: int
    path: str
    id: str | None
    title: str | None = None
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Shard:
    """The part ``number``, from 0, of ``of`` parts of a list.

    A book is in the part that a hash of its id names. So it stays there when rows are added or sorted anew,
    and rows that claim one id meet in one part: no two parts ever write to the same book.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Such as ``"0/8"``; raises ``StoryQAError``."""
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text.strip())
        if match is None or not int(match[1]) < int(match[2]):
            raise StoryQAError(
                f"--shard {text!r}; wanted I/N with I from 0 to N - 1, such as 0/8 for the first of eight"
            )
        return cls(int(match[1]), int(match[2]))

    def holds(self, key: str) -> bool:
        """Whether what is so called is in this part."""
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
        return int.from_bytes(digest[:8]) % self.of == self.number


def read_rows(file: Path, shard: Shard | None = None) -> Iterator[Row]:
    """The rows of a ``.parquet``, ``.csv`` or ``.jsonl`` file, in order; of a ``shard`` only its own.

    Paths that are not absolute are looked for in the list's own folder. What is wrong with a row is its
    ``problem``. Raises ``SourceError`` where the file itself cannot be read or has no column ``path``.
    """
    taken: dict[str, int] = {}
    folder = file.parent.absolute()  # a machine that goes on with it may be elsewhere
    for number, content in enumerate(_contents(file), 1):
        row = _row(number, content, folder)
        if shard is not None and not shard.holds(row.id or f"row {number}"):
            continue
        if row.id is not None and row.problem is None:
            first = taken.setdefault(row.id, number)
            if first != number:
                problem = f"row {number} has the id {row.id!r} of row {first}; give one of them another id"
                row = Row(number, row.path, row.id, row.title, problem)
        yield row


def _row(number: int, content: Any, folder: Path) -> Row:
    if not isinstance(content, dict):
        return Row(number, "", None, problem=f"row {number} is no JSON object; wanted one with 'path'")
    path, id, title = (_text(content.get(name)) for name in COLUMNS)
    if path is None:
        return Row(number, "", id, title, f"row {number} has no path; wanted a file or an address")
    if not re.match(r"https?://|gutenberg:", path, re.I):
        path = str(folder / Path(path))
    try:
        return Row(number, path, id or suggested_id(path), title)
    except SourceError as error:
        return Row(number, path, None, title, str(error))


def _text(value: Any) -> str | None:
    return None if value is None else str(value).strip() or None


def _contents(file: Path) -> Iterator[Any]:
    """A dictionary per row, or anything else for a line that holds none."""
    readers = {".parquet": _parquet, ".csv": _csv, ".jsonl": _json_lines}
    read = readers.get(file.suffix.lower())
    if read is None:
        raise SourceError(
            f"{file} is no list of books by its name; wanted one that ends in {', '.join(readers)}"
        )
    try:
        yield from read(file)
    except OSError as error:
        raise SourceError(
            f"{file} cannot be read ({error.strerror or error}); wanted a list of books"
        ) from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{file} cannot be read ({error}); wanted a list of books in UTF-8") from error


def _csv(file: Path) -> Iterator[Any]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        rows = csv.DictReader(lines)
        _check_columns(file, rows.fieldnames or ())
        yield from rows


def _json_lines(file: Path) -> Iterator[Any]:
    with file.open(encoding="utf-8-sig", newline="\n") as lines:
        for line in lines:
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                yield None


def _parquet(file: Path) -> Iterator[Any]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise SourceError(
            f"{file} needs pyarrow: pip install 'storyqa[cluster]'; .csv and .jsonl need nothing"
        ) from error
    try:
        with parquet.ParquetFile(file) as table:
            names = table.schema_arrow.names
            _check_columns(file, names)
            wanted = [name for name in COLUMNS if name in names]
            for batch in table.iter_batches(_ROWS_AT_A_TIME, columns=wanted):
                yield from batch.to_pylist()
    except ArrowException as error:
        raise SourceError(f"{file} cannot be read ({error}); wanted a list of books in parquet") from error


def _check_columns(file: Path, names: Any) -> None:
    if _PATH not in names:
        there = ", ".join(map(repr, names)) or "none"
        raise SourceError(
            f"{file} has no column 'path' (its columns: {there}); wanted path, and id and title"
        )

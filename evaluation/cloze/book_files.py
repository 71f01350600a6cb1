"""The books of one split of a folder: as files, still packed, or in the raw layout of CBT."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.files import DataError, note_source, plain, require
from indexing.book import Book
from indexing.ids import slug

TITLE = "_BOOK_TITLE_"
_RAW = tuple(f"cbt_{split}.txt" for split in ("train", "valid", "test"))
SPLIT_COLUMNS = ("split", "suggested_split")
LAYOUT = (
    "books as *.txt (or packed as *.tar.xz), with a *.tsv whose column split or suggested_split says train, "
    f"valid or test; or CBT's raw cbt_<split>.txt, its books beginning with {TITLE} : name"
)


@dataclass(frozen=True, slots=True)
class BookFile:
    """A book read; ``parted`` where each line is a sentence parted by spaces (CBT's raw layout)."""

    book: Book
    parted: bool


def read_books(data: Path, split: str) -> list[BookFile]:
    """The books of the split, in the order of their list or of their names.

    Without a list every ``*.txt`` is of the split, unless it is called as CBT's raw text of another; with one
    that has no test split, those not on it are test.
    Raises ``DataError`` for none, and for two books of one id.
    """
    found = _read_split(data, split)
    sources: dict[str, str] = {}
    for one in found:
        note_source(sources, one.book)
    return found


def _read_split(data: Path, split: str) -> list[BookFile]:
    require(data, LAYOUT)
    if data.is_file():
        return _read(data)
    raw = data / f"cbt_{split}.txt"
    if raw.exists():
        return _read(raw)
    listed = list(_listed(data))
    files = {path.name: path for path in sorted(data.glob("*.txt")) if path.name not in _RAW}
    if not listed:
        if not files:
            raise DataError(f"{data} holds no books of the split {split!r}; expected there: {LAYOUT}")
        return [one for path in files.values() for one in _read(path)]
    splits = sorted({row["split"] for row in listed})
    if split == "test" and split not in splits:
        names = {name for row in listed for name in _names(row)}
        found = [one for name, path in files.items() if name not in names for one in _read(path)]
    else:
        packed = _Packed(data)
        found = [one for row in listed if row["split"] == split for one in _of_row(data, row, packed)]
    if not found:
        raise DataError(f"{data} lists no book of the split {split!r}; it has {', '.join(splits)}")
    return found


def _listed(data: Path) -> Iterator[dict[str, str]]:
    """The rows of the folder's lists that say of what split a book is."""
    for path in sorted(data.glob("*.tsv")):
        try:
            rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig")), delimiter="\t"))
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise DataError(f"{path} cannot be read ({error}); expected there: {LAYOUT}") from error
        column = next((name for name in SPLIT_COLUMNS if rows and name in rows[0]), None)
        for row in rows if column else ():
            yield {key: value or "" for key, value in row.items() if key} | {"split": row[column] or ""}


def _names(row: dict[str, str]) -> list[str]:
    """The names that a listed book's file may have, the likeliest first."""
    numbered = f"{row['gutenberg_id']}.txt" if row.get("gutenberg_id") else ""
    return list(filter(None, (numbered, Path(row.get("file", "")).name)))


def _of_row(data: Path, row: dict[str, str], packed: _Packed) -> list[BookFile]:
    for name in _names(row):
        if (data / name).exists():
            return _read(data / name, row.get("title", ""))
        if (content := packed.read(name)) is not None:
            return _parse(content, data / name, row.get("title", ""))
    raise DataError(f"{data} lacks {' or '.join(_names(row))}, which its list names; expected: {LAYOUT}")


class _Packed:
    """The texts in the folder's archives, unpacked in memory the first time that one is wanted."""

    def __init__(self, data: Path) -> None:
        self._archives = sorted([*data.glob("*.tar.xz"), *data.glob("*.tar.gz")])
        self._texts: dict[str, bytes] | None = None

    def read(self, name: str) -> bytes | None:
        if self._texts is None:
            self._texts = {}
            for path in self._archives:
                try:
                    with tarfile.open(path) as archive:
                        for member in archive:
                            file = archive.extractfile(member) if member.name.endswith(".txt") else None
                            if file is not None:
                                self._texts[Path(member.name).name] = file.read()
                except (OSError, EOFError, tarfile.TarError) as error:
                    raise DataError(f"{path} cannot be unpacked ({error})") from error
        return self._texts.get(name)


def _read(path: Path, title: str = "") -> list[BookFile]:
    try:
        return _parse(path.read_bytes(), path, title)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error}); expected there: {LAYOUT}") from error


def _parse(content: bytes, path: Path, title: str) -> list[BookFile]:
    try:
        text = plain(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 ({error})") from error
    if not text:
        raise DataError(f"{path} holds no text")
    if not text.startswith(TITLE):
        id = slug(path.stem)
        return [BookFile(Book(id, title or path.stem, text, str(path)), parted=False)]
    found = []
    for number, part in enumerate(f"\n{text}".split(f"\n{TITLE}")[1:], 1):
        name, _, rest = part.partition("\n")
        name = name.strip().removeprefix(":").strip()
        if rest.strip():
            id = slug(f"{path.stem}-{number}-{Path(name).stem}")
            found.append(BookFile(Book(id, name, rest.strip(), f"{path}:{name}"), parted=True))
    return found

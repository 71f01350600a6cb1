"""Articles and their highlights: JSON lines, official ``*.story`` files, tokenised ``src`` and ``tgt``."""

from __future__ import annotations

import json
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.benchmarks.files import DataError, note_source, plain
from indexing.book import Book
from indexing.ids import slug

HIGHLIGHT = "@highlight"
_SPLITS = {
    **{"train": "train", "training": "train", "test": "test"},
    **{"valid": "valid", "validation": "valid", "val": "valid", "dev": "valid"},
}
LAYOUT = (
    "articles as *.jsonl, {id, text, highlights} a line; as *.story, @highlight before each bullet point; or "
    "as *.json, a list of {src, tgt}; a file named after a split is of that split"
)


@dataclass(frozen=True, slots=True)
class Article:
    """An article and its bullet points; ``parted`` where each line is a sentence parted by spaces."""

    book: Book
    highlights: tuple[str, ...]
    parted: bool = False


def read_articles(data: Path, split: str) -> Iterator[Article]:
    """The articles of a split, file by file: where no file is named after it, of those named after none.

    Raises ``DataError`` for what is malformed, for two articles of one id, and where all files are named
    after other splits.
    """
    folder = data / "stories" if (data / "stories").is_dir() else data
    paths = [data] if data.is_file() else sorted(filter(_is_read, folder.iterdir()))
    named, unnamed = ([path for path in paths if _split_of(path) == one] for one in (split, None))
    if paths and not named and not unnamed:
        raise DataError(f"{data} has no file of the split {split!r}; expected there: {LAYOUT}")
    sources: dict[str, str] = {}
    for path in named or unnamed:
        suffix = path.with_suffix("").suffix if path.suffix == ".xz" else path.suffix
        try:
            for article in _READERS[suffix](path):
                note_source(sources, article.book)
                yield article
        except (OSError, UnicodeDecodeError, lzma.LZMAError) as error:
            raise DataError(f"{path} cannot be read ({error}); expected there: {LAYOUT}") from error


def _split_of(path: Path) -> str | None:
    """The split that the file is named after, None for none."""
    return _SPLITS.get(path.name.partition(".")[0].lower())


def _is_read(path: Path) -> bool:
    """Whether the file holds articles; one that is packed does where it is not there unpacked, too."""
    if path.name.endswith(".jtr.json"):
        return False  # questions in another tool's layout
    if path.suffix == ".xz":
        return path.with_suffix("").suffix in _READERS and not path.with_suffix("").exists()
    return path.suffix in _READERS


def _text(path: Path) -> str:
    content = path.read_bytes()
    return (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")


def _read_lines(path: Path) -> Iterator[Article]:
    for number, line in enumerate(_text(path).split("\n"), 1):
        if line.strip():
            row = _json(path, number, line)
            if not isinstance(row, dict) or not isinstance(row.get("text"), str):
                raise _wrong(path, number, f"{line[:40]!r}")
            yield _article(path, str(row.get("id", number)), row["text"], row.get("highlights"), number)


def _article(path: Path, id: str, text: str, highlights: Any, line: int, parted: bool = False) -> Article:
    if not isinstance(highlights, list) or not all(isinstance(one, str) for one in highlights):
        raise _wrong(path, line, f"the highlights {highlights!r:.40}")
    if not plain(text):
        raise _wrong(path, line, "no text")
    bullets = tuple(filter(None, (plain(one) for one in highlights)))
    return Article(Book(slug(id), id, plain(text), f"{path}:{line}"), bullets, parted)


def _read_story(path: Path) -> Iterator[Article]:
    text, *bullets = _text(path).split(HIGHLIGHT)
    yield _article(path, path.stem, text, bullets, 1)


def _read_tokenised(path: Path) -> Iterator[Article]:
    rows = _json(path, 1, _text(path))
    for number, row in enumerate(rows if isinstance(rows, list) else [rows], 1):
        try:
            lines, bullets = ([" ".join(words) for words in row[key]] for key in ("src", "tgt"))
        except (KeyError, TypeError) as error:
            raise _wrong(path, number, f"{str(row)[:40]!r}") from error
        yield _article(path, f"{path.stem}-{number}", "\n".join(lines), bullets, number, parted=True)


def _json(path: Path, line: int, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise _wrong(path, line, f"no JSON ({error})") from error


def _wrong(path: Path, line: int, found: str) -> DataError:
    return DataError(f"{path}, line {line}: found {found}; wanted {LAYOUT}")


_READERS = {".jsonl": _read_lines, ".story": _read_story, ".json": _read_tokenised}

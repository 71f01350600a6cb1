"""Books as pandoc writes them, in every format that both know: words, chapters, title and authors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pandoc_books import NOTE, PandocBook, pandoc_books, words_of, write
from test_covers import GULL

from indexing.book import Book
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source

pytest.importorskip("pypandoc", reason="pandoc is not installed: pip install pypandoc_binary")
pytestmark = pytest.mark.processes

# What pandoc calls the format, its options, and the file's suffix.
FORMATS = {
    "epub2": ("epub2", ("--toc",), "epub"),
    "epub3": ("epub3", (), "epub"),
    "docx": ("docx", (), "docx"),
    "docx with contents": ("docx", ("--toc",), "docx"),
    "odt": ("odt", (), "odt"),
    "fb2": ("fb2", (), "fb2"),
    "rtf": ("rtf", (), "rtf"),
    "markdown": ("markdown", (), "md"),
    "markdown of github": ("gfm", ("--wrap=none",), "md"),
    "html": ("html5", (), "html"),
    "html of old": ("html4", ("--wrap=none", "--ascii"), "html"),
}


def read(book: PandocBook, format: str) -> Book:
    to, options, suffix = FORMATS[format]
    data = write(book, to, *options)
    return read_book(Source(f"book.{suffix}", "book", lambda: Fetched(data)))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("number", range(12))
def test_what_is_read_is_what_was_written(format: str, number: int) -> None:
    written = pandoc_books()[number]
    book = read(written, format)
    assert len(book.chapters) == len(written.chapters), [one.title for one in book.chapters]
    for chapter, (heading, _), words in zip(book.chapters, written.chapters, written.words, strict=True):
        told = book.text[chapter.start : chapter.end]
        found = words_of(without_notes(told))
        assert found == words, f"{heading}: {difference(found, words)}"
        assert chapter.title.split()[-1] == heading.split()[-1]
    before = "".join(c for i, c in enumerate(book.text[: book.chapters[0].start]) if not aside(book, i))
    assert set(words_of(before)) <= set(words_of(f"{written.title} {' '.join(written.authors)}"))
    if format != "rtf":  # which pandoc writes without either
        assert (book.title, book.author) == (written.title, ", ".join(written.authors))


@pytest.mark.parametrize("version", ["epub2", "epub3"])
def test_the_cover_that_pandoc_sets_is_the_book_s(version: str, tmp_path: Path) -> None:
    picture = tmp_path / "gull.png"
    picture.write_bytes(GULL)
    data = write(pandoc_books()[0], version, f"--epub-cover-image={picture}")
    assert read_book(Source("book.epub", "book", lambda: Fetched(data))).cover == GULL


def aside(book: Book, at: int) -> bool:
    return any(one.start <= at < one.end for one in book.left_out)


def without_notes(text: str) -> str:
    """Text without the notes, which some formats have at the end."""
    return re.sub(rf"(?m)^\W*\d*\W*{re.escape(NOTE)}\W*$", "", text)


def difference(found: list[str], wanted: list[str]) -> str:
    """Where two lists of words first differ."""
    at = next((i for i, pair in enumerate(zip(found, wanted, strict=False)) if pair[0] != pair[1]), 0)
    at = at or min(len(found), len(wanted))
    return f"{' '.join(found[at - 3 : at + 8])} | wanted | {' '.join(wanted[at - 3 : at + 8])}"

"""Books as LibreOffice and calibre write them, in every format that both know."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial

import pytest
from converted_books import CALIBRE, SOFFICE, by_calibre, by_libreoffice, calibre_makes
from kindle_books import huffman, kf8, mobipocket, palm_database
from manuscripts import sample
from pandoc_books import PandocBook, pandoc_books, words_of
from test_pandoc import aside, difference, without_notes

from indexing.book import Book
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source

pytest.importorskip("pypandoc", reason="pandoc is not installed: pip install pypandoc_binary")
pytestmark = pytest.mark.processes

with_libreoffice = pytest.mark.skipif(
    SOFFICE is None, reason="soffice is not on the PATH: apt-get install libreoffice-writer-nogui"
)
with_calibre = pytest.mark.skipif(
    CALIBRE is None, reason="calibre-debug is not on the PATH: apt-get install calibre"
)
# By the tool and the format: how to have them.
MADE: Mapping[str, tuple[str, Callable[[], Mapping[int, bytes]]]] = {
    "libreoffice docx": ("docx", partial(by_libreoffice, "odt", "docx")),
    "libreoffice odt": ("odt", partial(by_libreoffice, "docx", "odt")),
    "libreoffice rtf": ("rtf", partial(by_libreoffice, "odt", "rtf")),
    "libreoffice pdf": ("pdf", partial(by_libreoffice, "odt", "pdf")),
    "libreoffice html": ("html", partial(by_libreoffice, "odt", "html")),
    "calibre epub": ("epub", partial(by_calibre, "epub")),
    "calibre azw3": ("azw3", partial(by_calibre, "azw3")),
    "calibre mobi": ("mobi", partial(by_calibre, "mobi", "--mobi-file-type", "old")),
    "calibre mobi of both kinds": ("mobi", partial(by_calibre, "mobi", "--mobi-file-type", "both")),
    "calibre fb2": ("fb2", partial(by_calibre, "fb2")),
    "calibre docx": ("docx", partial(by_calibre, "docx")),
    "calibre rtf": ("rtf", partial(by_calibre, "rtf")),
    "calibre pdf": ("pdf", partial(by_calibre, "pdf")),
}
NOTES_AS_TEXT = ("calibre fb2", "calibre rtf")  # their marks are in no way told from words
NO_AUTHOR = ("calibre rtf",)  # ASCII alone
NO_LANGUAGE = ("rtf", "pdf", "html")


def read(made: str, number: int) -> Book:
    suffix, files = MADE[made]
    data = files()[number]
    return read_book(Source(f"book.{suffix}", "book", lambda: Fetched(data)))


def check(book: Book, written: PandocBook, made: str) -> None:
    assert len(book.chapters) == len(written.chapters), [one.title for one in book.chapters]
    for chapter, (heading, _), words in zip(book.chapters, written.chapters, written.words, strict=True):
        told = "".join(book.text[at] for at in range(chapter.start, chapter.end) if not aside(book, at))
        if made in NOTES_AS_TEXT:
            told = re.sub(r"(?<=,)\d(?= and so it)", "", told)
        found = words_of(without_notes(told))
        if made == "calibre pdf":
            # The head of a table stands on the next page again; a name that no font has is not there.
            found = words_of(re.sub(r"(?<=said) \d (?=and so it)", " ", " ".join(found)))
            found = re.sub(r"(Day Pans Weigher )(.{0,200}?)\1", r"\1\2", " ".join(found)).split()
            found, words = ([one for one in each if "\u674e\u96f7" not in one] for each in (found, words))
        assert found == words, f"{heading}: {difference(found, words)}"
        assert chapter.title.split()[-1] == heading.split()[-1]
    before = "".join(c for i, c in enumerate(book.text[: book.chapters[0].start]) if not aside(book, i))
    assert set(words_of(before)) <= set(words_of(f"{written.title} {' '.join(written.authors)}"))
    assert book.title == written.title
    assert book.author == (None if made in NO_AUTHOR else ", ".join(written.authors))
    assert (book.language or "")[:2] == ("" if made.endswith(NO_LANGUAGE) else "en")


@with_libreoffice
@pytest.mark.parametrize("made", [made for made in MADE if made.startswith("libreoffice")])
@pytest.mark.parametrize("number", range(12))
def test_what_libreoffice_wrote_is_read_as_it_was_written(made: str, number: int) -> None:
    check(read(made, number), pandoc_books()[number], made)


@with_calibre
@pytest.mark.parametrize("made", [made for made in MADE if made.startswith("calibre")])
@pytest.mark.parametrize("number", range(12))
def test_what_calibre_wrote_is_read_as_it_was_written(made: str, number: int) -> None:
    check(read(made, number), pandoc_books()[number], made)


@with_calibre
@pytest.mark.parametrize("write", [mobipocket, kf8])
def test_the_kindle_books_of_the_tests_are_such_as_calibre_reads(write: Callable[..., list[bytes]]) -> None:
    [text] = calibre_makes([palm_database(write(sample(), huffman))], "azw3", "txt")
    assert text.decode("utf-8-sig").split()[-len(sample().words) :] == sample().words

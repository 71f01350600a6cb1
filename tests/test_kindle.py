"""MOBI and AZW3: both kinds, each compression, contents, covers; protection and damage refused by name."""

from __future__ import annotations

import struct
from collections.abc import Callable
from functools import partial

import pytest
from kindle_books import (
    azw3,
    both,
    compressed,
    huffman,
    kf8,
    mobi,
    mobipocket,
    palm_database,
    palmdoc,
    stored,
)
from manuscripts import AUTHOR, TITLE, Manuscript, sample, twelve
from test_covers import GULL
from test_documents import check_chapters

from indexing.book import Book
from indexing.errors import SourceError
from indexing.formats.palm_text import palmdoc as unpacked
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source

WORDS = sample().words


def read(data: bytes, name: str = "weigher.mobi") -> Book:
    return read_book(Source(name, "weigher", partial(Fetched, data)))


def story(book: Book) -> list[str]:
    """The words of what is searched."""
    aside = [(one.start, one.end) for one in book.left_out]
    return "".join(c for at, c in enumerate(book.text) if not any(a <= at < b for a, b in aside)).split()


@pytest.mark.parametrize("pack", [stored, palmdoc, huffman])
@pytest.mark.parametrize("write", [mobipocket, kf8])
def test_both_kinds_are_read_word_for_word_with_each_compression(
    write: Callable[..., list[bytes]], pack: object
) -> None:
    book = read(palm_database(write(sample(), pack)))
    assert story(book) == WORDS
    assert len(book.chapters) == len(sample().chapters)
    assert (book.title, book.author, book.language) == (TITLE, AUTHOR, "en-GB")


def test_a_file_that_holds_both_kinds_is_read_as_the_later_with_the_cover_of_the_first() -> None:
    book = read(both(sample()))
    assert (story(book), book.cover) == (WORDS, GULL)
    assert "newer Kindle" not in book.text


@pytest.mark.parametrize("write", [mobipocket, kf8])
@pytest.mark.parametrize("number", range(12))
def test_twelve_books_of_each_kind_are_read_word_for_word(
    write: Callable[..., list[bytes]], number: int
) -> None:
    manuscript = twelve()[number]
    book = read(palm_database(write(manuscript, stored)))
    assert book.text.split()[-len(manuscript.words) :] == manuscript.words
    check_chapters(book, manuscript)


@pytest.mark.parametrize("write", [mobi, azw3])
def test_the_cover_is_the_picture_that_the_header_names(write: Callable[..., bytes]) -> None:
    assert read(write(sample())).cover == GULL


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252"])
def test_a_page_of_links_is_the_table_of_contents_where_there_is_no_index_of_it(encoding: str) -> None:
    records = mobipocket(sample(), palmdoc, encoding, contents=False)
    book = read(palm_database(records), "weigher.prc")
    assert story(book) == WORDS
    assert [chapter.title for chapter in book.chapters][1:3] == [
        "CHAPTER I: The Alderman",
        "CHAPTER II: The Letter",
    ]
    aside = book.text[book.left_out[0].start : book.left_out[0].end]
    assert aside.startswith("Contents\n\nEDITOR'S NOTE\n\nCHAPTER I")
    assert all(book.text[one.start :].startswith(one.title.partition(":")[0]) for one in book.chapters)


def test_a_kindle_book_is_known_whatever_its_name() -> None:
    assert read(azw3(sample()), "weigher.txt").text == read(azw3(sample()), "weigher.azw3").text


def test_a_book_for_palmdoc_is_read_as_plain_text() -> None:
    text = "CHAPTER I\n\nThe gull sat on the weir.\n\nCHAPTER II\n\nCaf\u00e9.\n".encode("cp1252")
    header = struct.pack(">HHIHHI", 2, 0, len(text), 1, 4096, 0)
    book = read(palm_database([header, compressed(text)], b"TEXtREAd"), "gull.pdb")
    assert book.text == text.decode("cp1252").strip()
    assert len(book.chapters) == 2


@pytest.mark.parametrize(
    ("packed", "text"),
    [
        (b"gull", b"gull"),
        (b"\x03\x80\x01\xffz", b"\x80\x01\xffz"),  # a run of three
        (b"a\xe7ull", b"a gull"),  # 0xe7 is a space and 0x67
        (b"gull\x80\x21", b"gullgull"),  # four back (0x21 >> 3), four long (1 + 3)
        (b"g\x80\x0f", b"ggggggggggg"),  # one back, ten long, out of itself
    ],
)
def test_palmdoc_s_compression_is_undone_as_by_hand(packed: bytes, text: bytes) -> None:
    assert unpacked(packed) == text


SHORT = Manuscript((("CHAPTER I", ("The gull sat on the weir.",)), ("CHAPTER II", ("The weir held.",))))


def changed(record: int, at: int, value: bytes, write: Callable[..., list[bytes]] = kf8) -> bytes:
    """A book with other bytes in one of its records."""
    records = write(SHORT, huffman)
    old = records[record]
    records[record] = old[:at] + value + old[at + len(value) :]
    return palm_database(records)


def endless() -> bytes:
    """A book of one code, for a phrase that is the same code."""
    records = kf8(SHORT, huffman)
    for number, record in enumerate(records):
        if record.startswith(b"CDIC"):
            records[number] = b"CDIC" + struct.pack(">IIIHH", 16, 1, 1, 2, 1) + b"\xff"
    return palm_database([records[0], *[b"\xff\0xy\x83"] * 9, *records[10:]])


def test_without_the_index_of_its_documents_a_book_is_read_as_it_lies() -> None:
    assert story(read(changed(0, 252, b"\0\0\0\1"))) == SHORT.words


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (changed(0, 12, b"\0\2"), r"protected \(DRM\); wanted .*, without protection"),
        (changed(0, 12, b"\0\1", mobipocket), r"protected \(DRM\)"),
        (changed(0, 0, b"\x12\x34"), "compression is of a kind"),
        (changed(0, 112, b"\0\0\0\1"), "dictionary of its compression is missing"),
        (endless(), "goes round in a circle"),
        (
            palm_database([struct.pack(">HHIHHI", 1, 0, 9, 9, 4096, 0), b"gull"]),
            "records of its text are missing",
        ),
        (palm_database([struct.pack(">HHIHHI", 1, 0, 9, 1, 4096, 0), b"%MOPgull"]), "Print Replica"),
        (b"g" * 60 + b"BOOKMOBI" + b"g" * 40, "do not follow one another"),
        (changed(0, 0, b"\x44\x48")[:400], "do not follow one another"),
        (b"gull", "named MOBI/AZW3 but holds text"),
    ],
)
def test_what_is_protected_or_damaged_is_refused_by_name(data: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said) as caught:
        read(data)
    assert "weigher.mobi" in str(caught.value)

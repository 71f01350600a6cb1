"""Bytes to clean text."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing.errors import SourceError
from indexing.formats.plain_text import decode, normalise

ENGLISH = "The miller\u2019s daughter said, \u201cThe caf\u00e9 is shut \u2014 na\u00efve gull!\u201d\n" * 40
GREEK = "Ο γλάρος κάθησε στο φράγμα και κοίταξε τον μυλωνά. " * 30
RUSSIAN = "Чайка сидела на плотине и смотрела на мельника. " * 30


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "cp1252"]
)
def test_western_text_is_read_in_every_usual_encoding(encoding: str) -> None:
    assert decode(ENGLISH.encode(encoding), "a book") == ENGLISH


@pytest.mark.parametrize("text", [GREEK, RUSSIAN])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_other_scripts_in_unicode_are_read(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding), "a book") == text


def test_other_scripts_in_one_byte_are_detected() -> None:
    assert decode(RUSSIAN.encode("cp1251"), "a book") == RUSSIAN


def test_the_declared_encoding_is_believed_where_it_decodes() -> None:
    assert decode(GREEK.encode("iso8859-7"), "a book", "ISO-8859-7") == GREEK
    assert decode(ENGLISH.encode("cp1252"), "a book", "ISO-8859-1") == ENGLISH
    assert decode(ENGLISH.encode("cp1252"), "a book", "no-such-encoding") == ENGLISH
    assert decode(ENGLISH.encode(), "a book", "ISO-8859-1") == ENGLISH


@pytest.mark.parametrize("taken_for", ["latin-1", "windows-1252"])
def test_utf_8_that_was_taken_for_a_western_encoding_is_read_as_it_was(taken_for: str) -> None:
    taken = "".join(
        bytes([byte]).decode("latin-1" if taken_for == "latin-1" or byte == 0x9D else "cp1252")
        for byte in ENGLISH.encode()
    )
    assert decode(taken.encode(), "a book") == ENGLISH
    assert decode(taken.replace("\u20ac\x9d", "\u20ac").encode(), "a book") == ENGLISH
    once = "The gull \u00e2\u20ac\u2122 is a mark; na\u00efve \u00c4\u201c caf\u00e9s."
    assert decode(once.encode(), "a book") == once


def test_quotation_marks_that_are_control_characters_are_not_lost() -> None:
    taken = ENGLISH.encode("cp1252").decode("latin-1")
    assert normalise(decode(taken.encode(), "a book")) == ENGLISH.strip()
    assert normalise("The gull\x85 \x93sat\x94") == "The gull\u2026 \u201csat\u201d"
    assert normalise("The gull\x85sat") == "The gull\nsat"


def test_text_of_old_macs_is_known_by_its_apostrophes() -> None:
    assert decode(ENGLISH.encode("mac_roman"), "a book") == ENGLISH
    assert decode(ENGLISH.encode("mac_roman"), "a book", "ISO-8859-1") == ENGLISH


def test_a_byte_that_windows_1252_lacks_costs_nothing_but_itself() -> None:
    assert decode(b"caf\xe9 " * 20 + b"\x81", "a book") == "caf\u00e9 " * 20 + "\ufffd"
    pasted = ENGLISH.encode("cp1252") + "\u201d".encode()
    for declared in (None, "ISO-8859-1"):
        assert decode(pasted, "a book", declared) == ENGLISH + "\u00e2\u20ac\ufffd"


def test_a_few_stray_bytes_do_not_spoil_the_rest_of_a_utf_8_text() -> None:
    data = ENGLISH.encode() + b"the \x93gull\x94 left" + "\u00e9".encode()[:1]
    assert decode(data, "a book").startswith(ENGLISH)
    assert "the \u201cgull\u201d left" in decode(data, "a book")


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 20, b"\0" * 500 + b"gull", b"ELF\x01\x02\0\0\0\x03" * 50]
)
def test_binary_data_is_refused_with_what_to_do(data: bytes) -> None:
    with pytest.raises(SourceError, match="convert it"):
        decode(data, "gull.bin")


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_normalising_is_final(text: str) -> None:
    final = normalise(text)
    assert normalise(final) == final == unicodedata.normalize("NFC", final)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in final.replace("\n", "").replace("\t", ""))


def test_line_ends_and_invisible_characters_are_made_uniform() -> None:
    text = "\ufeffone\r\ntwo\rthree \t\nfo\u00adur\u200b\x00\x0cfive\u2028six\u0301  \n"
    assert normalise(text) == "one\ntwo\nthree\nfour\nfive\nsix\u0301"
    assert normalise("cafe\u0301") == "caf\u00e9"

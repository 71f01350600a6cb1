"""Quotations found in passages, by exact offsets."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.quote_matching import find_quote

PASSAGE = (
    "\u201cIt burns twice as bright,\u201d he said,\n\u201cand it smells of violets.\u201d Ines, who trusted "
    "nobody\nwho praised a smell, poured a thimble of it \u2014 no more \u2014 into the _smallest_ lamp. "
    "The \U0001f980\U0001f3fd\u200d\U0001f30a waved! Zoe\u0308 didn\u2019t see the well-\nknown "
    "stra\u00dfe\u2026 She saw it 1,000 times.\u00a0Then the fi\u00adnest \ufb01sh left."
)


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("and it smells of violets", "and it smells of violets"),
        ("And it smells of violets.", "and it smells of violets."),
        ("It burns twice as bright", "It burns twice as bright"),
        ('"It burns twice as bright," he said', "\u201cIt burns twice as bright,\u201d he said"),
        ("'It burns twice as bright,' he said.", "\u201cIt burns twice as bright,\u201d he said"),
        ("\u00abit burns twice as bright,\u00bb he said", "\u201cIt burns twice as bright,\u201d he said"),
        ("``It burns twice as bright,'' he said", "\u201cIt burns twice as bright,\u201d he said"),
        ('"Ines, who trusted nobody who praised a smell"', "Ines, who trusted nobody\nwho praised a smell"),
        ("a thimble of it -- no more -- into", "a thimble of it \u2014 no more \u2014 into"),
        ("a thimble of it\u2014no more\u2014into", "a thimble of it \u2014 no more \u2014 into"),
        ("into the smallest lamp", "into the _smallest_ lamp"),
        ("**into the smallest lamp.**", "into the _smallest_ lamp."),
        (
            "The \U0001f980\U0001f3fd\u200d\U0001f30a waved!",
            "The \U0001f980\U0001f3fd\u200d\U0001f30a waved!",
        ),
        ("the \U0001f980\U0001f3fd\U0001f30a waved", "The \U0001f980\U0001f3fd\u200d\U0001f30a waved"),
        ("Zo\u00eb didn't see", "Zoe\u0308 didn\u2019t see"),
        ("the well-known stra\u00dfe", "the well-\nknown stra\u00dfe"),
        ("THE WELL-KNOWN STRASSE", "the well-\nknown stra\u00dfe"),
        ("stra\u00dfe...", "stra\u00dfe\u2026"),
        ("She saw it 1,000 times. Then", "She saw it 1,000 times.\u00a0Then"),
        ("the finest fish left", "the fi\u00adnest \ufb01sh left"),
        ("  \n the finest fish left \t", "the fi\u00adnest \ufb01sh left"),
    ],
)
def test_a_quotation_is_found_whatever_was_changed_in_copying_it(quote: str, found: str) -> None:
    place = find_quote(PASSAGE, quote)
    assert place is not None
    assert PASSAGE[slice(*place)] == found


@pytest.mark.parametrize(
    "quote",
    [
        "",
        " \n",
        "...",
        '"\u2014"',
        "it smells of roses",
        "It burns twice as bright he said",  # a comma is no matter of copying
        "it smells of violets ... who praised a smell",
        "nes, who trusted",
        "trusted nob",
        "Zoe",  # that is another letter
        "stras",
        "ish left",
        "\U0001f433",
        "x" * 10_000,
    ],
)
def test_what_does_not_stand_there_is_not_found(quote: str) -> None:
    assert find_quote(PASSAGE, quote) is None


def test_the_exact_words_go_before_those_that_are_only_alike() -> None:
    passage = "She rose at dawn. Nobody saw Rose. ROSE laughed."
    assert find_quote(passage, "Rose") == (29, 33)
    assert find_quote(passage, "ROSE") == (35, 39)
    assert find_quote(passage, "rOSE") == (4, 8)


def test_a_word_is_not_found_inside_another() -> None:
    assert find_quote("There others bathed; the end.", "the") == (21, 24)
    assert find_quote("There the other bathed; then he", "he") == (29, 31)
    assert find_quote("No. 10 and 101 and 1", "1") == (19, 20)


def test_a_part_of_the_passage_can_be_searched() -> None:
    passage = "the oak fell. The oak stood."
    assert find_quote(passage, "the oak", 8) == (14, 21)
    assert find_quote(passage, "stood", 0, 24) is None
    assert find_quote(passage, "oak", 0, 6) is None  # a word that the part cuts


def test_chinese_and_japanese_words_need_no_space_around_them() -> None:
    assert find_quote("\u4ed6\u4f4f\u5728\u5317\u4eac\u3002", "\u5317\u4eac") == (3, 5)


def test_a_letter_keeps_the_marks_that_follow_it() -> None:
    passage = "I \u2764\ufe0f the sea"
    assert find_quote(passage, "I \u2764") == (0, 4)
    assert find_quote(passage, "\u2764\ufe0f THE sea") == (2, len(passage))


WORDS = st.text(
    st.sampled_from(
        "aBz\u00e9\u00df\ufb01\u0130\u03a3'\u2019\u201c\"-\u2014_.,! \n\U0001f980\u200d\u0308\u5317"
    ),
    max_size=40,
)


@given(WORDS, st.data())
def test_whatever_is_found_says_what_was_looked_for(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    place = find_quote(text, text[start:end].swapcase())
    if place is not None:
        assert 0 <= place[0] < place[1] <= len(text)
        assert letters(text[slice(*place)]) == letters(text[start:end].swapcase())


@given(WORDS, WORDS, WORDS)
def test_a_quotation_between_spaces_is_always_found(before: str, quote: str, after: str) -> None:
    text = f"{before} x{quote}x {after}"
    for copied in (
        f"x{quote}x",
        f"x{quote}x".upper(),
        f"x{quote}x".replace("\n", "  ").replace("\u201c", "'"),
    ):
        place = find_quote(text, copied)
        assert place is not None
        assert letters(text[slice(*place)]) == letters(copied)


def letters(text: str) -> str:
    """Letters, digits and symbols alone, without case: what a quotation cannot change."""
    folded = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return re.sub(r"[\s\W_]", "", folded)

"""The one definition of a word."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from text.words import words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Miller's gull; it DIDN'T stay.", "the miller gull it didn't stay"),
        ("Anse\u2019s well-known _o\u2019clock_ gull", "anse well known o'clock gull"),
        ("\u2018Tis 3.14 and 1,000 'gulls'", "tis 3 14 and 1 000 gulls"),
        ("Caf\u00e9 \u00c5SA stra\u00dfe", "caf\u00e9 \u00e5sa stra\u00dfe"),
        (
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u0921\u093e\u0915",
            "\u0939\u093f\u0928\u094d\u0926\u0940 \u0921\u093e\u0915",
        ),
        ("--- ... \u201c\u201d", ""),
    ],
)
def test_words_are_lower_cased_runs_of_letters_and_digits(text: str, expected: str) -> None:
    assert words(text) == expected.split()


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_the_words_of_the_words_are_the_same_words_unless_one_is_a_possessive_itself(text: str) -> None:
    found = words(text)
    if not any(word.endswith("'s") for word in found):
        assert words(" ".join(found)) == found


@settings(max_examples=60, deadline=None)
@given(st.text(), st.text())
def test_texts_apart_have_the_words_of_each(first: str, second: str) -> None:
    assert words(first) + words(second) == words(f"{first} -- {second}")

"""Passages tile the text, whatever the text is."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing.passages import LONGEST_WORD, last_words, split

SPACES = " \t\n\u00a0\u2003\u3000"
UNSPACED = st.text(
    alphabet=st.sampled_from("ab.\u9df2\u304c\u3002\u300d\U00020000" + SPACES), max_size=LONGEST_WORD
)
TEXTS = st.text(alphabet=st.sampled_from("ab\u00e9\U0001f433.-" + SPACES), max_size=LONGEST_WORD)


@settings(max_examples=60, deadline=None)
@given(TEXTS | UNSPACED, st.integers(1, 7))
def test_every_non_space_character_lies_in_exactly_one_passage(text: str, words: int) -> None:
    covered = [at for passage in split(text, words) for at in range(passage.start, passage.end)]
    assert len(covered) == len(set(covered))
    assert {at for at in covered if not text[at].isspace()} == {
        at for at, character in enumerate(text) if not character.isspace()
    }


@settings(max_examples=60, deadline=None)
@given(TEXTS, st.integers(1, 7), st.data())
def test_passages_begin_and_end_at_words_and_share_the_overlap(
    text: str, words: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, words - 1))
    passages = split(text, words, overlap)
    pieces = [text[passage.start : passage.end] for passage in passages]
    assert all(piece == piece.strip() for piece in pieces)
    assert [passage.number for passage in passages] == list(range(len(passages)))
    assert all(len(piece.split()) == words for piece in pieces[:-1])
    for before, after in pairwise(pieces):
        assert before.split()[words - overlap :] == after.split()[:overlap]
    whole = pieces[0].split() if pieces else []
    for piece in pieces[1:]:
        whole += piece.split()[overlap:]
    assert whole == text.split()


def test_a_last_passage_is_never_a_part_of_the_one_before_it() -> None:
    passages = split("one two three four", words=3, overlap=2)
    assert [(passage.start, passage.end) for passage in passages] == [(0, 13), (4, 18)]


def test_no_passage_is_longer_than_its_words_may_be() -> None:
    text = "a." * 100_000
    passages = split(text, words=200)
    assert [(passage.start, passage.end) for passage in passages] == [
        (start, start + 200 * LONGEST_WORD) for start in range(0, len(text), 200 * LONGEST_WORD)
    ]


def test_two_characters_of_chinese_and_japanese_are_a_word_with_the_stops_behind_them() -> None:
    gull = "\u9df2\u304c\u98db\u3093\u3060\u3002\u300d"  # seven characters, of which two are stops
    passages = split(gull * 100 + " The gull flew.", words=3)
    assert {passage.end - passage.start for passage in passages[:100]} == {len(gull)}
    assert [(passage.end - passage.start) for passage in passages[100:]] == [len("The gull flew.")]


def test_offsets_count_code_points_and_not_bytes() -> None:
    [passage] = split("\U0001f433 na\u00efve")
    assert (passage.start, passage.end) == (0, 7)


@pytest.mark.parametrize(("words", "overlap"), [(0, 0), (-1, 0), (5, 5), (5, -1)])
def test_sizes_that_make_no_passages_are_refused(words: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="wanted"):
        split("some words", words, overlap)


@given(
    st.lists(
        st.sampled_from(["a", "Odo", "\u4e00\u4e8c\u4e09\u3002", "x" * 250, "ferryman", "\u2014"]),
        max_size=60,
    ),
    st.sampled_from([" ", "\n\n", "   ", "\u3000"]),
    st.integers(0, 30),
)
def test_the_last_words_are_those_of_the_whole_text(written: list[str], space: str, wanted: int) -> None:
    text = space.join(written)
    words = split(text, 1)
    assert last_words(text, wanted) == (text[words[-wanted:][0].start :] if words and wanted else "")

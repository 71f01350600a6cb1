"""Answers that say the same become one, with all their places."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from readers.reading import Answer, Span, merged, overlap
from text.equal_answers import answer_key

TEXTS = ("Irene", "Irene.", "irene", "the Irene", "a well", "The well!", "well", "an", "the", ".")


@given(st.lists(st.sampled_from(TEXTS), max_size=12), st.integers(1, 12))
def test_the_first_of_each_is_kept_in_order_and_no_place_is_lost(texts: list[str], n_best: int) -> None:
    answers = [Answer(text, -n, 0.5, Span(n, 0, len(text))) for n, text in enumerate(texts)]
    found = merged(answers, n_best)
    keys = list(dict.fromkeys(answer_key(text) for text in texts))
    assert [answer_key(answer.text) for answer in found] == keys[:n_best]
    for answer in found:
        equal = [one for one in answers if answer_key(one.text) == answer_key(answer.text)]
        assert answer.text == equal[0].text
        assert [answer.span, *answer.also] == [one.span for one in equal]


def test_places_that_overlap_are_one_and_those_side_by_side_are_two() -> None:
    own, across, behind = Span(0, 0, 5), Span(0, 3, 8), Span(0, 5, 9)
    answers = [Answer(text, 0, 0.5, place) for text, place in zip(TEXTS, (own, across, behind), strict=False)]
    [found] = merged(answers, 9)
    assert (found.span, found.also) == (own, (behind,))
    assert overlap(own, across)
    assert not overlap(own, behind)
    assert not overlap(behind, own)
    assert not overlap(own, Span(1, 0, 5))


def test_what_is_merged_is_not_changed_by_merging_again() -> None:
    answers = [Answer(text, -n, 0.5, None, Span(n, 0, 3)) for n, text in enumerate(TEXTS)]
    once = merged(answers, 9)
    assert merged(once, 9) == once


def test_the_facts_that_an_answer_follows_from_are_kept_though_an_equal_one_has_none() -> None:
    chain = (Span(2, 0, 9), Span(0, 3, 8))
    with_facts = Answer("Irene", -1, 0.5, None, chain=chain)
    assert merged([with_facts, Answer("irene", -2, 0.4, None)], 2)[0].chain == chain
    assert merged([Answer("irene", -1, 0.5, None), with_facts], 2)[0].chain == chain
    [first, other] = merged([with_facts, Answer("a well", -2, 0.4, None)], 2)
    assert (first.chain, other.chain) == (chain, ())


@pytest.mark.parametrize(
    ("one", "other"), [("Irene", "Irene."), ("the old well", "Old well"), ("O'Dowd", "o'dowd")]
)
def test_case_marks_and_articles_make_no_other_answer(one: str, other: str) -> None:
    assert answer_key(one) == answer_key(other)


def test_answers_without_a_word_are_told_apart() -> None:
    assert len({answer_key(text) for text in ("the", "an", ".", "!")}) == 4

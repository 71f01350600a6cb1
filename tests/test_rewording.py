"""Questions in other words: what stays, and that what comes instead is near."""

from __future__ import annotations

import random

import pytest

from text.stop_words import STOP_WORDS
from training.rewording import REPLACED, Rewording

QUESTIONS = (
    "Why did the tinker sell the copper kettle to Maret?",
    "Where does the ferryman of Oskholm hide the ladder during the winter?",
    "How many geese were counted before the storm reached the harbour?",
    "What happened after the judge's daughter found the silver ring?",
)


@pytest.fixture(scope="module")
def rewording() -> Rewording:
    return Rewording()


@pytest.mark.parametrize("question", QUESTIONS)
def test_names_and_words_that_say_little_stay_and_others_become_near_ones(
    rewording: Rewording, question: str
) -> None:
    rng = random.Random(0)
    for _ in range(50):
        words, others = question.split(), rewording(question, rng).split()
        assert len(words) == len(others)
        for word, other in zip(words, others, strict=True):
            bare, instead = word.rstrip("?").partition("'")[0], other.rstrip("?").partition("'")[0]
            if bare[0].isupper() or bare in STOP_WORDS:
                assert other == word
            assert instead == bare or instead in rewording.near(bare)


def test_a_near_word_is_another_of_the_kind(rewording: Rewording) -> None:
    assert "ocean" in rewording.near("sea")
    assert "bought" in rewording.near("buy")
    assert rewording.near("ferryman") == ()  # the backbone knows it by its parts alone
    assert all(word not in rewording.near(word) for word in ("sea", "buy", "judge"))


def test_about_the_share_of_words_is_replaced_that_may_be_and_a_seed_says_which(rewording: Rewording) -> None:
    often = [rewording("sell ring", random.Random(seed)).split() for seed in range(400)]
    changed = sum((sell != "sell") + (ring != "ring") for sell, ring in often) / 800
    assert changed == pytest.approx(REPLACED, abs=0.08)
    assert rewording(QUESTIONS[0], random.Random(3)) == rewording(QUESTIONS[0], random.Random(3))
    assert len({rewording(QUESTIONS[0], random.Random(seed)) for seed in range(20)}) > 5

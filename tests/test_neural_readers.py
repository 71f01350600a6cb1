"""What the paper's neural readers say of candidates and of their own answers, and where they cite."""

from __future__ import annotations

from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from readers import open_reader
from readers.neural.bidaf import log_likelihood
from readers.reading import Reading
from text.closest_spans import best_spans
from text.detokenise import appended, joined
from text.sentences import sentence_spans
from text.spans import TokenText

PASSAGES = (
    "Maud carried the blue lamp over the hill. The ferryman of Orrin didn't see it!",
    "She hid it in a hollow oak; her sisters, who had gone after a white goose, never knew.",
)
ASKED = Reading("Where did Maud hide the lamp?", PASSAGES)


@pytest.fixture(params=["bidaf", "attention-sum", "seq2seq-lstm"])
def reader(request: pytest.FixtureRequest, tiny_paper: Path) -> Any:
    return open_reader(f"{request.param}:{tiny_paper}")


@pytest.fixture
def bidaf(tiny_paper: Path) -> Any:
    return open_reader(f"bidaf:{tiny_paper}")


def test_a_span_is_as_likely_a_candidate_as_it_was_an_answer(bidaf: Any) -> None:
    answers = bidaf.read([ASKED], 5)[0]
    assert len(answers) == 5
    alone = [answer for answer in answers if "".join(PASSAGES).count(answer.text) == 1]
    assert alone
    for answer in alone:
        assert bidaf.rank(ASKED, [answer.text]) == pytest.approx([answer.score], abs=1e-4)
        assert answer.confidence == pytest.approx(exp(answer.score))


def test_a_candidate_that_stands_twice_is_as_likely_as_both() -> None:
    best = best_spans(TokenText(["Maud sat .", "Maud slept ."]), ["maud"])
    log_p1, log_p2 = np.log([[0.1, 0.1, 0.1, 0.5, 0.1, 0.1], [0.2, 0.1, 0.1, 0.4, 0.1, 0.1]]).astype(
        np.float32
    )
    assert log_likelihood(best, log_p1, log_p2) == pytest.approx(log(0.1 * 0.2 + 0.5 * 0.4))


def test_a_candidate_that_stands_nowhere_ranks_by_what_is_nearest_to_it(bidaf: Any) -> None:
    exact, near, nowhere = bidaf.rank(ASKED, ["a hollow oak", "a hollow elm", "nothing of it"])
    begun = bidaf.rank(ASKED, ["a hollow"])[0]
    # "a hollow" is all that the second has of the text: ROUGE-L of 2 of 2 and 2 of 3 words.
    assert near == pytest.approx(begun + log((1 + 1.2**2) * 2 / (2 + 1.2**2 * 3)), abs=1e-4)
    assert nowhere < min(exact, near)


def test_words_written_by_pointing_stand_in_the_passages_and_rest_on_a_sentence(tiny_paper: Path) -> None:
    pointing: Any = open_reader(f"attention-sum:{tiny_paper}")
    words = {word.strip(".,;!") for passage in PASSAGES for word in passage.split()}
    for answer in pointing.read([ASKED], 8)[0]:
        assert answer.span is None
        assert {word.strip(".,;!") for word in answer.text.split()} - {"", "did", "n't"} <= words
        place = answer.support
        assert (place.start, place.end) in sentence_spans(PASSAGES[place.passage])


def test_a_reading_and_its_ranking_are_the_same_each_time_however_markers_are_drawn(reader: Any) -> None:
    candidates = ["the hill", "Maud", "Orrin"]
    first = reader.read([ASKED], 3), reader.rank(ASKED, candidates)
    reader.read([Reading("Who is Osk?", ("Osk is Pell's uncle.",))])
    assert (reader.read([ASKED], 3), reader.rank(ASKED, candidates)) == first


def test_the_shipped_models_say_what_they_were_trained_on() -> None:
    for name in ("seq2seq-lstm", "attention-sum", "bidaf"):
        shipped: Any = open_reader(name)
        assert "FairytaleQA train" in shipped.trained_on
        assert ("SQuAD v1.1 train" in shipped.trained_on) == (name == "bidaf")


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        (["the", "old", "mill", "."], "the old mill."),
        (["Osk", "s", "kettle"], "Osk's kettle"),
        (["could", "n't", ",", "she", "ll", "go"], "couldn't, she'll go"),
        (["s"], "s"),
        ([], ""),
    ],
)
def test_keys_are_written_as_text(keys: list[str], text: str) -> None:
    assert joined(keys) == text


def test_a_word_stands_apart_unless_a_mark_is_between() -> None:
    assert appended("well-", "known") == "well-known"
    assert appended("the", "mill") == "the mill"

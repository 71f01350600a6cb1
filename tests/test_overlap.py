"""The model-free reader."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest

from encoders.errors import ModelError
from readers import open_reader
from readers.baselines.overlap import OverlapReader
from readers.reading import Reading, Span

STORY = (
    "The baker slept. Ned rang the copper bell at noon.",
    "Then the mayor woke. Ned rang the copper bell at noon. Nobody else had a bell.",
)
READER = OverlapReader()


def texts(question: str, n_best: int = 1, passages: tuple[str, ...] = STORY) -> list[str]:
    [answers] = READER.read([Reading(question, passages)], n_best)
    return [answer.text for answer in answers]


def test_the_sentence_with_the_questions_words_answers_it() -> None:
    assert texts("Who rang the bell?") == ["Ned rang the copper bell at noon."]
    assert texts("When did the mayor wake, that is, when had he woken or woke?") == ["Then the mayor woke."]


def test_a_rare_word_counts_for_more_than_a_frequent_one() -> None:
    passages = ("The cat sat. The dog sat. The bird sat. A quince lay there.",)
    assert texts("the sat quince", 2, passages) == ["A quince lay there.", "The cat sat."]


def test_a_tie_goes_to_the_earlier_sentence_and_a_text_is_given_once() -> None:
    [answers] = READER.read([Reading("copper", STORY)], 9)
    assert answers[0].span == Span(0, 17, 50)
    assert [answer.text for answer in answers] == [
        "Ned rang the copper bell at noon.",
        "The baker slept.",
        "Then the mayor woke.",
        "Nobody else had a bell.",
    ]


def test_confidence_is_the_share_of_the_question_computed_by_hand() -> None:
    [[answer, *_]] = READER.read([Reading("copper mayor", STORY)])
    copper, mayor = (math.log(1 + 5 / n) ** 2 for n in (2, 1))  # 5 sentences; 2 have copper, 1 mayor
    assert answer.text == "Then the mayor woke."
    assert answer.confidence == pytest.approx(mayor / (copper + mayor))


def test_confidence_is_one_for_a_sentence_that_holds_the_whole_question_and_zero_for_none() -> None:
    assert READER.read([Reading("Nobody had a BELL", STORY)])[0][0].confidence == pytest.approx(1.0)
    assert READER.read([Reading("volcano", STORY)])[0][0].confidence == 0.0


def test_the_candidate_of_the_sentence_asked_about_ranks_first() -> None:
    scores = READER.rank(Reading("Who rang the bell?", STORY), ["The baker", "Ned, at noon", "volcanoes"])
    assert scores[1] > scores[0] > scores[2] == 0.0


def test_ranks_are_the_same_in_every_process() -> None:
    code = (
        "from readers.baselines.overlap import OverlapReader; from readers.reading import Reading;"
        f"reading = Reading('Who rang the bell that day?', {STORY!r});"
        "reader = OverlapReader();"
        "print(reader.read([reading], 9), reader.rank(reading, ['Ned at noon', 'mayor']))"
    )
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(runs) == 1


def test_an_argument_is_refused() -> None:
    with pytest.raises(ModelError, match="has no model"):
        open_reader("overlap:some/model")

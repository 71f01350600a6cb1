"""The scores: by hand on small cases, against the programs they come from, against the paper's figures."""

from __future__ import annotations

import csv
import os
import random
import sys
from collections import defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from predicted_answers import predicted
from pycocoevalcap.bleu.bleu import Bleu  # type: ignore[import-untyped]
from scipy.stats import binom  # type: ignore[import-untyped]

from evaluation.metrics import meteor
from evaluation.metrics.metric import METRICS, RETRIEVAL_METRICS, metrics_named
from evaluation.metrics.overlap import (
    accuracy,
    bleu,
    bleu_statistics,
    exact_match,
    reciprocal_rank,
    rouge_l,
    scored,
    set_f1,
    token_f1,
)
from evaluation.metrics.scoring import Bootstrap, count, score
from evaluation.systems import first_gold
from text.tokens import tokens

ANSWERS = ["The goose counted all of the stars.", "a kettle", "He walked to the mountain, alone", "Osk", ""]
REFERENCES = [
    ["The goose counted the stars", "she counted every star"],
    ["in the kettle", "the old kettle"],
    ["to see a mountain"],
    ["Osk", "a tinker called Osk"],
    ["nobody knows", "no one"],
]


def keys(text: str) -> list[str]:
    return [token.key for token in tokens(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dorrit, the goose, counts.", "dorrit , the goose , counts ."),
        ("“Who's there?” she asked", "who s there ? she asked"),
        ("They couldn't and can't", "they could n't and ca n't"),
        ("the geese' pond", "the geese ' pond"),
        ("It ended. Then it began.", "it ended . then it began ."),
        ("Mr. Thorne and Mrs. B. Thorne", "mr. thorne and mrs. b. thorne"),
        ("Wait... (why?)", "wait ... ( why ? )"),
        ("at 9:30, for $2.50 or 1,000 plums", "at 9:30 , for $ 2.50 or 1,000 plums"),
        ("well-known--yet\n unseen", "well-known -- yet unseen"),
        ("I cannot", "i can not"),
        ("I'd've come at 9 a.m.", "i d ve come at 9 a.m ."),
        ("a barrel of plums—salted ones", "a barrel of plums — salted ones"),
        ("", ""),
    ],
)
def test_tokens_are_lower_case_with_punctuation_apart(text: str, expected: str) -> None:
    assert " ".join(keys(text)) == expected


def test_quotation_marks_and_the_shape_of_an_apostrophe_do_not_count() -> None:
    assert keys("the baker’s “star”") == keys('the baker\'s "star"') == keys("the baker s star")
    assert keys("‘Is it so?’ he asked, ‘is it?’") == keys("Is it so? he asked, is it?")


def test_only_the_final_full_stop_is_taken_off() -> None:
    assert scored("She slept. He did not.") == "she slept . he did not"
    assert scored("Who?") == "who ?"
    assert scored(".") == ""


def test_scores_of_an_answer_that_is_a_reference_are_one() -> None:
    for metric in (rouge_l, token_f1, exact_match):
        assert metric("The star, in his kettle.", ["nothing", "the star, in his kettle"]) == pytest.approx(1)


def test_rouge_l_takes_the_best_precision_and_the_best_recall() -> None:
    # LCS with the first reference is 2 of 4 and 2 of 2, with the second 3 of 4 and 3 of 6.
    precision, recall, beta = 3 / 4, 2 / 2, 1.2
    expected = (1 + beta**2) * precision * recall / (recall + beta**2 * precision)
    assert rouge_l("goose on the moon", ["the moon", "a goose flew to the moon"]) == pytest.approx(expected)


def test_f1_and_exact_match_ignore_case_articles_and_punctuation() -> None:
    assert exact_match("The Kettle!", ["kettle"]) == 1
    assert exact_match("kettles", ["kettle"]) == 0
    assert token_f1("the old kettle", ["a kettle of tea"]) == pytest.approx(2 * 1 / (2 + 3))
    assert token_f1("", ["kettle"]) == 0


def test_accuracy_is_of_answers_as_they_are_written() -> None:
    assert accuracy("kettle", ["kettle", "pot"]) == 1
    assert accuracy("Kettle", ["kettle"]) == accuracy("", ["kettle"]) == 0


def test_the_f1_of_a_set_counts_every_answer_once() -> None:
    assert set_f1("Osk\nWilm\nOsk", ["Wilm", "Osk"]) == 1
    assert set_f1("Osk", ["Wilm", "Osk"]) == pytest.approx(2 * 1 / (1 + 2))
    assert set_f1("", ["Osk"]) == set_f1("Dorrit", ["Osk"]) == 0
    assert set_f1("Osk\n\nWilm\n", ["Wilm", "Osk"]) == 1  # an empty line is no answer


def test_the_best_f_is_that_against_one_reference_alone() -> None:
    # LCS with the first reference is 3 of 4 and 3 of 6, with the second 2 of 4 and 2 of 2.
    answer, references = "goose on the moon", ("a goose flew to the moon", "the moon")
    f = [(1 + 1.2**2) * p * r / (r + 1.2**2 * p) for p, r in ((3 / 4, 3 / 6), (2 / 4, 2 / 2))]
    rows = METRICS["rouge_l_best_f"].count([predicted(answer, *references), predicted("no", *references)])
    assert rows is not None
    assert rows.tolist() == [[pytest.approx(max(f)), 1.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("places", "gold", "rank"),
    [
        ([(0, 5), (5, 9), (9, 12)], [(6, 7)], 2),
        ([(9, 12), (0, 5), (5, 9)], [(4, 6)], 2),
        ([(9, 12), (0, 5), (5, 9)], [(5, 6), (11, 20)], 1),
        ([(0, 5), (9, 12)], [(5, 9)], 0),  # beside both, in neither
        ([], [(5, 9)], 0),
    ],
)
def test_the_rank_of_the_first_gold_passage_counts_from_one(
    places: list[tuple[int, int]], gold: list[tuple[int, int]], rank: int
) -> None:
    assert first_gold(places, gold) == rank


def test_recall_and_mrr_of_retrieval_are_those_counted_by_hand() -> None:
    ranks, metrics = (1, 2, 0, 5, 10, 11), metrics_named(RETRIEVAL_METRICS)
    predictions = [replace(predicted("x", "y"), first_gold=rank) for rank in ranks]
    found = score(count(predictions, metrics), metrics, list("abcdef"), 0).values
    assert found == pytest.approx(
        {
            "recall_at_1": 1 / 6,
            "recall_at_2": 2 / 6,
            "recall_at_5": 3 / 6,
            "recall_at_10": 4 / 6,
            "retrieval_mrr": (1 + 1 / 2 + 0 + 1 / 5 + 1 / 10 + 1 / 11) / 6,
        }
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_bleu_of_summed_statistics_is_that_of_pycocoevalcap(n: int) -> None:
    texts = {i: [scored(answer)] for i, answer in enumerate(ANSWERS)}
    golds = {i: [scored(reference) for reference in to] for i, to in enumerate(REFERENCES)}
    expected, _ = Bleu(4).compute_score(golds, texts, verbose=0)
    sums = bleu_statistics(ANSWERS, REFERENCES).sum(axis=0)
    assert float(bleu(sums, n)) == pytest.approx(expected[n - 1], rel=1e-9)


def test_the_best_candidate_has_rank_one_and_the_worst_the_last() -> None:
    assert reciprocal_rank([0.1, 3.0, 2.0], 1) == 1
    assert reciprocal_rank([0.1, 3.0, 2.0], 0) == pytest.approx(1 / 3)


def test_a_scorer_that_knows_nothing_gets_what_chance_gets() -> None:
    chance = sum(Fraction(1, rank) for rank in range(1, 31)) / 30
    assert reciprocal_rank([0.5] * 30, 7) == pytest.approx(float(chance))


def test_meteor_of_statistics_is_what_the_program_says_of_them() -> None:
    rows = np.zeros((3, meteor.WIDTH))
    rows[0, [0, 1, 2, 3, 4, 5, 6, 7, 20, 21, 22]] = [7, 6, 4, 3, 3, 3, 2, 2, 2, 5, 5]
    rows[1, [0, 1, 4, 5, 20, 21, 22]] = [1, 1, 1, 1, 1, 1, 1]  # word for word
    rows[2, [0, 1]] = [2, 3]  # nothing in common
    assert meteor.scores(meteor.exempt(rows)) == pytest.approx([0.45309866923, 1.0, 0.0])


@pytest.mark.skipif(os.name == "nt", reason="puts a program of this machine's in the place of Java")
def test_of_the_two_meteors_the_papers_alone_counts_a_perfect_answer_as_one_chunk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In Java's place, what METEOR says of an answer of one word that is its reference.
    said = [1 if column in (0, 1, 4, 5, 20, 21, 22) else 0 for column in range(meteor.WIDTH)]
    program = tmp_path / "java"
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"for _ in sys.stdin:\n    print({' '.join(map(str, said))!r}, flush=True)\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    metrics = metrics_named(("meteor", "meteor_paper"))
    found = score(count([predicted("moon", "moon")], metrics), metrics, ["tale"], 0).values
    assert found == pytest.approx({"meteor": 1.0, "meteor_paper": 1 - 0.6 * (1 / 1) ** 0.2})


@pytest.mark.processes
@pytest.mark.skipif(meteor.java() is None, reason="METEOR needs java on the path")
def test_meteor_counts_in_unicode_and_takes_the_better_reference() -> None:
    answers = ["der müller | née ||| röde", "the cat sat on the mat .", "nothing at all"]
    references = [["der müller | née röde"], ["dogs bark", "the cat sat on a mat"], ["quite another thing"]]
    rows = meteor.statistics(answers, references)
    assert meteor.scores(meteor.exempt(rows)) == pytest.approx([1.0, 0.45309866923, 0.0])


def test_intervals_hold_the_score_and_repeat_for_a_seed() -> None:
    draw = random.Random(3)
    stories = [f"story {i // 10}" for i in range(200)]
    rows = np.array([(draw.random() + (i // 10) / 20, 1.0) for i in range(200)])

    def mean(sums: Any) -> Any:
        return sums[..., 0] / sums[..., 1]

    value, interval = Bootstrap(stories, seed=5).score(rows, mean)
    assert interval is not None
    assert value == pytest.approx(rows[:, 0].mean())
    assert interval[0] < value < interval[1]
    assert Bootstrap(stories, seed=5).score(rows, mean) == (value, interval)
    _, narrower = Bootstrap([str(i) for i in range(200)], seed=5).score(rows, mean)
    assert narrower is not None
    assert narrower[1] - narrower[0] < interval[1] - interval[0]  # stories differ, so they count for less


def test_the_interval_holds_95_percent_of_the_draws() -> None:
    # Of 400 stories, half of them right, a draw has as many right ones as a binomial variable.
    rows = np.array([(i % 2, 1.0) for i in range(400)])
    stories = [f"story {i}" for i in range(400)]
    _, interval = Bootstrap(stories, seed=0).score(rows, lambda sums: sums[..., 0] / sums[..., 1])
    assert interval is not None
    assert interval == pytest.approx([at / 400 for at in binom.interval(0.95, 400, 0.5)], abs=0.006)


def test_one_story_alone_has_no_interval() -> None:
    assert Bootstrap(["only"] * 3, seed=0).score(np.ones((3, 2)), lambda sums: sums[..., 0])[1] is None


@pytest.fixture(scope="module")
def questions(data_folder: Path) -> list[dict[str, str]]:
    with (data_folder / "narrativeqa" / "qaps.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.data
def test_our_tokens_are_those_of_the_datas_own_columns(
    questions: list[dict[str, str]], data_folder: Path
) -> None:
    columns = ("question", "answer1", "answer2")
    pairs = [(row[c], row[f"{c}_tokenized"]) for row in questions for c in columns]
    same = sum(keys(text) == tokenized.lower().split() for text, tokenized in pairs)
    assert same / len(pairs) > 0.999
    path = data_folder / "narrativeqa" / "third_party" / "wikipedia" / "summaries.csv"
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            # The one difference that is meant: those columns leave "time—asking" whole.
            theirs = row["summary_tokenized"].replace("—", " — ").lower().split()
            ours = keys(row["summary"])
            assert abs(len(ours) - len(theirs)) < 0.02 * len(theirs)


@pytest.mark.data
@pytest.mark.skipif(meteor.java() is None, reason="METEOR needs java on the path")
def test_the_second_annotator_scores_what_the_papers_human_row_says(questions: list[dict[str, str]]) -> None:
    answers = [row["answer2"] for row in questions]
    references = [[row["answer1"]] for row in questions]
    counts = bleu_statistics(answers, references).sum(axis=0)
    rows = meteor.statistics([scored(a) for a in answers], [[scored(r) for r in to] for to in references])
    found = {
        "bleu_1": float(bleu(counts, 1)),
        "bleu_4": float(bleu(counts, 4)),
        "rouge_l": float(np.mean([rouge_l(a, to) for a, to in zip(answers, references, strict=True)])),
        "meteor": float(meteor.scores(meteor.exempt(rows).sum(axis=0))),
        "meteor_paper": float(meteor.scores(rows.sum(axis=0))),
    }
    expected = {"bleu_1": 0.4424, "bleu_4": 0.1871, "rouge_l": 0.5717, "meteor": 0.2542}
    expected["meteor_paper"] = 0.2387  # the paper's own figure
    assert found == pytest.approx(expected, abs=0.00015)


@pytest.mark.data
def test_ranking_by_rouge_l_with_the_question_has_the_papers_mrr(questions: list[dict[str, str]]) -> None:
    stories: dict[str, list[dict[str, str]]] = defaultdict(list)
    for row in questions:
        stories[row["document_id"]].append(row)
    ranks = [
        reciprocal_rank([rouge_l(other["answer1"], [row["question"].rstrip("?")]) for other in members], i)
        for members in stories.values()
        for i, row in enumerate(members)
    ]
    assert np.mean(ranks) == pytest.approx(0.168, abs=0.001)

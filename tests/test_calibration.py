"""What is said of confidence: against scikit-learn, and by what must hold whatever the answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import calibration_curve  # type: ignore[import-untyped]
from sklearn.metrics import brier_score_loss  # type: ignore[import-untyped]

from evaluation.metrics.calibration import (
    BINS,
    bins,
    calibration_error,
    describe,
    drawn,
    ranking,
    risk_coverage,
)

RNG = np.random.default_rng(5)
CONFIDENCE = RNG.uniform(size=400)
RIGHT = RNG.uniform(size=400) < CONFIDENCE**1.7


def _described(confidence: list[float], rouge_l: list[float], threshold: float) -> dict[str, Any]:
    return describe(confidence, rouge_l, threshold, ["story"] * len(confidence), 0)


def test_the_bins_are_those_of_scikit_learn() -> None:
    share, mean = calibration_curve(RIGHT, CONFIDENCE, n_bins=BINS, strategy="uniform")
    found = bins(CONFIDENCE, RIGHT)
    assert [one.right for one in found] == pytest.approx(share.tolist())
    assert [one.confidence for one in found] == pytest.approx(mean.tolist())
    counts = np.histogram(CONFIDENCE, bins=BINS, range=(0, 1))[0]
    by_hand = (counts / counts.sum() * np.abs(share - mean)).sum()
    assert calibration_error(found) == pytest.approx(by_hand)


def test_the_bins_of_equal_mass_are_those_of_scikit_learn() -> None:
    share, mean = calibration_curve(RIGHT, CONFIDENCE, n_bins=BINS, strategy="quantile")
    found = bins(CONFIDENCE, RIGHT, equal_mass=True)
    assert [one.right for one in found] == pytest.approx(share.tolist())
    assert [one.confidence for one in found] == pytest.approx(mean.tolist())
    assert [one.answers for one in found] == [40] * BINS


def test_a_confidence_that_keeps_its_promise_has_no_error_and_an_empty_one_has_all_of_it() -> None:
    right = np.array([True] * 3 + [False])
    assert calibration_error(bins(np.full(4, 0.75), right)) == pytest.approx(0.0)
    assert calibration_error(bins(np.ones(4), ~np.ones(4, dtype=bool))) == pytest.approx(1.0)


answers = st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 0.55, 0.9, 1.0]), st.booleans()), min_size=1)


@given(answers)
def test_the_risk_of_answering_everything_is_the_share_of_wrong_answers(
    answers: list[tuple[float, bool]],
) -> None:
    confidence, right = (np.array(column) for column in zip(*answers, strict=True))
    coverage, risk = risk_coverage(confidence, right)
    assert coverage[-1] == 1.0
    assert risk[-1] == pytest.approx(1 - right.mean())
    assert ((risk >= 0) & (risk <= 1)).all()
    for level in set(confidence.tolist()):  # among equals nobody is answered before another
        assert len(set(risk[np.sort(-confidence) == -level].tolist())) == 1


@given(answers)
def test_the_order_of_the_answers_does_not_matter(answers: list[tuple[float, bool]]) -> None:
    confidence, right = (np.array(column) for column in zip(*answers, strict=True))
    some, others = (
        _described(confidence[::step].tolist(), [float(one) for one in right[::step]], 0.5)
        for step in (1, -1)
    )
    for name in ("ece", "ece_equal_mass", "brier", "auroc", "area_under_risk_coverage", "answerable"):
        assert some[name] == pytest.approx(others[name], abs=2e-6)


def test_the_area_is_by_hand_what_it_says() -> None:
    confidence, right = np.array([0.9, 0.2, 0.6, 0.4]), np.array([True, True, False, False])
    _, risk = risk_coverage(confidence, right)
    assert risk.tolist() == pytest.approx([0, 1 / 2, 2 / 3, 2 / 4])
    described = _described(confidence.tolist(), right.astype(float).tolist(), 0.5)
    assert described["area_under_risk_coverage"] == pytest.approx((0 + 1 / 2 + 2 / 3 + 2 / 4) / 4, abs=1e-6)


@given(answers)
def test_no_order_has_less_risk_than_right_answers_first(answers: list[tuple[float, bool]]) -> None:
    confidence, right = (np.array(column) for column in zip(*answers, strict=True))
    coverage, risk = risk_coverage(confidence, right)
    best = np.maximum(0, 1 - right.mean() / coverage)
    assert (risk >= best - 1e-12).all()
    apart = right - np.arange(len(right)) / (2 * len(right))  # the right ones first, no two equal
    assert risk_coverage(apart, right)[1] == pytest.approx(best)


@given(answers)
def test_ranking_depends_on_the_order_of_confidence_alone(answers: list[tuple[float, bool]]) -> None:
    confidence, right = (np.array(column) for column in zip(*answers, strict=True))
    assert ranking(confidence, right) == ranking(confidence**3 / 2, right)
    pairs = [(a > b) + (a == b) / 2 for a in confidence[right] for b in confidence[~right]]
    assert ranking(confidence, right) == (pytest.approx(np.mean(pairs)) if pairs else None)


def test_the_interval_is_over_stories_and_that_of_one_story_is_none() -> None:
    one, apart = (
        describe(CONFIDENCE.tolist(), RIGHT.astype(float).tolist(), 0.5, stories, 3)
        for stories in (["only"] * 400, [f"story {i // 8}" for i in range(400)])
    )
    assert one["intervals"] == {"ece": None, "brier": None}
    assert one["ece"] == apart["ece"] == pytest.approx(calibration_error(bins(CONFIDENCE, RIGHT)), abs=1e-6)
    for name in ("ece", "brier"):
        low, high = apart["intervals"][name]
        assert 0 <= low < high <= 1
    low, high = apart["intervals"]["brier"]
    assert low < apart["brier"] < high


def test_what_is_drawn_holds_every_answer_and_ends_with_all_of_them() -> None:
    shapes = drawn(CONFIDENCE.tolist(), RIGHT.astype(float).tolist())
    assert sum(one["answers"] for one in shapes["bins"]) == 400
    assert len(shapes["curve"]) == 101
    assert shapes["curve"][-1] == pytest.approx([1.0, 1 - RIGHT.mean()], abs=1e-6)
    assert drawn([0.5], [0.5])["curve"] == [[1.0, 0.0]]  # half right is right


def test_half_right_is_right_and_the_threshold_itself_is_answered() -> None:
    found = _described([0.5, 0.4, 0.3, 0.2], [0.5, 0.49, 1.0, 0.0], 0.5)
    assert found["right_means"] == "ROUGE-L of 0.5 or more"
    assert found["right"] == 0.5
    assert found["answerable"] == {"threshold": 0.5, "share": 0.25, "right": 1.0}


def test_the_risk_at_a_coverage_is_that_of_so_many_of_the_most_confident_answers() -> None:
    right = [1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0]
    found = _described([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], right, 0.0)
    assert found["risk_at_coverage"] == {"0.25": 1 / 2, "0.5": 2 / 4, "0.75": 3 / 6}
    assert _described([0.9], [0.0], 0.0)["risk_at_coverage"] == {"0.25": 1.0, "0.5": 1.0, "0.75": 1.0}


def test_the_report_says_what_a_threshold_would_give() -> None:
    found = _described(CONFIDENCE.tolist(), [1.0 if one else 0.49 for one in RIGHT], 0.5)
    answered = CONFIDENCE >= 0.5
    assert found["answerable"]["share"] == pytest.approx(answered.mean(), abs=1e-6)
    assert found["answerable"]["right"] == pytest.approx(RIGHT[answered].mean(), abs=1e-6)
    assert found["brier"] == pytest.approx(brier_score_loss(RIGHT, CONFIDENCE), abs=1e-6)
    assert found["right"] == pytest.approx(RIGHT.mean(), abs=1e-6)
    assert ranking(CONFIDENCE, np.ones(400, dtype=bool)) is None
    assert _described([0.1], [0.0], 0.5)["answerable"]["right"] is None

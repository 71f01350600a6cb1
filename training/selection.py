"""Fits which answer is given, how sure it is and when to write one, on candidates that were scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from evaluation.metrics.calibration import RIGHT
from readers.default.answer_selector import AnswerSelector, Logistic, Signals, choose

FOLDS = 5
STRENGTH = 0.3  # inverse of the L2 penalty
# From which probability on to write may be chosen; above 1 nothing is ever written.
THRESHOLDS = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 2.0)
COST = 0.002  # of ROUGE-L that may be lost by writing less


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """A question, its candidates' signals, and the ROUGE-L that each has.

    ``where`` says what was read: the sections, a summary, passages found in a story, or a paragraph.
    """

    story: str
    where: str
    question: str
    signals: tuple[Signals, ...]
    worth: tuple[float, ...]


def fit_logistic(features: Sequence[Mapping[str, float]], chances: Sequence[float]) -> Logistic:
    """A logistic model of labels in [0, 1]: a row counts as right by its label, as wrong by the rest."""
    names = sorted({name for one in features for name in one})
    rows = np.array([[one.get(name, 0.0) for name in names] for one in features])
    # What is or is not stays as it is, so that the penalty holds back what few rows of a rare kind say: of 18
    # held-out questions that ask when, no answer was right.
    is_flag = ((rows == 0) | (rows == 1)).all(0)
    spread = rows.std(0)
    scale = np.where((spread > 1e-9) & ~is_flag, spread, 1.0)
    labels = np.repeat([1, 0], len(rows))
    weights = np.concatenate([chances, 1 - np.asarray(chances)])
    model = LogisticRegression(C=STRENGTH, max_iter=2000)
    model.fit(np.concatenate([rows, rows]) / scale, labels, weights)
    return Logistic(
        float(model.intercept_[0]), {n: float(w) for n, w in zip(names, model.coef_[0] / scale, strict=True)}
    )


def fit_selector(scored: Sequence[ScoredCandidates], writes_from: float = 0.0) -> AnswerSelector:
    """Worth from the first answer of each reader, rightness from the one that worth chooses.

    The same of the first span by itself, and from it whether worth chooses what was written; it is written
    from the probability ``writes_from`` on.
    """
    scored = [one for one in scored if one.signals]
    features = [[signals.features(one.question) for signals in one.signals] for one in scored]
    firsts = [_firsts(one) for one in scored]
    worth = fit_logistic(
        [rows[i] for rows, mine in zip(features, firsts, strict=True) for i in mine],
        [one.worth[i] for one, mine in zip(scored, firsts, strict=True) for i in mine],
    )
    best = [_chosen(one, rows, worth) for one, rows in zip(scored, features, strict=True)]
    right = fit_logistic(
        [rows[i] for rows, i in zip(features, best, strict=True)],
        [float(one.worth[i] >= RIGHT) for one, i in zip(scored, best, strict=True)],
    )
    spoken = [(one, i) for one, i in zip(scored, best, strict=True) if not one.signals[0].written]
    alone = [_alone(one) for one, _ in spoken]
    return AnswerSelector(
        worth,
        right,
        span_worth=fit_logistic(alone, [one.worth[0] for one, _ in spoken]),
        span_right=fit_logistic(alone, [float(one.worth[0] >= RIGHT) for one, _ in spoken]),
        writes=fit_logistic(alone, [float(one.signals[i].written) for one, i in spoken]),
        writes_from=writes_from,
    )


def _alone(one: ScoredCandidates) -> dict[str, float]:
    """What is known of the first candidate, a span, where nothing has been written."""
    first = replace(one.signals[0], f1_written=None, log_probability=None, log_refusal=None)
    return first.features(one.question)


def _firsts(one: ScoredCandidates) -> list[int]:
    written = [signals.written for signals in one.signals]
    return [written.index(kind) for kind in (False, True) if kind in written]


def _chosen(one: ScoredCandidates, rows: Sequence[Mapping[str, float]], worth: Logistic) -> int:
    return choose([worth(row) for row in rows], [signals.written for signals in one.signals])


@dataclass(frozen=True, slots=True)
class Judged:
    """A question judged by a selector of other stories: the candidate given, with its confidence.

    ``spoken`` is what is given where nothing is written, ``judged`` where both readers answer, and
    ``writes`` the probability that decides, 1 where there is no span.
    """

    one: ScoredCandidates
    writes: float
    spoken: tuple[int, float]
    judged: tuple[int, float]

    def given(self, writes_from: float) -> tuple[int, float]:
        """What is given with that threshold."""
        return self.judged if self.writes >= writes_from else self.spoken


def judge_apart(scored: Sequence[ScoredCandidates]) -> list[Judged]:
    """Each question, judged by a selector that was fitted on other stories; none of a single story."""
    stories = sorted({one.story for one in scored})
    found = []
    for fold in range(FOLDS):
        apart = set(stories[fold::FOLDS])
        others = [one for one in scored if one.story not in apart]
        if others and apart:
            selector = fit_selector(others)
            found += [_judged(one, selector) for one in scored if one.story in apart and one.signals]
    return found


def _judged(one: ScoredCandidates, selector: AnswerSelector) -> Judged:
    rows = [signals.features(one.question) for signals in one.signals]
    chosen = _chosen(one, rows, selector.worth)
    both = chosen, selector.right(rows[chosen])
    if one.signals[0].written:
        return Judged(one, 1.0, both, both)
    alone = _alone(one)
    return Judged(one, selector.writes(alone), (0, selector.span_right(alone)), both)


def cheapest(judged: Sequence[Judged]) -> float:
    """The highest of the ``THRESHOLDS`` whose answers are at most by ``COST`` worse than the best of them."""
    if not judged:
        return THRESHOLDS[0]
    worth = [
        float(np.mean([one.one.worth[one.given(writes_from)[0]] for one in judged]))
        for writes_from in THRESHOLDS
    ]
    return max(
        writes_from for writes_from, mean in zip(THRESHOLDS, worth, strict=True) if mean >= max(worth) - COST
    )


@dataclass(frozen=True, slots=True)
class SelectionScores:
    """How a selector fares on one kind of question: mean ROUGE-L of its choices and of others'.

    ``asked_to_write`` is the share of questions for which more than spans is looked at, ``confidence`` the
    mean, and ``right`` the share that is.
    """

    questions: int
    judged: float
    spans: float
    written: float
    best_possible: float
    confidence: float
    right: float
    asked_to_write: float


def score_selection(judged: Sequence[Judged], writes_from: float) -> dict[str, SelectionScores]:
    """Per kind of question what selectors fitted on other stories choose, with that threshold."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for each in judged:
        one, (chosen, confidence) = each.one, each.given(writes_from)
        found.setdefault(one.where, []).append(
            (
                one.worth[chosen],
                _first(one, written=False),
                _first(one, written=True),
                max(one.worth),
                confidence,
                float(one.worth[chosen] >= RIGHT),
                float(each.writes >= writes_from),
            )
        )
    return {
        where: SelectionScores(len(rows), *(float(value) for value in np.mean(rows, axis=0)))
        for where, rows in found.items()
    }


def _first(one: ScoredCandidates, written: bool) -> float:
    """The ROUGE-L of the best candidate of one reader, as that reader orders them."""
    return next((worth for worth, s in zip(one.worth, one.signals, strict=True) if s.written == written), 0.0)

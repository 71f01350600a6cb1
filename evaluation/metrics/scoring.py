"""Scores of all predictions together, with 95 % bootstrap intervals over stories."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evaluation.metrics import meteor
from evaluation.metrics.overlap import bleu, bleu_statistics, scored
from evaluation.predictions import Prediction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Statistic = Callable[[NDArray[np.float64]], NDArray[Any]]

log = logging.getLogger(__name__)

RESAMPLES = 1000
RECALL_AT = (1, 2, 5, 10)
Interval = tuple[float, float]


@dataclass(slots=True)
class Scores:
    """Scores by name, fractions or None where they do not apply, and their intervals by the same names."""

    values: dict[str, float | None] = field(default_factory=dict)
    intervals: dict[str, Interval | None] = field(default_factory=dict)


class Bootstrap:
    """Draws stories with replacement and scores each draw; the same draws for every score.

    Questions of one story share its difficulty, so stories are drawn and not questions.
    """

    def __init__(self, stories: Sequence[str], seed: int) -> None:
        """``stories[i]`` is the story of prediction ``i``."""
        import numpy as np

        names = {story: number for number, story in enumerate(dict.fromkeys(stories))}
        self._story = np.array([names[story] for story in stories])
        self._stories = len(names)
        uniform = np.full(self._stories, 1 / self._stories)
        self._draws = np.random.default_rng(seed).multinomial(self._stories, uniform, size=RESAMPLES)

    def score(self, rows: NDArray[np.float64], statistic: Statistic) -> tuple[float, Interval | None]:
        """``statistic`` of the summed rows, shape (predictions, width), and where 95 % of the draws have it.

        ``statistic`` takes sums of shape (..., width) to scores of shape (...). There is no interval
        for a single story.
        """
        import numpy as np

        sums = np.zeros((self._stories, rows.shape[1]))
        np.add.at(sums, self._story, rows)
        value = float(statistic(sums.sum(axis=0)))
        if self._stories < 2:
            return value, None
        low, high = np.nanquantile(statistic(self._draws @ sums), [0.025, 0.975])
        return value, (float(low), float(high))


def meteor_rows(predictions: Sequence[Prediction]) -> NDArray[np.float64] | None:
    """What METEOR counts in each prediction, shape (predictions, ``meteor.WIDTH``); None without Java."""
    if meteor.java() is None:
        return None
    answers = [scored(one.prediction) for one in predictions]
    return meteor.statistics(answers, [[scored(r) for r in one.references] for one in predictions])


def score(predictions: Sequence[Prediction], seed: int, rows: NDArray[np.float64] | None = None) -> Scores:
    """Every score that applies to the predictions; raises ValueError where there are none.

    BLEU and METEOR are corpus scores, computed from sums; the others are means over questions.
    ``rows`` are the predictions' ``meteor_rows``; without them METEOR is None.
    """
    if not predictions:
        raise ValueError("no predictions to score")

    scores = Scores()
    bootstrap = Bootstrap([one.story for one in predictions], seed)

    def add(name: str, rows: NDArray[np.float64] | None, statistic: Statistic) -> None:
        scored_ = (None, None) if rows is None else bootstrap.score(rows, statistic)
        scores.values[name], scores.intervals[name] = scored_

    answers = [one.prediction for one in predictions]
    references = [one.references for one in predictions]
    counts = bleu_statistics(answers, references)
    add("rouge_l", _column([one.rouge_l for one in predictions]), _mean)
    add("bleu_1", counts, lambda sums: bleu(sums, 1))
    add("bleu_4", counts, lambda sums: bleu(sums, 4))
    add("meteor", None if rows is None else meteor.exempt(rows), meteor.scores)
    add("meteor_paper", rows, meteor.scores)
    add("f1", _column([one.f1 for one in predictions]), _mean)
    add("exact_match", _column([one.exact_match for one in predictions]), _mean)
    add("mrr", _column([one.reciprocal_rank for one in predictions]), _mean)
    golds = [one.first_gold for one in predictions]
    for k in RECALL_AT:
        add(f"recall_at_{k}", _column([None if g is None else 0 < g <= k for g in golds]), _mean)
    add("retrieval_mrr", _column([None if g is None else 1 / g if g else 0.0 for g in golds]), _mean)
    return scores


def _column(values: Sequence[float | bool | None]) -> NDArray[np.float64] | None:
    """Rows of value and count, to be averaged; None unless every prediction has the value."""
    import numpy as np

    if any(value is None for value in values):
        return None
    return np.array([(float(value or 0.0), 1.0) for value in values])


def _mean(sums: NDArray[np.float64]) -> NDArray[Any]:
    import numpy as np

    return np.asarray(sums[..., 0] / sums[..., 1])

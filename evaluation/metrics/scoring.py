"""Scores of all predictions together, with 95 % bootstrap intervals over stories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evaluation.metrics.metric import Combine, Count, Metric, Rows
    from evaluation.predictions import Prediction

RESAMPLES = 1000
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

    def score(self, rows: Rows, statistic: Combine) -> tuple[float, Interval | None]:
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


def count(predictions: Sequence[Prediction], metrics: Sequence[Metric]) -> dict[str, Rows | None]:
    """By metric's name what it counts, shape (predictions, width); None where it does not apply."""
    counted: dict[Count, Rows | None] = {}
    for metric in metrics:
        if metric.count not in counted:  # BLEU-1 and BLEU-4 are of one count, and METEOR takes half a minute
            counted[metric.count] = metric.count(predictions)
    return {metric.name: counted[metric.count] for metric in metrics}


def score(
    counted: Mapping[str, Rows | None], metrics: Sequence[Metric], stories: Sequence[str], seed: int
) -> Scores:
    """Every metric of what was counted in predictions on ``stories``; raises ValueError without any."""
    if not stories:
        raise ValueError("no predictions to score")
    scores = Scores()
    bootstrap = Bootstrap(stories, seed)
    for metric in metrics:
        rows = counted[metric.name]
        found = (None, None) if rows is None else bootstrap.score(rows, metric.combine)
        scores.values[metric.name], scores.intervals[metric.name] = found
    return scores

"""The metrics that a benchmark can name: how each is counted, put together over questions, and printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evaluation.metrics import meteor
from evaluation.metrics.overlap import (
    accuracy,
    bleu,
    bleu_statistics,
    exact_match,
    rouge_l,
    scored,
    set_f1,
    token_f1,
)
from evaluation.predictions import Prediction
from text.registry import UnknownName

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Rows = NDArray[np.float64]
    Count = Callable[[Sequence[Prediction]], Rows | None]
    Combine = Callable[[Rows], NDArray[Any]]

RECALL_AT = (1, 2, 5, 10)


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure of a report; a fraction, printed as ``scale`` times it with ``decimals`` places.

    ``count`` makes rows of statistics, shape (predictions, width), None where the metric does not
    apply; ``combine`` takes sums of rows, shape (..., width), to scores of shape (...). ``of_answer`` is what
    one answer is worth against its references, where that can be said: the file of
    predictions keeps it under the metric's name. ``label`` heads a printed column, "" for a figure
    that is in the JSON alone, and ``scorer`` names the line of ``SCORERS`` that says what counts it.
    """

    name: str
    label: str
    count: Count
    combine: Combine
    of_answer: Callable[[str, Sequence[str]], float] | None = None
    scorer: str | None = None
    scale: int = 100
    decimals: int = 2

    def printed(self, fraction: float | None) -> str:
        """The figure in a cell; empty where there is none."""
        return "" if fraction is None else self.printed_as_published(self.scale * fraction)

    def printed_as_published(self, figure: float | None) -> str:
        """As ``printed``, of a figure that is in the metric's unit already."""
        return "" if figure is None else f"{figure:.{self.decimals}f}"

    def as_fraction(self, figure: float) -> float:
        """A figure as papers print it, as the fraction that it stands for."""
        return figure if self.scale == 1 else figure / self.scale


def mean(sums: Rows) -> NDArray[Any]:
    """The mean of summed rows of (value, 1)."""
    import numpy as np

    return np.asarray(sums[..., 0] / sums[..., 1])


def _mean_of(value: Callable[[Prediction], float | bool | None]) -> Count:
    """Rows of (value, 1); none unless every prediction has the value."""

    def count(predictions: Sequence[Prediction]) -> Rows | None:
        import numpy as np

        values = [value(one) for one in predictions]
        if any(one is None for one in values):
            return None
        return np.array([(float(one or 0.0), 1.0) for one in values])

    return count


def _per_answer(
    name: str, label: str, of_answer: Callable[[str, Sequence[str]], float], scorer: str
) -> Metric:
    return Metric(name, label, _mean_of(lambda one: one.scores[name]), mean, of_answer, scorer)


def _bleu_rows(predictions: Sequence[Prediction]) -> Rows:
    return bleu_statistics([one.prediction for one in predictions], [one.references for one in predictions])


def _meteor_rows(predictions: Sequence[Prediction]) -> Rows | None:
    """What METEOR counts as the NarrativeQA paper sums it, then as METEOR 1.5 does; None without Java."""
    import numpy as np

    if meteor.java() is None:
        return None
    answers = [scored(one.prediction) for one in predictions]
    rows = meteor.statistics(answers, [[scored(r) for r in one.references] for one in predictions])
    return np.concatenate([rows, meteor.exempt(rows)], axis=1)  # (predictions, 2 * meteor.WIDTH)


def _best_f(one: Prediction) -> float:
    return max(rouge_l(one.prediction, [reference]) for reference in one.references)


def _first_gold_within(k: int) -> Callable[[Prediction], bool | None]:
    return lambda one: None if one.first_gold is None else 0 < one.first_gold <= k


def _reciprocal_first_gold(one: Prediction) -> float | None:
    return one.first_gold if not one.first_gold else 1 / one.first_gold


# In the order of the printed columns.
METRICS = {
    metric.name: metric
    for metric in (
        Metric("bleu_1", "BLEU-1", _bleu_rows, lambda sums: bleu(sums, 1), scorer="bleu"),
        Metric("bleu_4", "BLEU-4", _bleu_rows, lambda sums: bleu(sums, 4), scorer="bleu"),
        Metric(
            "meteor",
            "METEOR",
            _meteor_rows,
            lambda sums: meteor.scores(sums[..., meteor.WIDTH :]),
            scorer="meteor",
        ),
        _per_answer("rouge_l", "ROUGE-L", rouge_l, "rouge_l"),
        Metric("mrr", "MRR", _mean_of(lambda one: one.reciprocal_rank), mean, scale=1, decimals=3),
        _per_answer("f1", "F1", token_f1, "f1, exact_match"),
        _per_answer("exact_match", "EM", exact_match, "f1, exact_match"),
        _per_answer("accuracy", "accuracy", accuracy, "accuracy"),
        _per_answer("mean_f1", "mean F1", set_f1, "mean_f1"),
        # A perfect answer counts as one chunk.
        Metric("meteor_paper", "", _meteor_rows, lambda sums: meteor.scores(sums[..., : meteor.WIDTH])),
        # The best F over the references, where ROUGE-L takes the best precision and the best recall apart.
        Metric("rouge_l_best_f", "", _mean_of(_best_f), mean),
        *(Metric(f"recall_at_{k}", "", _mean_of(_first_gold_within(k)), mean) for k in RECALL_AT),
        Metric("retrieval_mrr", "", _mean_of(_reciprocal_first_gold), mean, scale=1, decimals=3),
    )
}
# What is said of every search, beside the metrics that a benchmark names.
RETRIEVAL_METRICS = (*(f"recall_at_{k}" for k in RECALL_AT), "retrieval_mrr")


def metrics_named(names: Sequence[str]) -> tuple[Metric, ...]:
    """The metrics of those names, in their order; raises ``UnknownName``."""
    for name in names:
        if name not in METRICS:
            raise UnknownName("metric", name, tuple(METRICS))
    return tuple(METRICS[name] for name in names)


def printed_columns(names: Sequence[str]) -> tuple[Metric, ...]:
    """Those of the metrics so named that are columns of a printed table, in the order of the columns."""
    wanted = {metric.name for metric in metrics_named(names)}
    return tuple(metric for metric in METRICS.values() if metric.label and metric.name in wanted)

"""Whether confidence means what it says: calibration error, ranking, and what answering less would buy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from evaluation.metrics.scoring import Bootstrap, Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RIGHT = 0.5  # ROUGE-L (or what else answers are judged by) from which an answer counts as right
BINS = 10
POINTS = 101  # of the risk-coverage curve that a report keeps


@dataclass(frozen=True, slots=True)
class Bin:
    """The answers of one range of confidence: how many, their mean confidence, and the share right."""

    answers: int
    confidence: float
    right: float


def bins(confidence: NDArray[np.float64], right: NDArray[np.bool_], equal_mass: bool = False) -> list[Bin]:
    """The answers in ``BINS`` ranges of equal width, or of equally many answers; empty ones left out.

    Where answers of equal confidence come to lie in two of the latter, each brings both its share
    of their right ones: the order of the questions changes nothing.
    """
    import numpy as np

    values: NDArray[Any] = right
    if equal_mass:
        _, level = np.unique(confidence, return_inverse=True)
        values = (np.bincount(level, weights=right) / np.bincount(level))[level]
        members = np.array_split(np.argsort(confidence, kind="stable"), BINS)
    else:
        number = _number(confidence)
        members = [np.flatnonzero(number == n) for n in range(BINS)]
    return [
        Bin(len(part), float(confidence[part].mean()), float(values[part].mean()))
        for part in members
        if len(part)
    ]


def _number(confidence: NDArray[np.float64]) -> NDArray[np.int64]:
    """Which bin of equal width each is in."""
    import numpy as np

    # A confidence of 1 is in the last bin, not in one of its own.
    return np.minimum((confidence * BINS).astype(np.int64), BINS - 1)


def calibration_error(found: Sequence[Bin]) -> float:
    """The sum over bins of their share of the answers times |right - confidence|.

    With bins of equal width the expected calibration error (ECE) of Naeini et al. 2015 and Guo et
    al. 2017, equation 3; with bins of equal mass that of Nguyen and O'Connor 2015, section 3.
    """
    answers = sum(one.answers for one in found)
    return sum(one.answers / answers * abs(one.right - one.confidence) for one in found)


def ranking(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> float | None:
    """The probability that a right answer has more confidence than a wrong one (AUROC); ties count half.

    None where all are right, or all wrong.
    """
    from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]

    return float(roc_auc_score(right, confidence)) if 0 < right.sum() < len(right) else None


def risk_coverage(
    confidence: NDArray[np.float64], right: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coverage and risk, shape (answers,): the share of wrong answers among the most confident so many.

    Geifman and El-Yaniv 2017, section 2. Answers of equal confidence are answered together: at each
    of them the risk is that of them all.
    """
    import numpy as np

    order = np.argsort(-confidence, kind="stable")
    wrong = np.cumsum(~right[order])
    many = np.arange(1, len(order) + 1)
    # The last place with the same confidence: nobody can stop between equals.
    level = confidence[order]
    last = np.searchsorted(-level, -level, side="right") - 1
    return many / len(order), wrong[last] / many[last]


def describe(
    confidence: Sequence[float],
    scores: Sequence[float],
    threshold: float,
    stories: Sequence[str],
    seed: int,
    metric: str = "ROUGE-L",
) -> dict[str, Any]:
    """What a report says of confidence in numbers, fractions by name; ``scores`` are those by ``metric``.

    ``answerable`` is what answering only from ``threshold`` on would give: its share of the questions
    and the share of right answers among them. It is reported and never applied to any other score. The
    intervals are those of resampled stories; draws are noisier within bins than the answers
    themselves, so that of ``ece`` leans high.
    """
    import numpy as np

    given = np.asarray(confidence, dtype=float)
    right = np.asarray(scores) >= RIGHT
    _, risk = risk_coverage(given, right)
    answered = given >= threshold
    bootstrap = Bootstrap(stories, seed)
    ece, ece_interval = bootstrap.score(_bin_rows(given, right), _error_of_sums)
    squares = np.stack([(given - right) ** 2, np.ones(len(given))], axis=-1)
    brier, brier_interval = bootstrap.score(squares, lambda sums: sums[..., 0] / sums[..., 1])
    return {
        "right_means": f"{metric} of {RIGHT} or more",
        "right": _rounded(right.mean()),
        "mean": _rounded(given.mean()),
        "ece": _rounded(ece),
        "ece_equal_mass": _rounded(calibration_error(bins(given, right, equal_mass=True))),
        "brier": _rounded(brier),
        "auroc": _rounded(ranking(given, right)),
        "area_under_risk_coverage": _rounded(risk.mean()),
        "risk_at_coverage": {
            str(share): _rounded(risk[max(0, round(share * len(risk)) - 1)]) for share in (0.25, 0.5, 0.75)
        },
        "answerable": {
            "threshold": threshold,
            "share": _rounded(answered.mean()),
            "right": _rounded(right[answered].mean() if answered.any() else None),
        },
        "intervals": {"ece": _both_rounded(ece_interval), "brier": _both_rounded(brier_interval)},
    }


def drawn(confidence: Sequence[float], scores: Sequence[float]) -> dict[str, Any]:
    """What the plots of confidence are drawn from: bins of equal width, and points of (coverage, risk)."""
    import numpy as np

    given = np.asarray(confidence, dtype=float)
    right = np.asarray(scores) >= RIGHT
    coverage, risk = risk_coverage(given, right)
    return {
        "bins": [asdict(one) for one in bins(given, right)],
        "curve": [
            [_rounded(coverage[i]), _rounded(risk[i])]
            for i in np.unique(np.linspace(0, len(risk) - 1, POINTS).astype(int))
        ],
    }


def _bin_rows(confidence: NDArray[np.float64], right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Per answer, 1, its confidence and whether it is right, in the columns of its bin: (answers, 3 bins)."""
    import numpy as np

    rows = np.zeros((len(confidence), BINS, 3))
    rows[np.arange(len(rows)), _number(confidence)] = np.stack(
        [np.ones(len(rows)), confidence, right], axis=-1
    )
    return rows.reshape(len(rows), -1)


def _error_of_sums(sums: NDArray[np.float64]) -> NDArray[Any]:
    """``calibration_error`` of summed ``_bin_rows``, shape (..., 3 bins) to (...)."""
    import numpy as np

    answers, confidence, right = np.moveaxis(sums.reshape(*sums.shape[:-1], BINS, 3), -1, 0)
    return np.asarray(np.abs(right - confidence).sum(axis=-1) / answers.sum(axis=-1))


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), 6)


def _both_rounded(interval: Interval | None) -> list[float] | None:
    return None if interval is None else [round(bound, 6) for bound in interval]

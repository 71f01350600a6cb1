"""Whether a probe found skills worse than an earlier one did, question by question."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.benchmarks.files import DataError

LEVEL = 0.05
_SAME = {"tasks": "--tasks", "per_task": "--per-task", "seed": "--seed", "inside": "--inside"}


def read_baseline(path: Path) -> dict[str, Any]:
    """The result of an earlier probe, as ``--json`` printed it; raises ``DataError`` for any other file."""
    try:
        result = json.loads(path.read_text("utf-8"))
        rights = {one["task"]: one["right"] for one in result["skills"]}
        whole = [*rights] == result["tasks"] and all(
            len(right) == result["per_task"] and set(right) <= set("01") for right in rights.values()
        )
        if not whole or not {*_SAME, "fingerprint"} <= set(result):
            raise ValueError("skills, tasks and per_task do not fit one another")
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        reason = f"no {error} in it" if isinstance(error, KeyError) else error
        raise DataError(
            f"{path} is no result of a probe ({reason}); make one: storyqa probe --json > {path}"
        ) from None
    return dict(result)


def check_same(result: Mapping[str, Any], baseline: Mapping[str, Any], path: Path) -> None:
    """Raise ``DataError``, which says what differs, unless both were asked the same questions."""
    differing = [
        f"{option} {_written(baseline[name])} and not {_written(result[name])}"
        for name, option in _SAME.items()
        if baseline[name] != result[name]
    ]
    if not differing and baseline["fingerprint"] != result["fingerprint"]:
        differing = ["other questions, by another version of storyqa or of the book"]
    if differing:
        raise DataError(f"the baseline {path} has {', '.join(differing)}; probe both with the same")


def _written(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return "none" if value is None else str(value)


def worse_than(baseline: Mapping[str, Any], result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The skills that are significantly worse than in the baseline, both of the same questions.

    McNemar's exact test (1947) of each skill, one-sided, on the questions that only one of both has right,
    at a level of .05 over all skills by Holm's correction (1979); ``p`` is corrected.
    """
    before = [one["right"] for one in baseline["skills"]]
    now = [one["right"] for one in result["skills"]]
    corrected = holm([mcnemar(*both) for both in zip(before, now, strict=True)])
    return [
        {
            "task": one["task"],
            "name": one["name"],
            "questions": one["questions"],
            "right": one["right"].count("1"),
            "right_before": was.count("1"),
            "p": p,
        }
        for one, was, p in zip(result["skills"], before, corrected, strict=True)
        if p <= LEVEL
    ]


def mcnemar(before: str, now: str) -> float:
    """How probable so many lost questions are, at least, where a change is as often for the better."""
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    both = list(zip(before, now, strict=True))
    lost, won = both.count(("1", "0")), both.count(("0", "1"))
    return float(binomtest(lost, lost + won, alternative="greater").pvalue) if lost + won else 1.0


def holm(values: Sequence[float]) -> list[float]:
    """Each p-value as it counts where all of them are tested at once (Holm 1979)."""
    corrected = [0.0] * len(values)
    least = 0.0
    for rank, i in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        least = max(least, min(1.0, (len(values) - rank) * values[i]))
        corrected[i] = least
    return corrected

"""The outcome of a run: one object that holds all there is to say of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from answering.ask import ANSWERABLE
from evaluation.benchmarks.benchmark import Benchmark
from evaluation.benchmarks.holdout import HELD_OUT
from evaluation.benchmarks.narrativeqa import HALVES, TRAINED_ON, half
from evaluation.metrics import calibration, meteor
from evaluation.metrics.scoring import RECALL_AT, Interval, Scores, meteor_rows, score
from evaluation.predictions import Prediction
from evaluation.published.papers import PUBLISHED

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# What the default models were trained on besides, all but what is held out.
_TRAINING = {("fairytaleqa", "train"), ("squad", "train-v1.1")}


def outcome(
    benchmark: Benchmark,
    predictions: Sequence[Prediction],
    settings: Mapping[str, Any],
    command: str,
    answerable: float = ANSWERABLE,
) -> dict[str, Any]:
    """Everything about a finished run that ``--json`` prints and ``scores.json`` keeps.

    The scores are fractions, or None where they do not apply; ``intervals`` has the same names.
    ``answerable`` is the confidence of which ``evaluation.metrics.calibration`` says what it would give.
    """
    seed = int(settings["seed"])
    rows = meteor_rows(predictions)
    scores = score(predictions, seed, rows)
    stories = dict.fromkeys(one.story for one in predictions)
    return {
        "questions": len(predictions),
        "stories": len(stories),
        **_scores(scores.values),
        "intervals": _scores(scores.intervals),
        "by_kind": _by_kind(predictions, seed),
        "by_half": _by_half(benchmark, predictions, seed, rows, answerable),
        "confidence": _confidence(predictions, seed, answerable)
        | calibration.drawn([p.confidence for p in predictions], [p.rouge_l for p in predictions]),
        "evidence_checked": sum(one.evidence_right is not None for one in predictions),
        "evidence_wrong": sum(one.evidence_right is False for one in predictions),
        **settings,
        "documents": [{"story": story, "title": benchmark.titles[story]} for story in stories],
        "left_out": [
            {"story": one.story, "title": one.title, "questions": one.questions, "reason": one.reason}
            for one in benchmark.left_out
        ],
        "notes": _notes(benchmark, predictions, scores),
        "scorers": _scorers(),
        "command": command,
    }


def _scores(by_name: Mapping[str, float | Interval | None]) -> dict[str, Any]:
    rounded = {name: _rounded(value) for name, value in by_name.items()}
    recall = {str(k): rounded.pop(f"recall_at_{k}") for k in RECALL_AT}
    return {**rounded, "recall_at": recall}


def _rounded(value: float | Interval | None) -> float | list[float] | None:
    if isinstance(value, tuple):
        return [round(bound, 6) for bound in value]
    return None if value is None else round(value, 6)


def _by_kind(predictions: Sequence[Prediction], seed: int) -> dict[str, Any]:
    """Scores of explicit and implicit questions apart, where the data set tells them apart."""
    kinds = sorted({one.kind for one in predictions if one.kind})
    wanted = ("rouge_l", "f1", "exact_match")
    result: dict[str, Any] = {}
    for kind in kinds:
        members = [one for one in predictions if one.kind == kind]
        scores = score(members, seed)
        result[kind] = {
            "questions": len(members),
            **{name: _rounded(scores.values[name]) for name in wanted},
            "intervals": {name: _rounded(scores.intervals[name]) for name in wanted},
        }
    return result


def _by_half(
    benchmark: Benchmark,
    predictions: Sequence[Prediction],
    seed: int,
    rows: NDArray[np.float64] | None,
    answerable: float,
) -> dict[str, Any]:
    """The scores of both halves of NarrativeQA valid, for the default models were trained on the first."""
    if (benchmark.name, benchmark.split, benchmark.part) != ("narrativeqa", "valid", None):
        return {}
    result: dict[str, Any] = {}
    for name in HALVES:
        numbers = [i for i, one in enumerate(predictions) if half(one.story) == name]
        if numbers:
            members = [predictions[i] for i in numbers]
            scores = score(members, seed, None if rows is None else rows[numbers])
            result[name] = {
                "questions": len(members),
                "stories": len({one.story for one in members}),
                "trained_on": name == TRAINED_ON,
                **_scores(scores.values),
                "intervals": _scores(scores.intervals),
                "confidence": _confidence(members, seed, answerable),
            }
    return result


def _confidence(predictions: Sequence[Prediction], seed: int, answerable: float) -> dict[str, Any]:
    return calibration.describe(
        [one.confidence for one in predictions],
        [one.rouge_l for one in predictions],
        answerable,
        [one.story for one in predictions],
        seed,
    )


def _notes(benchmark: Benchmark, predictions: Sequence[Prediction], scores: Scores) -> list[str]:
    """What a reader of the figures has to know."""
    notes = []
    whole = PUBLISHED.get((benchmark.name, benchmark.split))
    stories = len({one.story for one in predictions})
    if whole is not None and (stories, len(predictions)) != whole:
        notes.append(
            f"these are {len(predictions):,} of the split's {whole[1]:,} questions, "
            f"{stories} of its {whole[0]:,} stories"
        )
    notes += _trained_on(benchmark)
    if benchmark.name == "narrativeqa" and benchmark.setting != "summaries":
        notes.append("the paper's rows are on all stories of the split, film scripts included")
    if scores.values["meteor"] is None:
        notes.append("no METEOR: it needs java, which is not on the path")
    elif benchmark.name == "narrativeqa":
        notes.append(
            "METEOR is 1.5's; summed as the paper's rows are, a perfect answer counting as one chunk, "
            f"it is {100 * (scores.values['meteor_paper'] or 0):.2f}"
        )
    return notes


def _trained_on(benchmark: Benchmark) -> list[str]:
    """What of the benchmark the default models have seen."""
    if benchmark.part == HELD_OUT:
        return ["held-out stories of the training data: for choosing, not for reporting"]
    if (benchmark.name, benchmark.split) in _TRAINING:
        return ["the default models were trained on this split: for them these are no clean figures"]
    if (benchmark.name, benchmark.split) != ("narrativeqa", "valid") or benchmark.part == "half B":
        return []
    seen = f"the default models were trained on half {TRAINED_ON} (documents whose id begins with 0 to 7)"
    if benchmark.part is not None:
        return [f"{seen}: for them these are no clean figures"]
    return [f"{seen}, so the row of the whole split is no clean figure for them: quote half B's"]


def _scorers() -> dict[str, str]:
    coco = f"pycocoevalcap {version('pycocoevalcap')}"
    return {
        "bleu": f"{coco}, corpus, closest reference length",
        "rouge_l": f"{coco}, mean over questions, beta 1.2",
        "meteor": f"METEOR 1.5 (-l en -norm) of {coco}" if meteor.java() else "none: java is missing",
        "f1, exact_match": "SQuAD v1.1",
        "tokens": "storyqa: lower case, punctuation apart, no quotation marks, no final full stop",
        "intervals": "95 %, 1,000 bootstrap resamples of stories",
        "ece": "10 bins of equal width, Guo et al. 2017; equal mass: Nguyen and O'Connor 2015",
        "auroc": "a right answer above a wrong one, by confidence",
        "area_under_risk_coverage": "Geifman and El-Yaniv 2017: mean risk over all coverages",
    }


def title_of(result: Mapping[str, Any]) -> str:
    """Such as ``"narrativeqa valid, summaries"``."""
    part = f", {result['part']}" if result["part"] else ""
    return f"{result['benchmark']} {result['split']}{part}, {result['setting']}"


def system_name(result: Mapping[str, Any]) -> str:
    """Such as ``"storyqa: span, hybrid, k=5"``."""
    searched = f", {result['retriever']}, k={result['k']}" if result["retriever"] else ""
    return f"storyqa: {result['reader']}{searched}"

"""The outcome of a run: one object that holds all there is to say of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from evaluation.benchmarks.benchmark import Benchmark, Question, kinds_of
from evaluation.metrics import calibration, meteor
from evaluation.metrics.lengths import by_length
from evaluation.metrics.metric import METRICS, RECALL_AT, RETRIEVAL_METRICS, metrics_named
from evaluation.metrics.scoring import Interval, Scores, count, score
from evaluation.predictions import Prediction
from evaluation.published.figures import published, rows_beside

if TYPE_CHECKING:
    from evaluation.metrics.metric import Rows

_FOLDERS = re.compile(r":(?=[~./])[^@]*/(?=[^/@])")

_ABOUT_CONFIDENCE = {
    "intervals": "95 %, 1,000 bootstrap resamples of stories",
    "ece": "10 bins of equal width, Guo et al. 2017; equal mass: Nguyen and O'Connor 2015",
    "auroc": "a right answer above a wrong one, by confidence",
    "area_under_risk_coverage": "Geifman and El-Yaniv 2017: mean risk over all coverages",
}


def outcome(
    benchmark: Benchmark,
    predictions: Sequence[Prediction],
    settings: Mapping[str, Any],
    command: str,
    answerable: float,
) -> dict[str, Any]:
    """Everything about a finished run that ``--json`` prints and ``scores.json`` keeps.

    The scores are fractions, or None where they do not apply; ``intervals`` has the same names.
    ``answerable`` is the confidence of which ``evaluation.metrics.calibration`` says what it would give.
    """
    seed = int(settings["seed"])
    metrics = metrics_named([*benchmark.metrics, *RETRIEVAL_METRICS])
    counted = count(predictions, metrics)
    scores = score(counted, metrics, [one.story for one in predictions], seed)
    stories = dict.fromkeys(one.story for one in predictions)
    return {
        "questions": len(predictions),
        "stories": len(stories),
        **_nested(scores.values),
        "intervals": _nested(scores.intervals),
        "bounds": _bounds(benchmark, predictions),
        "by_kind": _by_kind(benchmark, predictions, seed),
        "by_length": _by_length(benchmark, predictions),
        "by_half": _by_half(benchmark, predictions, seed, counted, answerable),
        "confidence": _confidence(benchmark, predictions, seed, answerable)
        | calibration.drawn([p.confidence for p in predictions], _main_scores(benchmark, predictions)),
        "evidence_checked": sum(one.evidence_right is not None for one in predictions),
        "evidence_wrong": sum(one.evidence_right is False for one in predictions),
        **settings,
        "documents": [{"story": story, "title": benchmark.titles[story]} for story in stories],
        "left_out": [
            {"story": one.story, "title": one.title, "questions": one.questions, "reason": one.reason}
            for one in benchmark.left_out
        ],
        "notes": _notes(benchmark, predictions, scores),
        "scorers": _scorers(benchmark),
        "command": command,
    }


def _nested(by_name: Mapping[str, float | Interval | None]) -> dict[str, Any]:
    """Rounded, recall at each k under one name."""
    rounded = {name: _rounded(value) for name, value in by_name.items()}
    recall = {str(k): rounded.pop(f"recall_at_{k}") for k in RECALL_AT}
    return {**rounded, "recall_at": recall}


def _rounded(value: float | Interval | None) -> float | list[float] | None:
    if isinstance(value, tuple):
        return [round(bound, 6) for bound in value]
    return None if value is None else round(value, 6)


def _bounds(benchmark: Benchmark, predictions: Sequence[Prediction]) -> dict[str, float]:
    """How right the best answers would be to what was asked, where the benchmark says so."""
    if benchmark.bounds is None:
        return {}
    found = benchmark.bounds(_asked(benchmark, predictions))
    return {name: round(value, 6) for name, value in found.items()}


def _asked(benchmark: Benchmark, predictions: Sequence[Prediction]) -> list[Question]:
    """The benchmark's questions that there are predictions of."""
    ids = {one.id for one in predictions}
    return [question for question in benchmark.questions if question.id in ids]


def _by_kind(benchmark: Benchmark, predictions: Sequence[Prediction], seed: int) -> dict[str, Any]:
    """Scores of each kind of question apart (such as explicit and implicit), where there are kinds."""
    metrics = [metric for metric in metrics_named(benchmark.metrics) if metric.of_answer is not None]
    result: dict[str, Any] = {}
    for kind in sorted({kind for one in predictions for kind in kinds_of(one.kind)}):
        members = [one for one in predictions if kind in kinds_of(one.kind)]
        scores = score(count(members, metrics), metrics, [one.story for one in members], seed)
        result[kind] = {
            "questions": len(members),
            **{name: _rounded(value) for name, value in scores.values.items()},
            "intervals": {name: _rounded(interval) for name, interval in scores.intervals.items()},
        }
    return result


def _by_length(benchmark: Benchmark, predictions: Sequence[Prediction]) -> list[dict[str, Any]]:
    """How right the choices are by the length of what was read, where there are candidates."""
    if not benchmark.has_candidates:
        return []
    text = lru_cache(maxsize=2)(lambda id: benchmark.books[id]().text)
    words = [sum(len(text(one.book)[s:e].split()) for s, e in one.passages) for one in predictions]
    right = [value >= calibration.RIGHT for value in _main_scores(benchmark, predictions)]
    return [asdict(part) for part in by_length(words, right)]


def _by_half(
    benchmark: Benchmark,
    predictions: Sequence[Prediction],
    seed: int,
    counted: Mapping[str, Rows | None],
    answerable: float,
) -> dict[str, Any]:
    """The scores of each half where the default models were trained on one of them."""
    if benchmark.half_of is None:
        return {}
    halves = [benchmark.half_of(one.story) for one in predictions]
    metrics = metrics_named(list(counted))
    result: dict[str, Any] = {}
    for name in sorted(set(halves)):
        numbers = [i for i, half in enumerate(halves) if half == name]
        members = [predictions[i] for i in numbers]
        of_half = {metric: None if rows is None else rows[numbers] for metric, rows in counted.items()}
        scores = score(of_half, metrics, [one.story for one in members], seed)
        result[name] = {
            "questions": len(members),
            "stories": len({one.story for one in members}),
            "trained_on": name == benchmark.trained_half,
            **_nested(scores.values),
            "intervals": _nested(scores.intervals),
            "confidence": _confidence(benchmark, members, seed, answerable),
        }
    return result


def _main_scores(benchmark: Benchmark, predictions: Sequence[Prediction]) -> list[float]:
    """What each answer is worth by the metric that decides whether it is right."""
    return [one.scores[benchmark.metrics[0]] for one in predictions]


def _confidence(
    benchmark: Benchmark, predictions: Sequence[Prediction], seed: int, answerable: float
) -> dict[str, Any]:
    return calibration.describe(
        [one.confidence for one in predictions],
        _main_scores(benchmark, predictions),
        answerable,
        [one.story for one in predictions],
        seed,
        METRICS[benchmark.metrics[0]].label,
    )


def _notes(benchmark: Benchmark, predictions: Sequence[Prediction], scores: Scores) -> list[str]:
    """What a reader of the figures has to know."""
    notes = []
    known = None if benchmark.made else published(benchmark.name)
    whole = known and known.size(benchmark.split, {one.kind for one in predictions})
    stories = len({one.story for one in predictions})
    # Questions that name no story, as those of some data sets, count as one each: more than there are.
    if whole and (min(stories, whole.stories), len(predictions)) != (whole.stories, whole.questions):
        of_stories = f", {stories} of its {whole.stories:,} stories" if stories <= whole.stories else ""
        notes.append(
            f"these are {len(predictions):,} of the split's {whole.questions:,} questions{of_stories}"
        )
    notes += benchmark.notes
    if benchmark.has_candidates:
        chances = [1 / len(question.candidates) for question in _asked(benchmark, predictions)]
        notes.append(f"a choice by chance is right for {sum(chances) / len(chances):.1%} of the questions")
    table = rows_beside(benchmark.name, benchmark.split, benchmark.setting)
    if table and table.note:
        notes.append(table.note)
    if "meteor" in benchmark.metrics and scores.values["meteor"] is None:
        notes.append("no METEOR: it needs java, which is not on the path")
    elif table and table.counted_by.get("meteor") == "meteor_paper":
        notes.append(
            "METEOR is 1.5's; summed as the paper's rows are, a perfect answer counting as one chunk, "
            f"it is {100 * (scores.values['meteor_paper'] or 0):.2f}"
        )
    return notes


def _scorers(benchmark: Benchmark) -> dict[str, str]:
    """What the metrics of the benchmark are counted by."""
    coco = f"pycocoevalcap {version('pycocoevalcap')}"
    by_name = {
        "bleu": f"{coco}, corpus, closest reference length",
        "rouge_l": f"{coco}, mean over questions, beta 1.2",
        "meteor": f"METEOR 1.5 (-l en -norm) of {coco}" if meteor.java() else "none: java is missing",
        "f1, exact_match": "SQuAD v1.1",
        "accuracy": "the share of answers that are a right one",
        "mean_f1": "Hewlett et al. 2016: F1 of the set of answers, mean over questions",
    }
    used = {metric.scorer for metric in metrics_named(benchmark.metrics)}
    tokens = "storyqa: lower case, punctuation apart, no quotation marks, no final full stop"
    return {
        **{name: said for name, said in by_name.items() if name in used},
        **({"tokens": tokens} if "rouge_l" in used else {}),
        **_ABOUT_CONFIDENCE,
    }


def title_of(result: Mapping[str, Any]) -> str:
    """Such as ``"narrativeqa valid, summaries"``."""
    part = f", {result['part']}" if result["part"] else ""
    return f"{result['benchmark']} {result['split']}{part}, {result['setting']}"


def system_name(result: Mapping[str, Any]) -> str:
    """Such as ``"storyqa: span, hybrid, k=5"``; of a reader's folder the last name."""
    searched = f", {result['retriever']}, k={result['k']}" if result["retriever"] else ""
    return f"storyqa: {_FOLDERS.sub(':', result['reader'])}{searched}"

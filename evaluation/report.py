"""The outcome of a run: one object for machines, tables for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from evaluation import meteor
from evaluation.papers import PUBLISHED, PaperRow, paper_rows
from evaluation.predictions import Prediction
from evaluation.questions import Benchmark
from evaluation.scoring import RECALL_AT, Interval, Scores, score

if TYPE_CHECKING:
    from rich.console import Console

_COLUMNS = {
    "bleu_1": "BLEU-1",
    "bleu_4": "BLEU-4",
    "meteor": "METEOR",
    "rouge_l": "ROUGE-L",
    "mrr": "MRR",
    "f1": "F1",
    "exact_match": "EM",
}


def outcome(
    benchmark: Benchmark,
    predictions: Sequence[Prediction],
    settings: Mapping[str, Any],
    command: str,
) -> dict[str, Any]:
    """Everything about a finished run that ``--json`` prints and ``scores.json`` keeps.

    The scores are fractions, or None where they do not apply; ``intervals`` has the same names.
    """
    seed = int(settings["seed"])
    scores = score(predictions, seed)
    stories = dict.fromkeys(one.story for one in predictions)
    return {
        "questions": len(predictions),
        "stories": len(stories),
        **_scores(scores.values),
        "intervals": _scores(scores.intervals),
        "by_kind": _by_kind(predictions, seed),
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
        scores = score(members, seed, with_meteor=False)
        result[kind] = {
            "questions": len(members),
            **{name: _rounded(scores.values[name]) for name in wanted},
            "intervals": {name: _rounded(scores.intervals[name]) for name in wanted},
        }
    return result


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
    if benchmark.name == "narrativeqa" and benchmark.setting == "stories":
        notes.append("the paper's rows are on all stories of the split, film scripts included")
    if scores.values["meteor"] is None:
        notes.append("no METEOR: it needs java, which is not on the path")
    elif benchmark.name == "narrativeqa":
        notes.append(
            "METEOR is 1.5's; summed as the paper's rows are, a perfect answer counting as one chunk, "
            f"it is {100 * (scores.values['meteor_paper'] or 0):.2f}"
        )
    return notes


def _scorers() -> dict[str, str]:
    coco = f"pycocoevalcap {version('pycocoevalcap')}"
    return {
        "bleu": f"{coco}, corpus, closest reference length",
        "rouge_l": f"{coco}, mean over questions, beta 1.2",
        "meteor": f"METEOR 1.5 (-l en -norm) of {coco}" if meteor.java() else "none: java is missing",
        "f1, exact_match": "SQuAD v1.1",
        "tokens": "storyqa: lower case, punctuation apart, no quotation marks, no final full stop",
        "intervals": "95 %, 1,000 bootstrap resamples of stories",
    }


def print_outcome(result: Mapping[str, Any], console: Console) -> None:
    """The tables and notes of one outcome."""
    from rich.markup import escape

    rows = paper_rows(result["benchmark"], result["split"], result["setting"])
    console.print(_answers_table(result, rows))
    if result["recall_at"]["1"] is not None:
        console.print(_retrieval_table(result))
    if result["by_kind"]:
        parts = (
            f"{kind} {100 * scores['rouge_l']:.2f} ({scores['questions']:,})"
            for kind, scores in result["by_kind"].items()
        )
        console.print(f"ROUGE-L by kind of question: {', '.join(parts)}", highlight=False)
    for note in result["notes"]:
        console.print(f"note: {note}", style="dim", highlight=False)
    for reason, members in _by_reason(result["left_out"]).items():
        titles = ", ".join(one["title"] for one in members[:6]) + (", ..." if len(members) > 6 else "")
        questions = sum(one["questions"] for one in members)
        text = f"left out, {reason}: {len(members)} documents with {questions:,} questions ({titles})"
        console.print(escape(text), style="dim", highlight=False)
    wrong = result["evidence_wrong"]
    console.print(
        f"evidence: the text cited is in the book, at the place cited, "
        f"for {result['evidence_checked'] - wrong:,} of {result['evidence_checked']:,} answers",
        style="bold red" if wrong else "",
        highlight=False,
    )


def _by_reason(left_out: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for one in left_out:
        grouped.setdefault(one["reason"].partition(":")[0], []).append(one)
    return grouped


def title_of(result: Mapping[str, Any]) -> str:
    """Such as ``"narrativeqa valid, summaries"``."""
    return f"{result['benchmark']} {result['split']}, {result['setting']}"


def system_name(result: Mapping[str, Any]) -> str:
    """Such as ``"storyqa: span, hybrid, k=5"``."""
    searched = f", {result['retriever']}, k={result['k']}" if result["retriever"] else ""
    return f"storyqa: {result['reader']}{searched}"


def _answers_table(result: Mapping[str, Any], rows: Sequence[PaperRow]) -> Any:
    from rich.table import Table

    title = f"{title_of(result)}: {result['questions']:,} questions, {result['stories']} stories"
    table = Table(title=title, title_justify="left", caption=_sources(rows), caption_justify="left")
    columns = [
        name
        for name in _COLUMNS
        if result[name] is not None or any(getattr(row, name) is not None for row in rows)
    ]
    table.add_column("")
    for name in columns:
        table.add_column(_COLUMNS[name], justify="right")
    for row in rows:
        table.add_row(row.system, *(_printed(name, getattr(row, name)) for name in columns))
    if rows:
        table.add_section()
    ours = (_printed(name, _percent(name, result[name])) for name in columns)
    table.add_row(system_name(result), *ours, style="bold")
    for label, end in (("  95 % interval, from", 0), ("  to", 1)):
        bounds = ((name, result["intervals"][name]) for name in columns)
        cells = (
            "" if bound is None else _printed(name, _percent(name, bound[end])) for name, bound in bounds
        )
        table.add_row(label, *cells, style="dim")
    return table


def _retrieval_table(result: Mapping[str, Any]) -> Any:
    from rich.table import Table

    table = Table(title=f"retrieval: {result['retriever']}", title_justify="left")
    for name in (*(f"R@{k}" for k in RECALL_AT), "MRR"):
        table.add_column(name, justify="right")
    intervals = result["intervals"]
    values = [*(result["recall_at"].values()), result["retrieval_mrr"]]
    bounds = [*(intervals["recall_at"].values()), intervals["retrieval_mrr"]]
    table.add_row(*(f"{value:.3f}" for value in values), style="bold")
    table.add_row(*("" if b is None else f"{b[0]:.3f}-{b[1]:.3f}" for b in bounds), style="dim")
    return table


def _percent(name: str, value: float | None) -> float | None:
    return value if value is None or name == "mrr" else 100 * value


def _printed(name: str, value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3f}" if name == "mrr" else f"{value:.2f}"


def _sources(rows: Sequence[PaperRow]) -> str | None:
    sources = dict.fromkeys(row.source for row in rows)
    return f"other rows: {'; '.join(sources)}" if sources else None

"""What of an outcome is printed for people: tables, confidence and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evaluation.metrics.scoring import RECALL_AT
from evaluation.published.papers import PaperRow, paper_rows
from evaluation.report import system_name, title_of

if TYPE_CHECKING:
    from rich.console import Console

COLUMN_NAMES = {
    "bleu_1": "BLEU-1",
    "bleu_4": "BLEU-4",
    "meteor": "METEOR",
    "rouge_l": "ROUGE-L",
    "mrr": "MRR",
    "f1": "F1",
    "exact_match": "EM",
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
    for where, scores in (("", result), *((f", half {n}", one) for n, one in result["by_half"].items())):
        console.print(f"confidence{where}: {_confidence_line(scores['confidence'])}", highlight=False)
    console.print(_answerable_line(result["confidence"]), highlight=False)
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


def _answers_table(result: Mapping[str, Any], rows: Sequence[PaperRow]) -> Any:
    from rich.table import Table

    title = f"{title_of(result)}: {result['questions']:,} questions, {result['stories']} stories"
    table = Table(title=title, title_justify="left", caption=_sources(rows), caption_justify="left")
    columns = [
        name
        for name in COLUMN_NAMES
        if result[name] is not None or any(getattr(row, name) is not None for row in rows)
    ]
    table.add_column("")
    for name in columns:
        table.add_column(COLUMN_NAMES[name], justify="right")
    for row in rows:
        table.add_row(row.system, *(printed(name, getattr(row, name)) for name in columns))
    if rows:
        table.add_section()
    _add_scores(table, system_name(result), result, columns, "bold")
    for half, scores in result["by_half"].items():
        trained_on = scores["trained_on"]
        label = f"half {half} ({'trained on' if trained_on else 'not trained on): quote it'}"
        _add_scores(table, label + ")" * trained_on, scores, columns, "dim" if trained_on else "bold")
    return table


def _add_scores(
    table: Any, label: str, scores: Mapping[str, Any], columns: Sequence[str], style: str
) -> None:
    """A row of scores, and the two of the bounds of their intervals."""
    table.add_row(label, *(printed(name, percent(name, scores[name])) for name in columns), style=style)
    for bound, end in (("  95 % interval, from", 0), ("  to", 1)):
        bounds = ((name, scores["intervals"][name]) for name in columns)
        cells = ("" if both is None else printed(name, percent(name, both[end])) for name, both in bounds)
        table.add_row(bound, *cells, style="dim")


def _confidence_line(confidence: Mapping[str, Any]) -> str:
    interval = confidence["intervals"]["ece"]
    bounds = "" if interval is None else f" [{interval[0]:.3f}, {interval[1]:.3f}]"
    return (
        f"ECE {confidence['ece']:.3f}{bounds}, of equal mass {confidence['ece_equal_mass']:.3f}, "
        f"Brier {confidence['brier']:.3f}, AUROC {_or_none(confidence['auroc'])}, "
        f"AURC {confidence['area_under_risk_coverage']:.3f}"
    )


def _answerable_line(confidence: Mapping[str, Any]) -> str:
    answerable = confidence["answerable"]
    right = "" if answerable["right"] is None else f", {answerable['right']:.1%} of them right"
    return (
        f"from confidence {answerable['threshold']:g} on: {answerable['share']:.1%} of the answers{right}; "
        f"{confidence['right']:.1%} of all are ({confidence['right_means']})"
    )


def _or_none(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


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


def percent(name: str, value: float | None) -> float | None:
    """A score as it is printed: MRR as the fraction that it is, the others in hundredths."""
    return value if value is None or name == "mrr" else 100 * value


def printed(name: str, value: float | None) -> str:
    """The figure in a cell, empty where there is none."""
    if value is None:
        return ""
    return f"{value:.3f}" if name == "mrr" else f"{value:.2f}"


def _sources(rows: Sequence[PaperRow]) -> str | None:
    sources = dict.fromkeys(row.source for row in rows)
    return f"other rows: {'; '.join(sources)}" if sources else None

"""What of an outcome is printed for people: tables, confidence and notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evaluation.metrics.metric import METRICS, RECALL_AT, Metric, printed_columns
from evaluation.published.figures import Table, rows_beside
from evaluation.report import system_name, title_of

if TYPE_CHECKING:
    from rich.console import Console


def print_outcome(result: Mapping[str, Any], metrics: Sequence[str], console: Console) -> None:
    """The tables and notes of one outcome, whose benchmark names ``metrics``."""
    beside = rows_beside(result["benchmark"], result["split"], result["setting"])
    console.print(_answers_table(result, printed_columns(metrics), beside))
    if result["recall_at"]["1"] is not None:
        console.print(_retrieval_table(result))
    if result["by_kind"]:
        main = METRICS[metrics[0]]
        parts = (
            f"{kind} {main.printed(scores[main.name])} ({scores['questions']:,})"
            for kind, scores in result["by_kind"].items()
        )
        text = f"{main.label} by kind of question: {', '.join(parts)}"
        console.print(text, highlight=False, markup=False)
    if result["bounds"]:
        main = METRICS[metrics[0]]
        best = ", ".join(
            f"{name.replace('_', ' ')} {main.printed(value)}" for name, value in result["bounds"].items()
        )
        console.print(f"{main.label} at best, by what is answered: {best}", highlight=False)
    for where, scores in (("", result), *((f", half {n}", one) for n, one in result["by_half"].items())):
        console.print(f"confidence{where}: {_confidence_line(scores['confidence'])}", highlight=False)
    console.print(_answerable_line(result["confidence"]), highlight=False)
    for note in result["notes"]:
        console.print(f"note: {note}", style="dim", highlight=False, markup=False)
    for reason, members in _by_reason(result["left_out"]).items():
        titles = ", ".join(one["title"] for one in members[:6]) + (", ..." if len(members) > 6 else "")
        questions = sum(one["questions"] for one in members)
        text = f"left out, {reason}: {len(members)} documents with {questions:,} questions ({titles})"
        console.print(text, style="dim", highlight=False, markup=False)
    wrong = result["evidence_wrong"]
    if result["evidence_checked"]:
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


def _answers_table(result: Mapping[str, Any], metrics: Sequence[Metric], beside: Table | None) -> Any:
    import rich.table
    from rich.markup import escape

    title = f"{escape(title_of(result))}: {result['questions']:,} questions, {result['stories']} stories"
    caption = f"other rows: {beside.source}" if beside else None
    table = rich.table.Table(title=title, title_justify="left", caption=caption, caption_justify="left")
    rows = () if beside is None else [(row.system, row.printed(result["split"])) for row in beside.rows]
    columns = [
        metric
        for metric in metrics
        if result[metric.name] is not None or any(metric.name in figures for _, figures in rows)
    ]
    table.add_column("")
    for metric in columns:
        table.add_column(metric.label, justify="right")
    for system, figures in rows:
        table.add_row(system, *(metric.printed_as_published(figures.get(metric.name)) for metric in columns))
    if rows:
        table.add_section()
    _add_scores(table, escape(system_name(result)), result, columns, "bold")
    for half, scores in result["by_half"].items():
        trained_on = scores["trained_on"]
        label = f"half {half} (trained on)" if trained_on else f"half {half} (not trained on): quote it"
        _add_scores(table, label, scores, columns, "dim" if trained_on else "bold")
    return table


def _add_scores(
    table: Any, label: str, scores: Mapping[str, Any], columns: Sequence[Metric], style: str
) -> None:
    """A row of scores, and the two of the bounds of their intervals."""
    table.add_row(label, *(metric.printed(scores[metric.name]) for metric in columns), style=style)
    add_interval(table, "  95 % interval, from", "  to", scores["intervals"], columns)


def add_interval(
    table: Any, low: str, high: str, intervals: Mapping[str, Any], columns: Sequence[Metric]
) -> None:
    """Two rows, labelled ``low`` and ``high``, of the bounds of the intervals by metric's name."""
    for label, end in ((low, 0), (high, 1)):
        bounds = ((metric, intervals.get(metric.name)) for metric in columns)
        cells = ("" if both is None else metric.printed(both[end]) for metric, both in bounds)
        table.add_row(label, *cells, style="dim")


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

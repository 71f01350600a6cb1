"""A reproduced table as it is printed for people: the paper's figures, and ours in bold below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evaluation.measured import Measured
from evaluation.metrics.metric import Metric
from evaluation.published.figures import MEAN
from evaluation.reproduction import Reproduction
from evaluation.tables import add_interval

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDE = 12  # columns, from which on the table is printed with its systems as columns
_LABEL = 20  # characters, of a line that is called as a question


def print_reproduction(
    reproduction: Reproduction, measured: Sequence[Measured], bounds: Mapping[str, float], out: Console
) -> None:
    """Print the table, what measures each row by itself or what that wants, and what is to be known."""
    wide = len(reproduction.table.measures) >= _WIDE
    out.print((_by_column if wide else _by_system)(reproduction, measured))
    for number, one in enumerate(measured, 1):
        out.print(f"{number:2} {one.command}", markup=False, soft_wrap=True)
        if one.missing:
            out.print(f"   {one.missing}", markup=False, soft_wrap=True, style="dim")
    for note in (*_notes(reproduction, measured), *_bounds(reproduction, bounds)):
        out.print(f"note: {note}", markup=False, soft_wrap=True, style="dim")


def _table(reproduction: Reproduction) -> Table:
    import rich.table

    title = f"{reproduction.published.title} {reproduction.split}, table {reproduction.number}"
    table = rich.table.Table(title=title, title_justify="left")
    table.add_column("")
    return table


def _by_system(reproduction: Reproduction, measured: Sequence[Measured]) -> Table:
    table = _table(reproduction)
    columns = reproduction.table.measures
    for metric in columns:
        table.add_column(metric.label, justify="right")
    for number, one in enumerate(measured, 1):
        paper = one.row.printed(reproduction.printed_split or "")
        figures = (metric.printed_as_published(paper.get(metric.name)) for metric in columns)
        parameters = f", {one.row.parameters} parameters" if one.row.parameters else ""
        table.add_row(f"{number:2} {one.row.system}{parameters}", *figures)
        if one.missing:
            table.add_row(f"   {one.missing.partition(':')[0]}", style="dim")
        if not one.scores:
            continue
        ours = (metric.printed(one.scores.get(metric.name)) for metric in columns)
        parameters = f", {one.parameters / 1e6:.1f}M parameters" if one.parameters else ""
        table.add_row(f"   ours, {one.questions:,} questions{parameters}", *ours, style="bold")
        if one.trained_on:
            table.add_row(f"   trained on {one.trained_on}", style="dim")
        add_interval(table, "   95 % interval, from", "   to", one.intervals, columns)
    return table


def _by_column(reproduction: Reproduction, measured: Sequence[Measured]) -> Table:
    """A line of the paper's figures and one of ours per column; the systems are the columns."""
    table = _table(reproduction)
    if reproduction.table.asked:
        table.columns[0].min_width = _LABEL
    for number, one in enumerate(measured, 1):
        table.add_column(f"{number} {one.row.system}", justify="right", overflow="fold")
    split = reproduction.printed_split
    for metric in reproduction.table.measures:
        name = metric.name
        printed = [one.row.printed(split or "").get(name) for one in measured]
        paper = (_cell(one, metric, figure, True) for one, figure in zip(measured, printed, strict=True))
        in_paper = reproduction.table.asked.get(name)
        label = name if in_paper is None else f"{name}: {in_paper:,}"
        table.add_row(label, *(paper if split is not None else ()))
        ours = (_cell(one, metric, one.scores.get(name)) if name in one.scores else "" for one in measured)
        here = max((one.asked.get(name, 0) for one in measured), default=0)
        label = "" if in_paper is None else f"  ours: {here:,}"
        table.add_row(label, *ours, style="bold", end_section=True)
    return table


def _cell(one: Measured, metric: Metric, figure: float | None, published: bool = False) -> str:
    """A figure; where a row counts training questions these, or that none were enough."""
    if one.ours.sizes:
        return "" if metric.name == MEAN else "FAIL" if figure is None else f"{figure:.0f}"
    return metric.printed_as_published(figure) if published else metric.printed(figure)


def _bounds(reproduction: Reproduction, bounds: Mapping[str, float]) -> Iterator[str]:
    if bounds:
        metric = next(one for one in reproduction.table.measures)
        best = ", ".join(
            f"{name.replace('_', ' ')} {metric.printed(value)}" for name, value in bounds.items()
        )
        yield f"ours at best, by what is answered: {best}"


def _notes(reproduction: Reproduction, measured: Sequence[Measured]) -> list[str]:
    settings = {one.ours.setting for one in measured if one.scores}
    always = []
    if reproduction.printed_split not in (None, reproduction.split):
        always.append(f"the paper's figures are of its {reproduction.printed_split} split")
    always += list(dict.fromkeys(note for one in measured for note in one.notes))
    always += [note.text for note in reproduction.published.notes if not note.settings]
    of_settings = [note.text for note in reproduction.published.notes if settings.intersection(note.settings)]
    best = "; ".join(
        f"{one.row.system} {100 * value:.2f}"
        for one in measured
        if (value := one.scores.get("rouge_l_best_f")) is not None
    )
    if best:
        always.append(
            "ROUGE-L takes the best precision and the best recall over both answers, as pycocoevalcap does; "
            f"with the better F of the two instead: {best}"
        )
    return always + of_settings

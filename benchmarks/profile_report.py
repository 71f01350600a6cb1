"""The profile of a question as a picture and a table in docs/performance.md, between marks of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import DOCUMENT, canvas, replace_between, save, table
from benchmarks.steps import EMBEDDINGS, GRAPH, HEAD, OTHER, SCORING, SEARCH, SPANS, WINDOWS, WRITING

if TYPE_CHECKING:
    from benchmarks.profile import Profile

BEGIN, END = "<!-- profile: begin -->", "<!-- profile: end -->"
PICTURE = "profile.svg"
_BEFORE, _AFTER = (SEARCH, WINDOWS, EMBEDDINGS), (GRAPH, HEAD, SPANS, SCORING, WRITING, OTHER)
_COLOURS = ("#b3321b", "#5c6ac4", "#8a8f98")
_STEP_COLOUR = "#c9a227"


def rows(profile: Profile) -> list[tuple[str, list[float]]]:
    """The picture's bars from above: a step's milliseconds, or those of a layer by kind."""
    layers = [
        (f"encoder, layer {number}", list(layer.values())) for number, layer in enumerate(profile.layers, 1)
    ]
    before, after = (
        [(name, [profile.steps.get(name, 0.0)]) for name in names] for names in (_BEFORE, _AFTER)
    )
    return [*before, *layers, *after]


def tables(profile: Profile, caption: str) -> str:
    """The same in Markdown."""
    kinds = list(profile.layers[0])
    found = [["step", "ms of a question", "share", *kinds]]
    for name, parts in rows(profile):
        by_kind = [f"{part:.1f}" for part in parts] if len(parts) > 1 else [""] * len(kinds)
        found.append([name, f"{sum(parts):.1f}", f"{sum(parts) / profile.total:.1%}", *by_kind])
    sums = [sum(layer[kind] for layer in profile.layers) for kind in kinds]
    found.append(["all", f"{profile.total:.1f}", "100.0%", *(f"{one:.1f}" for one in sums)])
    return f"{caption}\n\n{table(found)}"


def write(profile: Profile, caption: str, docs: Path) -> None:
    """Put the table between its marks in ``docs/performance.md``, and draw the picture beside it."""
    picture = f"![The time of a question by step and layer]({PICTURE})"
    replace_between(docs / DOCUMENT, BEGIN, END, f"{tables(profile, caption)}\n\n{picture}")
    draw(rows(profile), list(profile.layers[0]), docs / PICTURE)


def draw(bars: Sequence[tuple[str, Sequence[float]]], kinds: Sequence[str], path: Path) -> None:
    """A horizontal bar for each step, those of layers stacked by kind."""
    figure = canvas(7.2, 0.3 * len(bars) + 0.9)
    axis = figure.subplots()
    for place, (_, parts) in enumerate(bars):
        left = 0.0
        for part, colour in zip(parts, _COLOURS if len(parts) > 1 else [_STEP_COLOUR], strict=True):
            axis.barh(place, part, left=left, color=colour)
            left += part
    axis.set_yticks(range(len(bars)), [name for name, _ in bars], fontsize=9)
    axis.invert_yaxis()
    axis.set_xlabel("ms of a question", fontsize=9)
    axis.grid(axis="x", color="#e4e6ea", linewidth=0.8)
    axis.set_axisbelow(True)
    for kind, colour in zip(
        (*(f"layer: {one}" for one in kinds), "other steps"), (*_COLOURS, _STEP_COLOUR), strict=True
    ):
        axis.barh(0, 0, color=colour, label=kind)
    axis.legend(fontsize=8, frameon=False)
    save(figure, path)

"""The picture of an outcome: our scores with their intervals beside the papers'."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaluation.papers import paper_rows
from evaluation.report import system_name, title_of

_PANELS = {
    "rouge_l": "ROUGE-L",
    "bleu_1": "BLEU-1",
    "bleu_4": "BLEU-4",
    "meteor": "METEOR",
    "f1": "F1",
    "mrr": "MRR",
}
_OURS, _THEIRS = "#b3321b", "#8a8f98"


def plot(result: Mapping[str, Any], path: Path) -> None:
    """Write a PNG of the scores in ``result``, one panel per score, one line per system.

    Systems are in the order of their ROUGE-L (F1 where there is none), the best on top.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = paper_rows(result["benchmark"], result["split"], result["setting"])
    ours = system_name(result)
    systems: dict[str, dict[str, float | None]] = {
        row.system: {name: _fraction(name, getattr(row, name)) for name in _PANELS} for row in rows
    }
    systems[ours] = {name: result[name] for name in _PANELS}
    key = (
        "rouge_l"
        if any(scores["rouge_l"] is not None for name, scores in systems.items() if name != ours)
        else "f1"
    )
    order = sorted(systems, key=lambda name: systems[name][key] or 0.0)
    panels = [name for name in _PANELS if any(scores[name] is not None for scores in systems.values())]
    if rows:  # what no paper reports would be a panel with one dot
        panels = [p for p in panels if any(systems[row.system][p] is not None for row in rows)] or panels
    figure = Figure(figsize=(3.2 + 1.9 * len(panels), 1.6 + 0.28 * len(order)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, name in zip(axes, panels, strict=True):
        for height, system in enumerate(order):
            value = systems[system][name]
            if value is None:
                continue
            axis.plot(value, height, "o", color=_OURS if system == ours else _THEIRS, markersize=5, zorder=3)
        interval = result["intervals"][name]
        if interval is not None:
            axis.hlines(order.index(ours), *interval, color=_OURS, linewidth=2, zorder=2)
        axis.set_title(_PANELS[name], fontsize=10)
        axis.set_xlim(0, 1.05 * max(axis.dataLim.x1, 0.01))
        axis.grid(axis="x", color="#e4e6ea", linewidth=0.8)
        axis.tick_params(labelsize=8, length=0)
        axis.spines[["top", "right", "left"]].set_visible(False)
    axes[0].set_yticks(range(len(order)), order)
    axes[0].set_ylim(-0.6, len(order) - 0.4)
    for label in axes[0].get_yticklabels():
        if label.get_text() == ours:
            label.set(color=_OURS, fontweight="bold")
    figure.suptitle(
        f"{title_of(result)}\n{result['questions']:,} questions, {result['stories']} stories; 95 % intervals",
        fontsize=10,
    )
    figure.savefig(path)


def _fraction(name: str, value: float | None) -> float | None:
    return value if value is None or name == "mrr" else value / 100

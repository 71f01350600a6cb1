"""The pictures of an outcome: our scores beside the papers', and what confidence is worth."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaluation.published.papers import paper_rows
from evaluation.report import system_name, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANELS = {
    "rouge_l": "ROUGE-L",
    "bleu_1": "BLEU-1",
    "bleu_4": "BLEU-4",
    "meteor": "METEOR",
    "f1": "F1",
    "mrr": "MRR",
}
_OURS, _THEIRS, _PALE = "#b3321b", "#8a8f98", "#d5d9e0"


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
    halves = {
        f"{ours}, half {half}" + (" (trained on)" if scores["trained_on"] else ""): scores
        for half, scores in result["by_half"].items()
    }
    found = {ours: result, **halves}
    systems |= {system: {name: scores[name] for name in _PANELS} for system, scores in found.items()}
    key = (
        "rouge_l"
        if any(scores["rouge_l"] is not None for name, scores in systems.items() if name not in found)
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
            colour = _OURS if system in found else _THEIRS
            axis.plot(value, height, "o", color=colour, markersize=5, zorder=3)
            interval = found[system]["intervals"][name] if system in found else None
            if interval is not None:
                axis.hlines(height, *interval, color=_OURS, linewidth=2, zorder=2)
        axis.set_title(_PANELS[name], fontsize=10)
        axis.set_xlim(0, 1.05 * max(axis.dataLim.x1, 0.01))
        axis.grid(axis="x", color="#e4e6ea", linewidth=0.8)
        axis.tick_params(labelsize=8, length=0)
        axis.spines[["top", "right", "left"]].set_visible(False)
    axes[0].set_yticks(range(len(order)), order)
    axes[0].set_ylim(-0.6, len(order) - 0.4)
    for label in axes[0].get_yticklabels():
        if label.get_text() in found:
            label.set(color=_OURS, fontweight="bold")
    figure.suptitle(
        f"{title_of(result)}\n{result['questions']:,} questions, {result['stories']} stories; 95 % intervals",
        fontsize=10,
    )
    figure.savefig(path)


def plot_confidence(result: Mapping[str, Any], path: Path) -> None:
    """Write a PNG of the reliability diagram and the risk-coverage curve of ``result["confidence"]``."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = result["confidence"]
    figure = Figure(figsize=(9.0, 4.4), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    reliability, risk = figure.subplots(1, 2)
    _draw_reliability(reliability, found)
    _draw_risk(risk, found)
    for axis in (reliability, risk):
        axis.set(xlim=(0, 1), ylim=(0, 1))
        axis.set_axisbelow(True)
        axis.grid(color="#e4e6ea", linewidth=0.8)
        axis.tick_params(labelsize=8, length=0)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(fontsize=7, frameon=False, loc="upper left")
    figure.suptitle(
        f"{title_of(result)}: {system_name(result)}\n"
        f"{result['questions']:,} questions; right is a {found['right_means']}",
        fontsize=10,
    )
    figure.savefig(path)


def _draw_reliability(axis: Axes, found: Mapping[str, Any]) -> None:
    """How many of the answers are right, by confidence: on the diagonal where it means what it says."""
    bins = found["bins"]
    answers, middles = [one["answers"] for one in bins], [one["confidence"] for one in bins]
    shares = [count / sum(answers) for count in answers]
    axis.bar(middles, shares, width=0.06, color=_PALE, label="share of the answers")
    axis.plot([0, 1], [0, 1], color=_THEIRS, linewidth=1, linestyle="--", label="calibrated")
    axis.plot(
        middles,
        [one["right"] for one in bins],
        "o-",
        color=_OURS,
        markersize=5,
        label="share right",
        zorder=3,
    )
    axis.set_xlabel("confidence", fontsize=8)
    axis.set_ylabel("share right", fontsize=8)
    axis.set_title(f"reliability: ECE {found['ece']:.3f}", fontsize=10)


def _draw_risk(axis: Axes, found: Mapping[str, Any]) -> None:
    """How many of the most confident answers are wrong, beside the best order and one by chance."""
    coverage, risks = zip(*found["curve"], strict=True)
    best = [max(0.0, 1 - found["right"] / share) for share in coverage]
    axis.axhline(1 - found["right"], color=_THEIRS, linewidth=1, linestyle="--", label="in any order")
    axis.plot(coverage, best, color=_THEIRS, linewidth=1, linestyle=":", label="right answers first")
    axis.plot(coverage, risks, color=_OURS, linewidth=1.6, label="by confidence", zorder=3)
    axis.set_xlabel("coverage: share of the questions answered", fontsize=8)
    axis.set_ylabel("risk: share of those answers that is wrong", fontsize=8)
    axis.set_title(f"risk-coverage: area {found['area_under_risk_coverage']:.3f}", fontsize=10)


def _fraction(name: str, value: float | None) -> float | None:
    return value if value is None or name == "mrr" else value / 100

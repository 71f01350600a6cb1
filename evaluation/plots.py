"""The pictures of an outcome: our scores beside the papers', and what confidence is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evaluation.metrics.metric import METRICS, metrics_named
from evaluation.probing.skills import asked_of
from evaluation.published.figures import rows_beside
from evaluation.report import system_name, title_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_OURS, _THEIRS, _PALE = "#b3321b", "#8a8f98", "#d5d9e0"


def plot(result: Mapping[str, Any], metrics: Sequence[str], path: Path) -> None:
    """Write a PNG of the scores in ``result``, one panel per metric, one line per system.

    ``metrics`` are those that the benchmark names. Systems are in the order of the first of them that
    published figures have (of the first where none are), the best on top.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [metric for metric in metrics_named(metrics) if metric.label]
    beside = rows_beside(result["benchmark"], result["split"], result["setting"])
    theirs = {
        row.system: {
            name: METRICS[name].as_fraction(figure) for name, figure in row.printed(result["split"]).items()
        }
        for row in (beside.rows if beside else ())
    }
    halves = {
        f"{system_name(result)}, half {half}" + (" (trained on)" if scores["trained_on"] else ""): scores
        for half, scores in result["by_half"].items()
    }
    ours = {system_name(result): result, **halves}
    systems: dict[str, Mapping[str, Any]] = {**theirs, **ours}
    panels = [one for one in shown if any(scores.get(one.name) is not None for scores in systems.values())]
    if theirs:  # what no paper reports would be a panel with one dot
        panels = [one for one in panels if any(one.name in scores for scores in theirs.values())] or panels
    key = next((one.name for one in shown if any(one.name in row for row in theirs.values())), metrics[0])
    order = sorted(systems, key=lambda name: systems[name].get(key) or 0.0)
    figure = Figure(figsize=(3.2 + 1.9 * len(panels), 1.6 + 0.28 * len(order)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, metric in zip(axes, panels, strict=True):
        for height, system in enumerate(order):
            value = systems[system].get(metric.name)
            if value is None:
                continue
            colour = _OURS if system in ours else _THEIRS
            axis.plot(value, height, "o", color=colour, markersize=5, zorder=3)
            interval = ours[system]["intervals"][metric.name] if system in ours else None
            if interval is not None:
                axis.hlines(height, *interval, color=_OURS, linewidth=2, zorder=2)
        axis.set_title(metric.label, fontsize=10)
        axis.set_xlim(0, 1.05 * max(axis.dataLim.x1, 0.01))
        axis.grid(axis="x", color="#e4e6ea", linewidth=0.8)
        axis.tick_params(labelsize=8, length=0)
        axis.spines[["top", "right", "left"]].set_visible(False)
    axes[0].set_yticks(range(len(order)), order)
    axes[0].set_ylim(-0.6, len(order) - 0.4)
    for label in axes[0].get_yticklabels():
        if label.get_text() in ours:
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
    reliability.set_xlim(0, 1)
    risk.set_xlim(0, 1)
    for axis in (reliability, risk):
        _finish(axis, "upper left")
    figure.suptitle(
        f"{title_of(result)}: {system_name(result)}\n"
        f"{result['questions']:,} questions; right is a {found['right_means']}",
        fontsize=10,
    )
    figure.savefig(path)


def plot_choices(result: Mapping[str, Any], path: Path) -> None:
    """Write a PNG of how right choices are, by confidence and by the length of what was read.

    Precision at recall, and precision by length and up to a length (Hermann et al. 2015, figures 2, 4 and 5).
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 4.4), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    by_recall, by_length = figure.subplots(1, 2)
    recall, risks = zip(*result["confidence"]["curve"], strict=True)
    by_recall.plot(recall, [1 - risk for risk in risks], color=_OURS, linewidth=1.6, label="precision")
    by_recall.set_xlabel("recall: share of the questions answered, by confidence", fontsize=8)
    by_recall.set_title("precision@recall", fontsize=10)
    by_recall.set_xlim(0, 1)
    parts = result["by_length"]
    ends = [part["longest"] for part in parts]
    by_length.plot(
        ends, [part["right"] for part in parts], "o-", color=_OURS, markersize=4, label="by tenths"
    )
    by_length.plot(ends, [part["right_up_to"] for part in parts], color=_THEIRS, label="up to this length")
    by_length.set_xlabel("words read", fontsize=8)
    by_length.set_title("precision by length", fontsize=10)
    for axis in (by_recall, by_length):
        axis.set_ylabel("share right", fontsize=8)
        _finish(axis, "lower left")
    figure.suptitle(
        f"{title_of(result)}: {system_name(result)}\n{result['questions']:,} questions", fontsize=10
    )
    figure.savefig(path)


def plot_skills(result: Mapping[str, Any], path: Path) -> None:
    """Write a PNG of the accuracy of each skill that a probe found, with its interval."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    skills = result["skills"]
    figure = Figure(figsize=(6.4, 1.4 + 0.26 * len(skills)), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.subplots()
    for height, one in enumerate(skills):
        axis.hlines(height, *one["interval"], color=_OURS, linewidth=2, zorder=2)
        axis.plot(one["accuracy"], height, "o", color=_OURS, markersize=5, zorder=3)
    axis.set_yticks(range(len(skills)), [f"{one['task']} {one['name']}" for one in skills])
    axis.set_ylim(len(skills) - 0.4, -0.6)
    axis.set_xlim(-0.02, 1.02)
    axis.set_xlabel("share of the questions answered right", fontsize=8)
    axis.grid(axis="x", color="#e4e6ea", linewidth=0.8)
    axis.tick_params(labelsize=8, length=0)
    axis.spines[["top", "right", "left"]].set_visible(False)
    each = f"{result['per_task']} questions of each task; 95 % intervals"
    figure.suptitle(f"{asked_of(result)}\n{each}", fontsize=10)
    figure.savefig(path)


def _finish(axis: Axes, legend: Literal["upper left", "lower left"]) -> None:
    """What all panels of shares have in common."""
    axis.set_ylim(0, 1)
    axis.set_axisbelow(True)
    axis.grid(color="#e4e6ea", linewidth=0.8)
    axis.tick_params(labelsize=8, length=0)
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(fontsize=7, frameon=False, loc=legend)


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

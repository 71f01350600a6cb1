"""The picture of a training run: its losses and its scores on held-out questions, from its log."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.benchmarks.files import require

WINDOW = 0.1  # the share of the entries that each point of a smoothed line is the mean of
_COLOURS = ("#b3321b", "#2f6690", "#4f772d", "#8a5a9e", "#c98a1b", "#3a7d7c", "#6b705c", "#d1495b")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log: how much was ``done`` by then, and the losses and scores it tells.

    ``seconds`` and ``questions`` are what the run had taken and seen by then, None where it does not say.
    """

    done: float
    losses: Mapping[str, float]
    scores: Mapping[str, float]
    seconds: float | None = None
    questions: float | None = None


def plot_training(log: Path, png: Path) -> None:
    """Draw the losses, smoothed, and every validation score of the run in ``log``, a ``log.jsonl``.

    Raises ``DataError`` where there is no such file; one that tells nothing yet gives a picture that
    says so.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    require(log, "the log of a training run, one JSON object per line")
    entries = read_log(log.read_text(encoding="utf-8", errors="replace").splitlines())
    losses = _series((entry.done, entry.losses) for entry in entries)
    scores = _series((entry.done, entry.scores) for entry in entries)
    panels = [(title, series) for title, series in (("loss", losses), ("held out", scores)) if series]
    figure = Figure(figsize=(max(1, len(panels)) * 6.2, 3.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    if not panels:
        figure.text(0.5, 0.5, "nothing is logged yet", ha="center", va="center", color="#8a8f98")
    for number, (title, series) in enumerate(panels, 1):
        axis = figure.add_subplot(1, len(panels), number)
        for i, (name, points) in enumerate(series.items()):
            done, values = zip(*points, strict=True)
            label, colour = f"{name} {values[-1]:.3f}", _COLOURS[i % len(_COLOURS)]
            if title == "loss":
                axis.plot(done, values, color=colour, linewidth=0.8, alpha=0.3)
                axis.plot(done, smoothed(values), color=colour, linewidth=1.6, label=label)
            else:
                line = "o-" if i < len(_COLOURS) else "o--"
                axis.plot(done, values, line, color=colour, linewidth=1.2, markersize=4, label=label)
        axis.set_title(title, fontsize=10)
        axis.set_xlim(left=0)
        last = min(axis.get_xlim()[1], entries[-1].done)
        ticks = [float(tick) for tick in axis.get_xticks() if 0 <= tick <= last]
        name, labels = describe_ticks(entries, ticks)
        axis.set_xticks(ticks, labels)
        axis.set_xlabel(name, fontsize=8)
        if title == "loss":
            axis.set_ylim(bottom=min(0.0, axis.get_ylim()[0]))
        axis.grid(color="#e4e6ea", linewidth=0.8)
        axis.tick_params(labelsize=8, length=0)
        axis.spines[["top", "right"]].set_visible(False)
        axis.legend(
            loc="center left",
            bbox_to_anchor=(1, 0.5),
            fontsize=7,
            frameon=False,
            title="last value",
            title_fontsize=7,
        )
    figure.savefig(png)


def read_log(lines: Sequence[str]) -> list[Entry]:
    """The entries of a log, in the order of what was done.

    Lines that are no JSON object (such as the half one of a killed process) are passed over, and so
    are numbers that are none. What a killed run did after its last checkpoint is done again when it
    goes on: the later entry counts.
    """
    entries: list[Entry] = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if not isinstance(row, dict):
            continue
        done = _done(row, entries[-1].done if entries else 0.0)
        while entries and entries[-1].done >= done:
            entries.pop()
        losses = row.get("losses")
        entries.append(
            Entry(
                done,
                _numbers(losses if isinstance(losses, dict) else {"loss": row.get("loss")}),
                _numbers(row.get("validation")),
                *(
                    float(row[name]) if _is_number(row.get(name)) else None
                    for name in ("seconds", "questions")
                ),
            )
        )
    return entries


def describe_ticks(entries: Sequence[Entry], ticks: Sequence[float]) -> tuple[str, list[str]]:
    """What stands along the axis, and at each of these places on it: what was ``done`` by then.

    Below it, where the log tells them, the questions seen and the time taken, in hours or, of a run of less
    than one, minutes.
    """
    names = ["share of the run" if entries[-1].done <= 1 else "done"]
    lines = [[f"{tick:g}" for tick in ticks]]
    if questions := _until(ticks, [(one.done, one.questions) for one in entries]):
        names.append("questions")
        lines.append([f"{count:,.0f}" for count in questions])
    if seconds := _until(ticks, [(one.done, one.seconds) for one in entries]):
        longest = max(one.seconds or 0 for one in entries)
        unit, length = ("hours", 3600) if longest >= 3600 else ("minutes", 60)
        names.append(unit)
        lines.append([f"{second / length:.1f}" for second in seconds])
    return ", ".join(names), ["\n".join(at_tick) for at_tick in zip(*lines, strict=True)]


def _until(ticks: Sequence[float], counted: Sequence[tuple[float, float | None]]) -> list[float]:
    """What was counted by each place, on straight lines from nothing at 0; none where nothing was counted."""
    import numpy as np

    known = [(done, count) for done, count in counted if count is not None]
    if not known:
        return []
    places, counts = zip((0.0, 0.0), *known, strict=True)
    return [float(count) for count in np.interp(ticks, places, counts)]


def smoothed(values: Sequence[float]) -> list[float]:
    """Each value's mean with its neighbours on both sides, as many of them as there are on both."""
    reach = round(WINDOW * len(values) / 2)
    found = []
    for i in range(len(values)):
        near = min(reach, i, len(values) - 1 - i)
        found.append(math.fsum(values[i - near : i + near + 1]) / (2 * near + 1))
    return found


def _done(row: Mapping[str, Any], before: float) -> float:
    """``done``, or else the share ``chunk / of``; one more than ``before`` where neither is told."""
    done = next((row[key] for key in ("done", "chunk", "step") if _is_number(row.get(key))), None)
    if done is None:
        return before + 1
    return float(done / row["of"] if _is_number(row.get("of")) and row["of"] else done)


def _numbers(values: object) -> dict[str, float]:
    if not isinstance(values, dict):
        return {}
    return {str(name): float(value) for name, value in values.items() if _is_number(value)}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _series(rows: Iterable[tuple[float, Mapping[str, float]]]) -> dict[str, list[tuple[float, float]]]:
    """Per name the points (done, value), in order."""
    series: dict[str, list[tuple[float, float]]] = {}
    for done, values in rows:
        for name, value in values.items():
            series.setdefault(name, []).append((done, value))
    return series

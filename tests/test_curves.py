"""The picture of a training run, from logs whole, old, broken off and gone on with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from evaluation.benchmarks.files import DataError
from training.learning_curve import describe_ticks, plot_training, read_log, smoothed

NEW: list[dict[str, Any]] = [
    {"done": 0.25, "losses": {"span": 3.0, "relevance": 0.7}, "seconds": 60},
    {"done": 0.5, "losses": {"span": 2.0, "relevance": 0.6}, "seconds": 120, "validation": {"mrr": 0.4}},
    {"done": 0.75, "losses": {"span": 1.5, "relevance": 0.5}, "seconds": 180},
    {"done": 1.0, "losses": {"span": 1.0}, "seconds": 240, "validation": {"mrr": 0.5, "span_sections": 0.3}},
]
OLD: list[dict[str, Any]] = [{"chunk": n, "of": 4, "loss": 4.0 / n, "seconds": n} for n in range(1, 5)]


def _lines(rows: list[dict[str, Any]]) -> list[str]:
    return [json.dumps(row) for row in rows]


def _drawn(png: Path) -> int:
    """How many of the picture's pixels are in colour."""
    pixels = imread(png)[..., :3]
    return int((pixels.max(axis=-1) - pixels.min(axis=-1) > 0.2).sum())


def test_losses_and_scores_are_read_with_the_share_of_the_run() -> None:
    entries = read_log(_lines(NEW))
    assert [entry.done for entry in entries] == [0.25, 0.5, 0.75, 1.0]
    assert [entry.losses.get("relevance") for entry in entries] == [0.7, 0.6, 0.5, None]
    assert [dict(entry.scores) for entry in entries if entry.scores] == [
        {"mrr": 0.4},
        {"mrr": 0.5, "span_sections": 0.3},
    ]


def test_the_older_form_is_read_too() -> None:
    entries = read_log(_lines(OLD))
    assert [(entry.done, entry.losses["loss"]) for entry in entries] == [
        (0.25, 4.0),
        (0.5, 2.0),
        (0.75, 4 / 3),
        (1.0, 1.0),
    ]


def test_a_count_of_what_is_done_or_nothing_at_all_keeps_the_order() -> None:
    assert [entry.done for entry in read_log(['{"done": 10, "loss": 2}', '{"done": 20}'])] == [10, 20]
    assert [entry.done for entry in read_log(['{"loss": 2}', '{"loss": 1}'])] == [1, 2]


def test_a_run_that_was_killed_and_went_on_is_told_once() -> None:
    again = [{**row, "loss": row["loss"] * 2} for row in OLD[1:]]
    entries = read_log(_lines([*OLD[:3], *again]))
    assert [entry.done for entry in entries] == [0.25, 0.5, 0.75, 1.0]
    assert [entry.losses["loss"] for entry in entries] == pytest.approx([4.0, 4.0, 8 / 3, 2.0])


@pytest.mark.parametrize(
    "line", ['{"done": 0.9, "loss": 1.', "", "[1, 2]", "nonsense", "\ufffd", '"text"', "12"]
)
def test_a_line_that_is_no_object_is_passed_over(line: str) -> None:
    assert read_log([*_lines(NEW), line]) == read_log(_lines(NEW))


def test_values_that_are_no_numbers_are_passed_over() -> None:
    [entry] = read_log(['{"done": 0.5, "losses": {"a": NaN, "b": null, "c": true, "d": 1}, "validation": 3}'])
    assert dict(entry.losses) == {"d": 1.0}
    assert dict(entry.scores) == {}


def test_along_the_axis_stand_the_questions_and_the_time_that_the_log_tells() -> None:
    hours = [{**row, "seconds": row["seconds"] * 60, "questions": 400 * n} for n, row in enumerate(NEW, 1)]
    assert describe_ticks(read_log(_lines(hours)), [0.0, 0.5, 0.875]) == (
        "share of the run, questions, hours",
        ["0\n0\n0.0", "0.5\n800\n2.0", "0.875\n1,400\n3.5"],
    )
    assert describe_ticks(read_log(_lines(NEW)), [0.5, 1.0]) == (
        "share of the run, minutes",
        ["0.5\n2.0", "1\n4.0"],
    )


def test_of_a_run_that_is_older_than_the_count_the_questions_are_not_told() -> None:
    rows = [{"done": 5, "loss": 2}, {"done": 10, "loss": 1}]
    assert describe_ticks(read_log(_lines(rows)), [5, 10]) == ("done", ["5", "10"])


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=80))
def test_a_smoothed_line_stays_among_its_values_and_ends_where_they_end(values: list[float]) -> None:
    line = smoothed(values)
    assert len(line) == len(values)
    assert all(min(values) - 1e-9 <= value <= max(values) + 1e-9 for value in line)
    assert (line[0], line[-1]) == (values[0], values[-1])


def test_a_straight_line_is_smooth_already() -> None:
    values = [3.0 - 0.05 * i for i in range(60)]
    assert smoothed(values) == pytest.approx(values)


BARE = [{"done": row["done"], "losses": row["losses"]} for row in NEW]


@pytest.mark.parametrize(
    "rows",
    [NEW, OLD, BARE, NEW[:1], OLD[:1]],
    ids=["new", "old", "without seconds", "new begun", "old begun"],
)
def test_a_picture_is_drawn_of_a_log_with_a_half_written_line(
    rows: list[dict[str, Any]], tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    log.write_bytes("\n".join(_lines(rows)).encode() + b'\n{"done": 0.9, "name": "\xc3')
    plot_training(log, tmp_path / "curve.png")
    if len(rows) > 1:
        assert _drawn(tmp_path / "curve.png") > 500


def test_a_log_that_tells_nothing_yet_is_a_picture_that_says_so(tmp_path: Path) -> None:
    for text in ("", '{"seconds": 3}\n'):
        (tmp_path / "log.jsonl").write_text(text)
        plot_training(tmp_path / "log.jsonl", tmp_path / "curve.png")
        pixels = imread(tmp_path / "curve.png")[..., :3]
        assert _drawn(tmp_path / "curve.png") == 0
        assert (pixels < 0.9).any()


def test_a_log_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"log\.jsonl is missing; expected there: the log of a training run"):
        plot_training(tmp_path / "log.jsonl", tmp_path / "curve.png")

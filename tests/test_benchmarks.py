"""The table of benchmarks: what each line says of its data set, and the command that is made of it."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest
from predicted_answers import predicted

from evaluation.benchmarks import BENCHMARKS
from evaluation.metrics.metric import METRICS, metrics_named, printed_columns
from evaluation.metrics.scoring import count, score
from evaluation.run import answer_scores
from service.cli import run
from text.registry import UnknownName

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_loader_is_there_and_its_defaults_are_the_first_setting_and_split(name: str) -> None:
    spec = BENCHMARKS[name]
    parameters = inspect.signature(spec.load).parameters
    assert next(iter(parameters)) == {"cloze": "book", "domains": "setting", "everyday": "held_out"}.get(
        name, "data"
    )
    for option, choices in (("setting", spec.settings), ("split", spec.splits)):
        assert choices
        if option in parameters:
            assert parameters[option].default == choices[0]
    module = import_module(spec.where.partition(":")[0])
    assert getattr(module, "SETTINGS", spec.settings) == spec.settings
    assert tuple(getattr(module, "SPLITS", spec.splits)) == spec.splits


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_help_of_a_command_has_the_options_that_do_something_and_no_others(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("STORYQA_RATE", "")
    monkeypatch.setenv("STORYQA_OPEN_MB", "none")  # help is given whatever the environment says
    assert run(["evaluate", name, "--help"]) == 0
    text = capsys.readouterr().out
    spec = BENCHMARKS[name]
    loader = inspect.signature(spec.load).parameters
    own = [f"--{one.replace('_', '-')}" for one in loader if one not in ("cache", "shelf")]
    for option in (*own, "--reader", "--limit", "--seed", "--out", "--force", "--json"):
        assert f"{option} " in text
    for option in ("--retriever", "--store"):
        assert (f"{option} " in text) == spec.searched
    assert ("--no-mrr" in text) == spec.ranked
    if name == "novels":  # which nobody else publishes
        assert "<Gutenberg id>.txt" in text
        assert "publisher" not in text


def test_a_bad_environment_is_told_when_a_benchmark_is_run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_OPEN_MB", "none")
    assert run(["evaluate", "squad", "--data", "x"]) == 2
    assert "STORYQA_OPEN_MB is 'none'" in capsys.readouterr().err


def test_a_figure_is_printed_in_the_unit_that_papers_have_it_in() -> None:
    assert METRICS["rouge_l"].printed(0.36744) == METRICS["rouge_l"].printed_as_published(36.74) == "36.74"
    assert METRICS["mrr"].printed(0.2691) == METRICS["mrr"].printed_as_published(0.269) == "0.269"
    assert METRICS["f1"].printed(None) == METRICS["f1"].printed_as_published(None) == ""
    for metric in METRICS.values():
        assert metric.as_fraction(metric.scale * 0.25) == 0.25


def test_every_line_says_where_the_data_set_is_described() -> None:
    for spec in BENCHMARKS.values():
        assert spec.does.endswith(".")
        if spec.name not in (
            "cloze",
            "domains",
            "everyday",
            "novels",
        ):  # one's own books, and our own writing
            assert spec.paper is not None
            assert spec.paper.rpartition(" ")[2].isdigit()
        assert Path(spec.where.partition(":")[0].replace(".", "/")).parent.name == "benchmarks"


def test_metrics_of_one_benchmark_are_counted_and_combined_by_their_records() -> None:
    answers = (("Osk\nWilm", ("Wilm", "Osk")), ("Osk", ("Wilm", "Osk")))
    names = ("mean_f1", "accuracy")
    predictions = [
        replace(
            predicted(answer, *references),
            id=str(number),
            story=f"story {number}",
            scores=answer_scores(answer, references, names),
        )
        for number, (answer, references) in enumerate(answers)
    ]
    metrics = metrics_named([*names, "mrr"])
    scores = score(count(predictions, metrics), metrics, [one.story for one in predictions], seed=0)
    assert scores.values == {"mean_f1": pytest.approx((1 + 2 / 3) / 2), "accuracy": 0.5, "mrr": None}
    assert scores.intervals["accuracy"] == (0.0, 1.0)
    assert [metric.name for metric in printed_columns([*names, "mrr"])] == ["mrr", "accuracy", "mean_f1"]


def test_a_metric_that_there_is_not_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match=r"unknown metric 'rogue_l' \(did you mean 'rouge_l'\?\)"):
        metrics_named(["rogue_l"])


@pytest.mark.processes
def test_what_measures_a_card_runs_on_a_processor() -> None:
    """It has to work the first time that there is one."""
    arguments = ["--device", "cpu", "--rounds", "1", "--largest", "1", "--most", "2000"]
    around = {**os.environ, "STORYQA_SIZE": "small"}
    command = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    done = subprocess.run(command, env=around, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if re.match(r"\| [\d,]+ \|", line)]
    assert [len(row.split("|")) - 2 for row in rows] == [7, 2, 3]

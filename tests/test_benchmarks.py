"""The table of benchmarks: what each line says of its data set, and the command that is made of it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from evaluation.benchmarks import BENCHMARKS
from evaluation.metrics.metric import METRICS
from service.cli import run


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_loader_is_there_and_its_defaults_are_the_first_setting_and_split(name: str) -> None:
    spec = BENCHMARKS[name]
    parameters = inspect.signature(spec.load).parameters
    assert next(iter(parameters)) == "data"
    for option, choices in (("setting", spec.settings), ("split", spec.splits)):
        assert choices
        if option in parameters:
            assert parameters[option].default == choices[0]


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
    own = [f"--{one.replace('_', '-')}" for one in inspect.signature(spec.load).parameters]
    for option in (*own, "--reader", "--limit", "--seed", "--out", "--force", "--json"):
        assert f"{option} " in text
    for option in ("--retriever", "--store"):
        assert (f"{option} " in text) == spec.searched
    assert ("--no-mrr" in text) == spec.ranked


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
        assert spec.paper.rpartition(" ")[2].isdigit()
        assert Path(spec.where.partition(":")[0].replace(".", "/")).parent.name == "benchmarks"

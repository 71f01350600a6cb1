"""The commands of ``storyqa train``: made of the table of objectives and their settings."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from tiny_models import PROPERTY_SIZES
from typer.main import get_command

from service.cli import run
from training.commands import objective_command
from training.objectives import OBJECTIVES

SETTINGS = {name: spec.settings for name, spec in OBJECTIVES.items() if spec.settings}
# What checkpoints of older versions have recorded: a run is gone on with only where its record is equal.
READING = (
    *(
        "seed",
        "backbone",
        "fairytales",
        "summaries",
        "stories",
        "articles",
        "novels",
        "everyday",
        "mctest",
        "clozes",
        "elsewhere",
        "renamed",
        "unlabelled",
        "reworded",
        "searched",
        "marked_alone",
    ),
    *(
        "rate",
        "decoder_rate",
        "rank",
        "frozen",
        "batch_tokens",
        "span_weight",
        "relevance_weight",
        "generate_weight",
        "distractors",
        "marginal",
    ),
    *("copies", "bridge", "start", "teacher", "examples", "chunk"),
)
NEURAL = (
    *("model", "sizes", "seed", "epochs", "words", "articles", "chunks", "around", "rate", "batch", "chunk"),
)
CLOZE = (
    *("system", "seed", "epochs", "count", "setting", "words", "width", "hidden", "rate", "batch"),
    *("dropout", "unknown", "nearest", "arpa", "int8", "chunk", "data_set"),
)
PROPERTY = (
    *("seed", "epochs", "count", "words", "width", "hidden", "rate", "clip", "batch", "dropout"),
    *("paper", "int8", "chunk"),
)
RECORDED = {
    "dense": (
        *("seed", "rank", "rate", "passes", "articles", "book_passes", "mined", "temperature", "chunk"),
        *("backbone", "teacher", "novels", "start"),
    ),
    **dict.fromkeys(("span", "large", "rerank", "generate"), READING),
    "write": (
        *("seed", "backbone", "fairytales", "summaries", "stories", "articles", "novels"),
        *("everyday", "mctest", "clozes"),
        *("elsewhere", "renamed", "rate", "rank", "batch_tokens", "longest", "examples", "compiled", "start"),
        "chunk",
    ),
    **dict.fromkeys(("seq2seq-lstm", "attention-sum", "bidaf"), NEURAL),
    **dict.fromkeys(("cbt", "cnn"), CLOZE),
    **dict.fromkeys(PROPERTY_SIZES, PROPERTY),
    "babi": ("system", "seed", "questions", "epochs"),
}


def settings_of(name: str) -> Any:
    module, _, attribute = SETTINGS[name].partition(":")
    return getattr(import_module(module), attribute)


def options_of(name: str) -> dict[str, Any]:
    return {option.name: option for option in get_command(objective_command(OBJECTIVES[name])).params}


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_has_a_command_that_explains_each_option(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", name, "--help"]) == 0
    assert f"storyqa train {name}" in capsys.readouterr().out
    options = options_of(name)
    assert {"data", "out", "as_json"} < options.keys()
    assert all(option.help for option in options.values())


@pytest.mark.parametrize("name", SETTINGS)
def test_an_option_that_is_not_given_is_the_settings_default(name: str) -> None:
    options = options_of(name)
    folders = {"start", "teacher"}  # settings hold the SHA-256 of what is in them
    shared = [
        field for field in fields(settings_of(name)) if field.name in options and field.name not in folders
    ]
    assert len(shared) > 3
    assert {field.name: options[field.name].default for field in shared} == {
        field.name: field.default for field in shared
    }


@pytest.mark.parametrize("name", SETTINGS)
def test_a_run_records_the_settings_that_older_checkpoints_have(name: str) -> None:
    settings = settings_of(name)()
    if hasattr(settings, "record"):
        assert tuple(settings.record(name)) == RECORDED[name]
        assert settings.record(name)["sizes"].keys() == ({"d"} if name == "bidaf" else {"d", "hidden"})
    else:
        assert tuple(field.name for field in fields(settings)) == RECORDED[name]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["dense", "--rank", "-1"], "rank"),
        (["bidaf", "--hidden", "8"], "--hidden"),
        (["generate", "--rank", "2"], "--rank"),
        (["span", "--start", "nowhere"], "nowhere"),
        (["judge"], "--start"),
        (["span", "--unlabelled", "0.5"], "--teacher"),
        (["span", "--reworded", "0.5"], "--teacher"),
        (["span", "--marked-alone"], "--teacher"),
        (["generate", "--teacher", "."], "--teacher"),
        (["generate", "--bridge"], "--bridge"),
        (["generate", "--bridge", "--no-copies", "--start", "."], "--no-copies"),
        (["generate"], "--start"),
        (["span", "--clozes", "5"], "--clozes"),
        (["cbt", "--system", "lstm-lm", "--unknown", "0.1"], "--unknown"),
        (["cbt", "--system", "memn2n@self", "--hidden", "8"], "--hidden"),
        (["cbt", "--system", "memn2n@self", "--dropout", "0.1"], "--dropout"),
        (["wr-bow", "--width", "8"], "--width"),
        (["wr-bow", "--dropout", "0"], "--dropout"),
        *(([f"wr-{name}", "--hidden", "8"], "--hidden") for name in ("bow", "average", "paragraph")),
        (["wr-memory", "--hidden", "8"], "--hidden"),
        (["cbt", "--system", "memn2n@self", "--nearest", "80"], "uniform"),
        (["cbt", "--system", "memn2n@self", "--arpa"], "--arpa"),
        (["cbt", "--system", "kneser-ney", "--words", "300"], "--words"),
        (["cbt", "--system", "cloze-frequency@corpus", "--epochs", "2"], "--epochs"),
        (["average", "--resume"], "--resume"),
        *(
            ([*command, "--rate", rate], "--rate")
            for command in (["span"], ["large"], ["dense"], ["write"], ["cbt"], ["wr-bow"])
            for rate in ("0", "-0.001", "nan")
        ),
    ],
)
def test_an_option_that_an_objective_has_not_or_a_value_out_of_bounds_is_refused(
    arguments: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", *arguments, "--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert named in error
    assert f"storyqa train {arguments[0]} --help" in error


@pytest.mark.parametrize("objective", ["span", "babi"])
def test_a_new_folder_holds_no_run_to_go_on_with_which_is_said(
    objective: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "out"
    arguments = ["train", objective, "--data", str(tmp_path / "nowhere"), "--out", str(out)]
    if objective == "babi":
        arguments += ["--system", "memnn"]
    for options, said in (
        ([], []),
        (["--resume"], [f"{out} holds no run to go on with, so this one begins"]),
    ):
        assert run([*arguments, *options]) == 2  # there are no data
        assert [record.getMessage() for record in caplog.records] == said


def test_what_nothing_can_be_learnt_from_is_no_option() -> None:
    assert "teacher" in options_of("span")
    assert "teacher" not in options_of("generate")


def test_the_help_of_data_names_all_that_the_recipe_reads() -> None:
    described = options_of("recipe")["data"].help
    assert all(
        name in described for name in ("FairytaleQA", "SQuAD", "NarrativeQA", "MCTest", "novels", "everyday")
    )


def test_a_decoder_is_not_trained_into_the_folder_of_its_encoder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ["--start", str(tmp_path), "--out", str(tmp_path)]
    assert run(["train", "generate", "--data", str(tmp_path), *places]) == 2
    assert "is the folder of --start" in capsys.readouterr().err


@pytest.mark.parametrize("below", ["", "run"])
def test_an_out_that_can_be_no_folder_is_refused_before_the_data_are_read(
    below: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    out = tmp_path / "file" / below
    for command in (["span"], ["cbt", "--system", "kneser-ney"], ["babi"], ["recipe"]):
        assert run(["train", *command, "--data", str(tmp_path / "nowhere"), "--out", str(out)]) == 2
        error = capsys.readouterr().err
        assert error.startswith(f"storyqa: {out} cannot be written (")
        assert error.endswith("); give another --out\n")


def test_the_list_of_commands_imports_no_model() -> None:
    code = (
        "import json, sys\nfrom service.cli import run\ncode = run(['train', '--help'])\n"
        "print(json.dumps([code, sorted({'torch', 'numpy', 'transformers'} & sys.modules.keys())]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []]
    assert all(name in done.stdout for name in OBJECTIVES)

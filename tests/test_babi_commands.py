"""``storyqa train babi`` and ``reproduce babi``: models a task, what is kept, and what is refused."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file

from evaluation.worlds.stories import Asked, Story, write_stories
from service.cli import run
from training.objectives.babi import first_questions

ACTORS, PLACES = ("Nell", "Hob", "Ada"), ("mill", "barn", "loft", "well")


def stories() -> list[Story]:
    """Two facts and a question after each."""
    return [
        Story(
            (f"{a} went to the {b}.", f"{c} went to the {d}."),
            (
                Asked(f"Where is {a}?", (b,), (0,), 1),
                Asked(f"Where is {c}?", (d,), (1,), 2),
            ),
        )
        for a, c in product(ACTORS, ACTORS)
        if a != c
        for b, d in product(PLACES, PLACES)
    ]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tasks, their train and their test splits."""
    folder = tmp_path_factory.mktemp("babi")
    told = stories()
    for task, split, part in (
        (1, "train", told[:80]),
        (1, "test", told[80:]),
        (11, "train", told[:80]),
        (11, "test", told[80:]),
    ):
        (folder / f"qa{task}_ours_{split}.txt").write_text(write_stories(part, task), "utf-8")
    return folder


def trained(data: Path, out: Path, *options: str) -> int:
    words = ["train", "babi", "--system", "memnn@am", "--data", str(data), "--out", str(out)]
    return run([*words, "--task", "1,11", "--epochs", "2", *options])


def test_a_card_tells_the_command_that_can_be_typed_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["train", "babi", "--system=memnn@multitask", f"--data={data}", "--task", "1,11", "--epochs", "1"]
    out = tmp_path / "two words"
    monkeypatch.setattr("sys.argv", ["storyqa", *words, "--out", f"{out}/"])
    assert run([*words, "--out", str(out)]) == 0
    [card] = out.glob("*.md")
    typed = f"--system=memnn@multitask --data={data.name} --task 1,11 --epochs 1 --out 'two words'"
    assert f"- **Command**: `storyqa train babi {typed}`\n" in card.read_text("utf-8")


@pytest.mark.processes
def test_several_at_a_time_learn_what_one_after_another_do(data: Path, tmp_path: Path) -> None:
    assert trained(data, tmp_path / "one") == trained(data, tmp_path / "two", "--workers", "2") == 0
    for task in ("qa1", "qa11"):
        one, two = (load_file(tmp_path / n / task / "memnn-am.safetensors") for n in ("one", "two"))
        assert all((one[name] == two[name]).all() for name in one)


def test_what_is_there_is_kept_with_resume_and_refused_without(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert trained(data, tmp_path) == 0
    kept = (tmp_path / "qa1" / "memnn-am.safetensors").stat().st_mtime_ns
    (tmp_path / "qa11" / "done.json").unlink()
    assert trained(data, tmp_path) == 2
    assert "give --resume" in capsys.readouterr().err
    assert trained(data, tmp_path, "--resume") == 0
    assert (tmp_path / "qa1" / "memnn-am.safetensors").stat().st_mtime_ns == kept
    assert (tmp_path / "qa11" / "done.json").is_file()
    assert trained(data, tmp_path, "--resume", "--questions", "10") == 2
    assert "trained otherwise" in capsys.readouterr().err


def test_one_model_for_all_tasks_has_a_card(data: Path, tmp_path: Path) -> None:
    words = ["train", "babi", "--system", "memnn@multitask", "--data", str(data), "--out", str(tmp_path)]
    assert run([*words, "--task", "1,11", "--epochs", "1"]) == 0
    card = (tmp_path / "memnn-multitask.md").read_text("utf-8")
    assert "2 tasks (320 questions of 160 stories)" in card
    assert (tmp_path / "memnn-multitask.safetensors").is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--task", "21"], "there is no task 21; choose from 1 to 20"),
        (["--task", "2"], "has no qa2_*train.txt"),
        (["--system", "memnn@deep"], "unknown option of memnn 'deep'; choose from am, ng"),
        (["--system", "oracle"], "unknown system 'oracle'; choose from"),
    ],
)
def test_what_cannot_be_trained_is_said_in_a_line(
    options: list[str], said: str, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "babi", "--data", str(data), "--out", str(tmp_path), *options]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


def test_the_first_questions_are_those_of_whole_stories_but_the_last() -> None:
    told = stories()
    assert first_questions(told, None) == told
    assert [len(one.asked) for one in first_questions(told, 5)] == [2, 2, 1]


def reproduced(data: Path, out: Path, capsys: Any, *rows: str) -> dict[str, Any]:
    options = [word for row in rows for word in ("--row", row)]
    places = ("--data", str(data), "--out", str(out), "--store", str(out / "store"))
    assert run(["reproduce", "babi", "--table", "3", *places, *options, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    return {row["system"]: row for row in found["rows"]}


@pytest.mark.training
def test_the_table_trains_what_it_lacks_once(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ("MemNN AM+NG+NL", "AM+NG+NL: training questions for 95 %")
    found = reproduced(data, tmp_path, capsys, *rows)
    models = {path: path.stat().st_mtime_ns for path in tmp_path.glob("models/*/*/*.safetensors")}
    assert {path.parts[-3] for path in models} == {f"memnn-am-ng-nl{n}" for n in ("", "-100", "-250", "-500")}
    main, needed = (found[name] for name in rows)
    assert main["scores"].keys() == {"1", "11"}  # and no mean of two tasks beside one of twenty
    assert main["scores"]["1"] > 0.9
    assert main["paper"]["19"] == 0.36
    assert main["questions"] == 64
    assert needed["scores"]["1"] in (100, 250, 500, 1000)
    assert needed["paper"]["7"] is None
    assert reproduced(data, tmp_path, capsys, *rows) == found
    assert {path: path.stat().st_mtime_ns for path in models} == models


@pytest.mark.training
def test_the_table_is_printed_with_a_line_a_task(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = ("--data", str(data), "--out", str(tmp_path), "--store", str(tmp_path / "store"))
    assert run(["reproduce", "babi", "--table", "3", *places, "--row", "MemNN AM"]) == 0
    printed = capsys.readouterr().out
    assert "bAbI test, table 3" in printed
    assert "storyqa reproduce babi --table 3 --row 'MemNN AM'" in printed
    assert printed.count("│ 1 ") == printed.count("│ 20 ") == 1

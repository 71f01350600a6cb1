"""The options of the simulated bAbI tasks, their shuffled language, and ``storyqa worlds``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import worlds_oracle as oracle

from evaluation.benchmarks.babi import load
from evaluation.worlds.cast import OPTIONS
from evaluation.worlds.shuffled import shuffled
from evaluation.worlds.simulator import simulate
from evaluation.worlds.stories import NAMES, TASKS, Story, file_of, read_stories
from service.cli import run

OTHER_CAPITALS = re.findall(r"\w+", "After Afterwards Then Following Yesterday This Mice Sheep Wolves Cats")


def check_answers(task: int, told: list[Story]) -> None:
    for story in told:
        for asked in story.asked:
            answers = oracle.ordered(task, asked.answers)
            assert oracle.answers(task, story.facts[: asked.after], asked.text) == answers, (story, asked)


@pytest.mark.parametrize("task", OPTIONS["distance"])
def test_so_many_facts_at_least_come_between_support_and_question(task: int) -> None:
    told = simulate(task, 40, seed=4, distance=7)
    check_answers(task, told)
    between = [asked.after - 1 - max(asked.support) for story in told for asked in story.asked]
    assert min(between) >= 7
    for one in told:
        for asked in one.asked:
            facts = [one.facts[number] for number in sorted(asked.support)]
            assert oracle.answers(task, facts, asked.text) == oracle.ordered(task, asked.answers)


@pytest.mark.parametrize("task", OPTIONS["actors"])
@pytest.mark.parametrize("count", [3, 7])
def test_there_are_as_many_actors_as_wanted(task: int, count: int) -> None:
    told = simulate(task, 40, seed=4, actors=count)
    check_answers(task, told)
    words = {word for story in told for fact in story.facts for word in re.findall(r"\b[A-Z]\w+", fact)}
    names = {word for word in words if word not in OTHER_CAPITALS}
    assert len(names) == count


@pytest.mark.parametrize("task", OPTIONS["places"])
@pytest.mark.parametrize("count", [3, 9])
def test_there_are_as_many_places_as_wanted(task: int, count: int) -> None:
    told = simulate(task, 40, seed=4, places=count)
    check_answers(task, told)
    places = ["bedroom", "kitchen", "garden", "hallway", "bathroom", "office", "park", "school", "cinema"]
    assert sum(any(place in fact for story in told for fact in story.facts) for place in places) == count


@pytest.mark.parametrize("task", TASKS)
def test_in_the_shuffled_language_every_letter_is_another(task: int) -> None:
    def words(told: list[Story]) -> str:
        return " ".join(
            " ".join((*story.facts, *(part for one in story.asked for part in (one.text, *one.answers))))
            for story in told
        )

    told = simulate(task, 200, seed=5)
    permuted = [shuffled(story) for story in told]
    english, other = words(told), words(permuted)
    letters = dict(zip(english, other, strict=True))
    assert "".join(letters[letter] for letter in english) == other
    assert len(set(letters.values())) == len(letters)
    for letter, becomes in letters.items():
        assert (letter != becomes) == letter.isalpha()
        assert letter.isupper() == becomes.isupper()
    for story, like in zip(told, permuted, strict=True):
        assert [one.support for one in story.asked] == [one.support for one in like.asked]


def test_the_command_writes_files_as_the_publishers_lay_them_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["worlds", "--task", "1-2,20", "--questions", "60", "--seed", "8", "--out", str(tmp_path)]
    assert run([*arguments, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(file["task"], file["split"]) for file in told["files"]] == [
        (task, split) for task in (1, 2, 20) for split in ("train", "test")
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(file["file"] for file in told["files"])
    for file in told["files"]:
        read = read_stories(tmp_path / file["file"])
        assert file["file"] == f"qa{file['task']}_{NAMES[file['task']]}_{file['split']}.txt"
        assert (len(read), sum(len(story.facts) for story in read)) == (file["stories"], file["facts"])
        assert sum(len(story.asked) for story in read) == file["questions"] == 60
    assert read_stories(file_of(tmp_path, 2, "train")) == simulate(2, 60, 8)
    assert len(load(tmp_path, "test").questions) == 180
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(arguments) == 0
    assert "360 questions of 3 tasks" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_an_option_is_for_the_tasks_that_have_it(tmp_path: Path) -> None:
    arguments = ["worlds", "--task", "1,4", "--questions", "30", "--out", str(tmp_path), "--actors", "2"]
    assert run(arguments) == 0
    assert read_stories(file_of(tmp_path, 1, "train")) == simulate(1, 30, 0, actors=2)
    assert read_stories(file_of(tmp_path, 4, "train")) == simulate(4, 30, 0)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--task 21", "no task 21; choose from 1 to 20"),
        ("--task 0-3", "no task 0-3"),
        ("--task 7-3", "no task 7-3"),
        ("--task one", "numbers and ranges such as 1,3,7-9"),
        ("--task 1 --actors 40", "task 1 can have 1 to 21 actors"),
        ("--task 5 --actors 1", "task 5 can have 2 to 21 actors"),
        ("--task 12 --actors 2 --distance 1", "task 12 can have 3 to 21 actors"),
        ("--task 19 --places 10", "task 19 can have 3 to 9 places"),
        ("--task 4,17 --actors 3", "cannot change task 4; it can change tasks 1-3, 5-16, 20"),
        ("--task 1 --distance -1", "wanted 0 or more facts"),
        ("--questions 0", "ask for 1 or more"),
        ("--lang fr", "choose from en, shuffled"),
        ("--task 4 --places 3 --questions 8000", "too few different stories"),
    ],
)
def test_what_cannot_be_simulated_is_refused_in_one_line(
    options: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["worlds", "--out", str(tmp_path / "out"), *options.split()]) == 2
    error = capsys.readouterr().err
    assert says in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()

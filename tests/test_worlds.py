"""Simulated stories of the bAbI tasks: what follows from the facts, and what cannot happen in them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random

import pytest
import worlds_oracle as oracle

from evaluation.benchmarks.babi import load
from evaluation.worlds.cast import OPTIONS
from evaluation.worlds.scene import BETWEEN
from evaluation.worlds.shuffled import shuffled
from evaluation.worlds.simulator import TooFewStories, simulate, train_and_test
from evaluation.worlds.stories import NAMES, TASKS, Story, file_of, read_stories, write_stories
from evaluation.worlds.world import Event, Impossible, World
from service.cli import run
from text.errors import StoryQAError

OTHER_CAPITALS = re.findall(r"\w+", "After Afterwards Then Following Yesterday This Mice Sheep Wolves Cats")
CARRYING = (2, 3, 5, 6, 7, 8)
SUPPORTS = {1: 1, 2: 2, 3: 3, 4: 1, 5: 1, 6: 1, 9: 1, 10: 1, 12: 1, 16: 3, 20: 1} | dict.fromkeys(
    (11, 13, 14, 15, 17, 18, 19), 2
)


@cache
def stories(task: int) -> list[Story]:
    return simulate(task, 50 if task == 3 else 200, seed=5)


def as_asked(task: int, answers: tuple[str, ...]) -> tuple[str, ...]:
    """Task 8 has sets for answers."""
    return tuple(sorted(answers)) if task == 8 else answers


def check_answers(task: int, told: list[Story]) -> None:
    for story in told:
        for asked in story.asked:
            answers = as_asked(task, asked.answers)
            assert oracle.answers(task, story.facts[: asked.after], asked.text) == answers, (story, asked)


@pytest.mark.parametrize("task", TASKS)
def test_answers_follow_from_the_facts_told_before_the_question(task: int) -> None:
    check_answers(task, stories(task))


@pytest.mark.parametrize("task", TASKS)
def test_the_supporting_facts_are_enough_and_were_told_before(task: int) -> None:
    for story in stories(task):
        for asked in story.asked:
            assert all(number < asked.after for number in asked.support)
            assert len(set(asked.support)) == len(asked.support) == SUPPORTS.get(task, len(asked.support))
            facts = [story.facts[number] for number in sorted(asked.support)]
            assert oracle.answers(task, facts, asked.text) == as_asked(task, asked.answers), (story, asked)


@pytest.mark.parametrize("task", [task for task in TASKS if task not in (7, 8)])
def test_no_supporting_fact_can_be_left_out(task: int) -> None:
    for story in stories(task):
        for asked in story.asked:
            for left_out in asked.support:
                facts = [story.facts[number] for number in sorted(asked.support) if number != left_out]
                assert answered(task, facts, asked.text) != asked.answers


def answered(task: int, facts: list[str], question: str) -> tuple[str, ...] | None:
    """The answer, or None where too little was told for one."""
    try:
        return oracle.answers(task, facts, question)
    except (AssertionError, IndexError, KeyError, StopIteration, ValueError):
        return None


@pytest.mark.parametrize("task", [task for task in TASKS if task not in (4, *range(14, 20))])
def test_nobody_goes_to_where_they_were_told_to_be(task: int) -> None:
    for story in stories(task):
        at: dict[str, str] = {}
        moves = oracle.moves(story.facts)
        for number, fact in enumerate(story.facts):
            for actor, place in [move[1:] for move in moves if move[0] == number]:
                assert at.get(actor) != place, story
                at[actor] = place
            there = oracle.found(r"(\w+) is in the (\w+)\.", fact)
            if there:
                assert at.get(there[0]) != there[1], story
                at[there[0]] = there[1]
            elif said := oracle.found(r"(\w+) is .*", fact):
                at.pop(said[0], None)


@pytest.mark.parametrize("task", CARRYING)
def test_things_are_taken_where_they_lie_and_given_by_who_holds_them_to_who_is_there(task: int) -> None:
    for story in stories(task):
        at: dict[str, str] = {}  # of people and of things that lie somewhere
        holder: dict[str, str] = {}
        events = {one[0]: one[1:] for one in oracle.handled(story.facts)}
        went = {number: (actor, place) for number, actor, place in oracle.moves(story.facts)}
        assert len(events) + len(went) == len(story.facts)
        for number in range(len(story.facts)):
            if number in went:
                at.update([went[number]])
                continue
            what, actor, thing, other = events[number]
            here = at.get(actor)
            if what == "get":
                assert thing not in holder, story
                assert None in (here, at.get(thing)) or at[thing] == here, story
                holder[thing] = actor
                at.pop(thing, None)
                continue
            assert holder.pop(thing) == actor, story
            if what == "give":
                assert other != actor
                assert None in (here, at.get(other)) or at[other] == here, story
                holder[thing] = other
            elif here is not None:
                at[thing] = here


@pytest.mark.parametrize(
    "event",
    [
        Event("go", "Ann", place="mill"),
        Event("get", "Ann", thing="cup"),
        Event("get", "Ann", thing="key"),
        Event("drop", "Ann", thing="cup"),
        Event("give", "Ann", thing="cup", to="Bob"),
        Event("give", "Bob", thing="cup", to="Ann"),
        Event("give", "Bob", thing="cup", to="Bob"),
        Event("set", "Ann", mood="glad"),
    ],
    ids=lambda event: f"{event.actor} {event.action} {event.place}{event.thing}{event.to}{event.mood}",
)
def test_an_action_needs_its_precondition(event: Event) -> None:
    world = World(Random(0), ("Ann", "Bob"), ("mill", "barn"), ("cup", "key"))
    world.at.update({"Ann": "mill", "Bob": "barn", "cup": "barn", "key": "barn"})
    world.do(Event("get", "Bob", thing="cup"))
    world.do(Event("set", "Ann", mood="glad"))
    with pytest.raises(Impossible):
        world.do(event)


@pytest.mark.parametrize("task", [1, 9, 10, 11, 12, 13])
def test_a_question_comes_after_every_second_fact(task: int) -> None:
    for story in stories(task):
        assert [asked.after for asked in story.asked] == [2, 4, 6, 8, 10]


@pytest.mark.parametrize("task", CARRYING)
def test_where_nothing_can_be_asked_two_more_facts_are_told(task: int) -> None:
    gaps = [asked.after % BETWEEN for story in stories(task) for asked in story.asked]
    assert set(gaps) == {0}
    assert max(len(story.facts) for story in stories(task)) > 10


@pytest.mark.parametrize("task", TASKS)
def test_there_are_just_as_many_questions_as_wanted(task: int) -> None:
    for wanted in (1, 4, 17):
        told = simulate(task, wanted, seed=1)
        assert sum(len(story.asked) for story in told) == wanted
        assert told[-1].asked[-1].after == len(told[-1].facts)


@pytest.mark.parametrize("task", TASKS)
def test_files_are_read_as_they_were_told(task: int, tmp_path: Path) -> None:
    file = tmp_path / "qa.txt"
    file.write_text(write_stories(stories(task), task), "utf-8")
    assert read_stories(file) == stories(task)


def test_a_seed_gives_the_same_stories_in_every_process() -> None:
    program = (
        "import hashlib; from evaluation.worlds.simulator import simulate\n"
        "from evaluation.worlds.stories import write_stories\n"
        "text = ''.join(write_stories(simulate(task, 50, 3), task) for task in range(1, 21))\n"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    text = "".join(write_stories(simulate(task, 50, 3), task) for task in TASKS)
    here = hashlib.sha256(text.encode()).hexdigest()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, env=environment, cwd=Path(__file__).parents[1], capture_output=True)
        assert done.stdout.decode().strip() == here, done.stderr.decode()


def test_seeds_and_splits_differ() -> None:
    told = {
        write_stories(simulate(1, 50, seed, split=split), 1) for seed in (0, 1) for split in ("train", "test")
    }
    assert len(told) == 4


@pytest.mark.parametrize("task", TASKS)
def test_train_and_test_have_no_story_in_common(task: int) -> None:
    both = train_and_test(task, 400, seed=2)
    assert not set(both["train"]) & set(both["test"])
    assert both["train"] == simulate(task, 400, 2)


def test_too_few_different_stories_are_refused() -> None:
    with pytest.raises(TooFewStories, match=r"of 8,000 questions were made"):
        train_and_test(4, 8000, seed=0, places=3)


@pytest.mark.parametrize("task", OPTIONS["distance"])
def test_so_many_facts_at_least_come_between_support_and_question(task: int) -> None:
    told = simulate(task, 40, seed=4, distance=7)
    check_answers(task, told)
    between = [asked.after - 1 - max(asked.support) for story in told for asked in story.asked]
    assert min(between) >= 7
    for one in told:
        for asked in one.asked:
            facts = [one.facts[number] for number in sorted(asked.support)]
            assert oracle.answers(task, facts, asked.text) == as_asked(task, asked.answers)


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

    english, other = words(stories(task)), words([shuffled(story) for story in stories(task)])
    letters = dict(zip(english, other, strict=True))
    assert "".join(letters[letter] for letter in english) == other
    assert len(set(letters.values())) == len(letters)
    for letter, becomes in letters.items():
        assert (letter != becomes) == letter.isalpha()
        assert letter.isupper() == becomes.isupper()
    assert [[one.support for one in shuffled(story).asked] for story in stories(task)] == [
        [one.support for one in story.asked] for story in stories(task)
    ]


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


def test_an_unknown_task_is_refused_by_name() -> None:
    with pytest.raises(StoryQAError, match="there is no task 0"):
        simulate(0, 1, 1)

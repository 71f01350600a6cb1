"""Simulated stories of the bAbI tasks: what follows from the facts, and what cannot happen in them."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from random import Random

import pytest
import worlds_oracle as oracle

from evaluation.worlds.scene import BETWEEN
from evaluation.worlds.simulator import TooFewStories, simulate, train_and_test
from evaluation.worlds.stories import TASKS, Story, read_stories, write_stories
from evaluation.worlds.world import Event, Impossible, World
from text.errors import StoryQAError

CARRYING = (2, 3, 5, 6, 7, 8)
SUPPORTS = {1: 1, 2: 2, 3: 3, 4: 1, 5: 1, 6: 1, 9: 1, 10: 1, 12: 1, 16: 3, 20: 1} | dict.fromkeys(
    (11, 13, 14, 15, 17, 18, 19), 2
)


@cache
def stories(task: int) -> list[Story]:
    return simulate(task, 50 if task == 3 else 200, seed=5)


@pytest.mark.parametrize("task", TASKS)
def test_answers_follow_from_the_facts_told_before_the_question(task: int) -> None:
    for story in stories(task):
        for asked in story.asked:
            facts = story.facts[: asked.after]
            assert oracle.answers(task, facts, asked.text) == oracle.ordered(task, asked.answers), story


@pytest.mark.parametrize("task", TASKS)
def test_the_supporting_facts_are_enough_and_were_told_before(task: int) -> None:
    for story in stories(task):
        for asked in story.asked:
            assert all(number < asked.after for number in asked.support)
            assert len(set(asked.support)) == len(asked.support) == SUPPORTS.get(task, len(asked.support))
            facts = [story.facts[number] for number in sorted(asked.support)]
            assert oracle.answers(task, facts, asked.text) == oracle.ordered(task, asked.answers), (
                story,
                asked,
            )


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


def test_an_unknown_task_is_refused_by_name() -> None:
    with pytest.raises(StoryQAError, match="there is no task 0"):
        simulate(0, 1, 1)

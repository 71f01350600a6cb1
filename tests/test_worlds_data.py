"""Simulated stories of the bAbI tasks beside the publishers' own."""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import worlds_oracle as oracle

from evaluation.worlds.simulator import simulate
from evaluation.worlds.stories import TASKS, Story, file_of, read_stories

pytestmark = pytest.mark.data
FACTS_PER_STORY = (10, 21.7, 74, 2, 25.2, 10.3, 13.2, 13.2, 10, 10, 10, 10, 10, 11.9, 8, 9, 2, 6.2, 5, 10.6)
NAMES = {  # what is blanked, and whether in one task alone
    "SHAPE": ("red square|blue square|yellow square|pink rectangle|red sphere|triangle", 17),
    "SIZE": ("box of chocolates|chocolate|box|chest|suitcase|container", 18),
    "NAME": (
        "Mary|John|Daniel|Sandra|Bill|Fred|Jeff|Julie|Gertrude|Winona|Emily|Jessica|Lily|Bernhard|Brian|Julius|"
        "Greg|Sumit|Yann|Jason|Antoine",
        None,
    ),
    "PLACE": ("bedroom|kitchen|garden|hallway|bathroom|office|park|school|cinema", None),
    "THING": ("apple|football|milk|pajamas", None),
    "KIND": ("mice|mouse|wolves|wolf|cats|cat|sheep|swan|lion|frog|rhino", None),
    "COLOUR": ("green|white|gray|yellow", None),
    "DIRECTION": ("north|south|east|west", None),
}
GREATEST_DISTANCE = 0.06


@pytest.fixture(scope="module")
def babi(data_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The publishers' training files: of 1,000 questions in ``en``, of 10,000 in ``en-10k``."""
    folder = tmp_path_factory.mktemp("babi")
    for name in ("en", "en-10k"):
        (folder / name).mkdir()
        with tarfile.open(data_folder / "babi" / f"{name}.tar.xz") as archive:
            archive.extractall(folder / name, filter="data")
    return folder


@cache
def real(babi: Path, task: int) -> tuple[Story, ...]:
    """The stories of both files of a task; task 3 has the smaller one alone."""
    folders = [babi / "en"] + [babi / "en-10k"] * (task != 3)
    return tuple(story for folder in folders for story in read_stories(file_of(folder, task, "train")))


@cache
def simulated(task: int) -> tuple[Story, ...]:
    return tuple(simulate(task, 10_000, seed=0))


def blanked(sentence: str, task: int) -> str:
    """The sentence without its names, so that a pattern is left."""
    for blank, (names, only) in NAMES.items():
        if only in (None, task):
            sentence = re.sub(rf"\b({names})\b", blank, sentence, flags=re.IGNORECASE)
    return sentence


def patterns(stories: Iterable[Story], task: int) -> Counter[str]:
    return Counter(
        blanked(sentence, task)
        for story in stories
        for sentence in (*story.facts, *(asked.text for asked in story.asked))
    )


def answers(stories: Iterable[Story]) -> Counter[str]:
    return Counter(",".join(asked.answers) for story in stories for asked in story.asked)


def support_numbers(stories: Iterable[Story]) -> Counter[int]:
    return Counter(len(asked.support) for story in stories for asked in story.asked)


def support_distances(stories: Iterable[Story]) -> Counter[int]:
    return Counter(asked.after - max(asked.support) for story in stories for asked in story.asked)


def support_orders(stories: Iterable[Story]) -> Counter[tuple[int, ...]]:
    return Counter(
        tuple(sorted(asked.support).index(number) for number in asked.support[:3])
        for story in stories
        for asked in story.asked
    )


def gaps(stories: Iterable[Story]) -> Counter[int]:
    told = [[0, *(asked.after for asked in story.asked)] for story in stories]
    return Counter(then - before for after in told for before, then in pairwise(after))


def distance(one: Counter[Any], other: Counter[Any]) -> float:
    """The total variation between two distributions."""
    return sum(abs(one[key] / one.total() - other[key] / other.total()) for key in {*one, *other}) / 2


@pytest.mark.parametrize("task", TASKS)
def test_the_sentences_have_the_publishers_patterns_and_no_others(babi: Path, task: int) -> None:
    told, ours = patterns(real(babi, task), task), patterns(simulated(task), task)
    assert set(ours) == set(told)
    assert distance(told, ours) < GREATEST_DISTANCE


@pytest.mark.parametrize("task", TASKS)
def test_stories_are_as_long_as_the_publishers(babi: Path, task: int) -> None:
    lengths = [len(story.facts) for story in simulated(task)]
    assert sum(lengths) / len(lengths) == pytest.approx(FACTS_PER_STORY[task - 1], rel=0.1)


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize(
    "counted", [answers, support_numbers, support_distances, support_orders, gaps], ids=lambda f: f.__name__
)
def test_questions_are_distributed_as_the_publishers(
    babi: Path, task: int, counted: Callable[[Iterable[Story]], Counter[Any]]
) -> None:
    told, ours = counted(real(babi, task)), counted(simulated(task))
    if task == 3 and counted is gaps:
        told, ours = (Counter({gap == 2: n for gap, n in one.items()}) for one in (told, ours))
    assert distance(told, ours) < GREATEST_DISTANCE


@pytest.mark.parametrize("task", TASKS)
def test_the_publishers_answers_follow_by_the_same_reading(babi: Path, task: int) -> None:
    wrong = total = 0
    for story in read_stories(file_of(babi / "en", task, "train")):
        for asked in story.asked:
            total += 1
            right = tuple(sorted(asked.answers)) if task == 8 else asked.answers
            wrong += oracle.answers(task, story.facts[: asked.after], asked.text) != right
    # Task 5 may ask what somebody gave to somebody who has been given something else since.
    assert wrong <= 0.01 * total

"""A story of bAbI: facts, and questions asked between them, read from and written to the publishers' files.

Weston et al. 2015, section 3. A line is ``ID fact``, or ``ID question<tab>answer<tab>IDs``, the IDs being
those of the facts that support the answer, in the order of finding; ID 1 begins a story.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.files import DataError

TASKS = range(1, 21)
NAMES = {
    1: "single-supporting-fact",
    2: "two-supporting-facts",
    3: "three-supporting-facts",
    4: "two-arg-relations",
    5: "three-arg-relations",
    6: "yes-no-questions",
    7: "counting",
    8: "lists-sets",
    9: "simple-negation",
    10: "indefinite-knowledge",
    11: "basic-coreference",
    12: "conjunction",
    13: "compound-coreference",
    14: "time-reasoning",
    15: "basic-deduction",
    16: "basic-induction",
    17: "positional-reasoning",
    18: "size-reasoning",
    19: "path-finding",
    20: "agents-motivations",
}
LAYOUT = "bAbI's qaN_NAME_train.txt and qaN_NAME_test.txt, one pair a task"
_TIGHT = {4, *range(15, 21)}  # tasks whose files have no space between a question and its tab
_WANTED = "wanted ID text, or ID question<tab>answer<tab>IDs of facts"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, asked when the story had told ``after`` facts.

    ``answers`` are the words that are all wanted, in order. ``support`` are the numbers of the facts it
    follows from, from 0, in the order of finding.
    """

    text: str
    answers: tuple[str, ...]
    support: tuple[int, ...]
    after: int


@dataclass(frozen=True, slots=True)
class Story:
    """Facts, and the questions about them, both in the order of telling."""

    facts: tuple[str, ...]
    asked: tuple[Asked, ...]


def file_of(folder: Path, task: int, split: str) -> Path:
    """The file of a task, whatever stands between its number and its split; raises ``DataError`` for none."""
    found = sorted(path for path in folder.glob(f"qa{task}_*{split}.txt"))
    if not found:
        raise DataError(f"{folder} has no qa{task}_*{split}.txt; expected there: {LAYOUT}")
    return found[0]


def task_numbers(text: str) -> list[int]:
    """The tasks that ``"1,3,7-9"`` names, in order; raises ``DataError`` for what is none."""
    found: set[int] = set()
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,3})(?:\s*-\s*(\d{1,3}))?\s*", part)
        if match is None:
            raise DataError(f"{text!r} names no tasks; wanted numbers and ranges such as 1,3,7-9")
        first, last = int(match[1]), int(match[2] or match[1])
        if first not in TASKS or last not in TASKS or first > last:
            raise DataError(f"there is no task {part.strip()}; choose from {TASKS[0]} to {TASKS[-1]}")
        found.update(range(first, last + 1))
    return sorted(found)


def tasks_in(folder: Path, split: str) -> list[int]:
    """The tasks whose file of the split is in the folder."""
    return [task for task in TASKS if any(folder.glob(f"qa{task}_*{split}.txt"))]


def read_stories(path: Path) -> list[Story]:
    """The stories of a file, in order; raises ``DataError`` that names file and line of what is malformed."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}); expected: {LAYOUT}") from error
    stories: list[Story] = []
    facts: list[str] = []
    asked: list[Asked] = []
    numbers: dict[int, int] = {}  # of the facts, by their IDs

    def end_story() -> None:
        if facts or asked:
            stories.append(Story(tuple(facts), tuple(asked)))
        facts.clear()
        asked.clear()
        numbers.clear()

    last = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{path}, line {number}: {line[:60]!r}"
        match = re.match(r"(\d+) (.*\S.*)", line)
        if match is None:
            raise DataError(f"{where}; {_WANTED}")
        id, rest = int(match[1]), match[2]
        if id == 1:
            end_story()
        elif id != last + 1:
            raise DataError(f"{where} has ID {id} after {last}; wanted {last + 1}, or 1 for a new story")
        last = id
        if "\t" not in rest:
            numbers[id] = len(facts)
            facts.append(rest.strip())
            continue
        asked.append(_asked(rest.split("\t"), numbers, where))
    end_story()
    if not any(story.asked for story in stories):
        raise DataError(f"{path} has no question; expected: {LAYOUT}")
    return stories


def _asked(cells: list[str], numbers: dict[int, int], where: str) -> Asked:
    if len(cells) != 3 or not all(cell.strip() for cell in cells[:2]):
        raise DataError(f"{where} has {len(cells)} cells; {_WANTED}")
    text, answer, support = map(str.strip, cells)
    try:
        found = tuple(numbers[int(id)] for id in support.split())
    except (KeyError, ValueError):
        raise DataError(f"{where} has the support {support!r}; wanted IDs of facts before it") from None
    return Asked(text, tuple(answer.split(",")), found, len(numbers))


def write_stories(stories: Iterable[Story], task: int) -> str:
    """The stories as the publishers' file of a task: what ``read_stories`` reads."""
    tab = "\t" if task in _TIGHT else " \t"
    lines = []
    for story in stories:
        ids: list[int] = []  # of the facts told
        waiting = list(story.asked)
        id = 0
        for number in range(len(story.facts) + 1):
            while waiting and waiting[0].after == number:
                one = waiting.pop(0)
                id += 1
                support = " ".join(str(ids[i]) for i in one.support)
                lines.append(f"{id} {one.text}{tab}{','.join(one.answers)}\t{support}")
            if number < len(story.facts):
                id += 1
                ids.append(id)
                lines.append(f"{id} {story.facts[number]}")
    return "".join(f"{line}\n" for line in lines)

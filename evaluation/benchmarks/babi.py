"""bAbI: twenty tasks, each of one skill, whose stories say everything that their questions want to know."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark, Question, in_memory
from evaluation.benchmarks.files import DataError, choose, require_questions
from evaluation.worlds.stories import LAYOUT, TASKS, Story, file_of, read_stories, tasks_in
from indexing.book import Book

SPLITS = ("test", "valid", "train")
SETTINGS = ("all", *map(str, TASKS))
_LISTS = 8  # the task whose answers are a set: right in any order


def load(
    data: Annotated[Path, f"A folder with {LAYOUT}."],
    split: Annotated[str, "test, valid or train."] = "test",
    setting: Annotated[str, "all, or the number of a task, 1 to 20."] = "all",
) -> Benchmark:
    """The questions of one split; raises ``DataError`` for files that are missing or malformed.

    Of all tasks those whose files are there. The facts told before a question are given, one a passage; its
    kind is the number of its task. A right answer gives all words that are wanted, joined by commas.
    """
    choose("split", split, SPLITS, "bAbI")
    choose("setting", setting, SETTINGS, "bAbI")
    tasks = tasks_in(data, split) if setting == "all" else [int(setting)]
    if not tasks:
        # The publishers' archive has a folder for each language and size.
        inside = sorted(path.name for path in data.glob("*") if path.is_dir() and tasks_in(path, split))
        instead = f"; its folders {', '.join(inside)} have" if inside else ""
        raise DataError(f"{data} has no qaN_*{split}.txt{instead}; expected there: {LAYOUT}")
    found = [
        (f"qa{task}-{number}", task, story)
        for task in tasks
        for number, story in enumerate(read_stories(file_of(data, task, split)), 1)
    ]
    books = {id: Book(id, id, "\n".join(story.facts), "bAbI") for id, _, story in found}
    return Benchmark(
        name="babi",
        split=split,
        setting=setting,
        questions=require_questions((asked for one in found for asked in _questions(*one)), data, LAYOUT),
        books=in_memory(books),
        titles={id: id for id in books},
        ranked=False,
        metrics=("accuracy",),
    )


def _questions(id: str, task: int, story: Story) -> list[Question]:
    places, at = [], 0
    for fact in story.facts:
        places.append((at, at + len(fact)))
        at += len(fact) + 1
    questions = []
    for number, one in enumerate(story.asked, 1):
        orders = permutations(one.answers) if task == _LISTS else [one.answers]
        questions.append(
            Question(
                f"{id}-{number}",
                id,
                one.text,
                tuple(",".join(order) for order in orders),
                id,
                given=tuple(places[: one.after]),
                gold=tuple(places[i] for i in one.support),
                kind=str(task),
            )
        )
    return questions

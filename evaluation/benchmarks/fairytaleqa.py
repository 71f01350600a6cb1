"""FairytaleQA as published: whole short stories, and for each question the sections that hold its answer."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark, Place, Question, in_memory
from evaluation.benchmarks.files import DataError, choose, plain, read_rows, require, require_questions
from evaluation.benchmarks.holdout import (
    FAIRYTALEQA_SHARE,
    HELD_OUT,
    HELD_OUT_HELP,
    HELD_OUT_NOTE,
    TRAINED_ON_NOTE,
)
from evaluation.benchmarks.holdout import held_out as held_out_stories
from indexing.book import Book
from indexing.ids import slug

SETTINGS = ("sections", "stories", "collection")
_APART = "\n\n"
_LAYOUT = (
    "the FairytaleQA folder: questions/<split>/<story>-questions.csv, "
    "section-stories/<split>/<story>-story.csv"
)
_QUESTION_COLUMNS = (
    "question_id",
    "cor_section",
    "question",
    "ex-or-im1",
    "answer1",
    "answer2",
    "answer3",
    "answer4",
)
# Two annotators answered the questions of val and test; in train, answer2 and answer3 are paraphrases.
_REFERENCES = {"train": ("answer1", "answer2", "answer3")}
_TWO_ANNOTATORS = ("answer1", "answer4")


@dataclass(frozen=True, slots=True)
class _Story:
    """A story of which ``sections[label]`` are the places of the section (or sections) so numbered."""

    name: str
    text: str
    sections: dict[str, tuple[Place, ...]]

    @property
    def title(self) -> str:
        return self.name.replace("-", " ")


def load(
    data: Path,
    split: Annotated[str, "val, test or train, where it is there."] = "val",
    setting: Annotated[
        str,
        "sections: the gold sections are given; stories: passages are found in the question's own story; "
        "collection: in all stories of the split as one book.",
    ] = "sections",
    held_out: Annotated[bool, HELD_OUT_HELP] = False,
) -> Benchmark:
    """The questions of one split; raises ``DataError`` for files that are missing or in another layout.

    ``sections``: the gold sections are read. ``stories``: passages come from the question's own
    story. ``collection``: they come from all stories of the split, joined as one book.
    ``held_out`` keeps the stories of train that models are chosen on.
    """
    choose("setting", setting, SETTINGS, "FairytaleQA")
    questions = require(data / "questions", _LAYOUT)
    choose("split", split, (path.name for path in questions.iterdir() if path.is_dir()), str(questions))
    names = sorted(
        path.name.removesuffix("-questions.csv") for path in (questions / split).glob("*-questions.csv")
    )
    if not names:
        raise DataError(f"{questions / split} holds no file of questions; expected: {_LAYOUT}")
    if held_out:
        if split != "train":
            raise DataError(f"stories are held out of FairytaleQA train alone, not of {split!r}")
        names = sorted(held_out_stories(names, FAIRYTALEQA_SHARE))
        if not names:
            raise DataError(f"{questions / split} holds too little: no held-out story")
    stories = [_read_story(data / "section-stories" / split / f"{name}-story.csv", name) for name in names]
    if setting == "collection":
        whole = _book(
            f"fairytaleqa-{split}" + ("-held-out" if held_out else ""),  # another book in the store
            f"FairytaleQA {split}",
            _APART.join(story.text for story in stories),
            split,
        )
        books = [whole] * len(stories)
        starts = [0, *accumulate(len(story.text) + len(_APART) for story in stories[:-1])]
    else:
        books = [_book(slug(story.name), story.title, story.text, split) for story in stories]
        starts = [0] * len(stories)
    found: list[Question] = []
    for story, book, start in zip(stories, books, starts, strict=True):
        path = questions / split / f"{story.name}-questions.csv"
        found += _read_questions(path, split, story, book.id, start, setting == "sections")
    return Benchmark(
        name="fairytaleqa",
        split=split,
        setting=setting,
        questions=require_questions(found, questions / split, _LAYOUT),
        books=in_memory({book.id: book for book in books}),
        titles={story.name: story.title for story in stories},
        part=HELD_OUT if held_out else None,
        notes=(HELD_OUT_NOTE,) if held_out else (TRAINED_ON_NOTE,) if split == "train" else (),
    )


def _book(id: str, title: str, text: str, split: str) -> Book:
    return Book(id=id, title=title, text=text, source=f"fairytaleqa:{split}:{id}")


def _read_story(path: Path, name: str) -> _Story:
    sections: dict[str, list[Place]] = defaultdict(list)
    texts: list[str] = []
    at = 0
    for row in read_rows(path, ("section", "text"), _LAYOUT):
        text = plain(row["text"])
        if text:
            sections[row["section"].strip()].append((at, at + len(text)))
            texts.append(text)
            at += len(text) + len(_APART)
    if not texts:
        raise DataError(f"{path} holds no text; expected: {_LAYOUT}")
    return _Story(name, _APART.join(texts), {label: tuple(places) for label, places in sections.items()})


def _read_questions(
    path: Path, split: str, story: _Story, book: str, start: int, given: bool
) -> list[Question]:
    """The questions of one story, the first character of which is ``start`` in ``book``."""
    seen: Counter[str] = Counter()
    questions = []
    for row in read_rows(path, _QUESTION_COLUMNS, _LAYOUT):
        number = row["question_id"].strip()
        seen[number] += 1  # ten numbers of train are used twice in one file
        id = f"{story.name}:{number}" + (f".{seen[number]}" if seen[number] > 1 else "")
        labels = re.findall(r"\d+", row["cor_section"])
        unknown = [label for label in labels if label not in story.sections]
        if unknown or not labels:
            raise DataError(
                f"{path}: question {number} names section {row['cor_section']!r}; "
                f"the story has {', '.join(story.sections)}"
            )
        gold = tuple(
            (start + first, start + last)
            for first, last in sorted({place for label in labels for place in story.sections[label]})
        )
        answers = tuple(filter(None, (row[c].strip() for c in _REFERENCES.get(split, _TWO_ANNOTATORS))))
        try:
            questions.append(
                Question(
                    id=id,
                    story=story.name,
                    text=row["question"].strip(),
                    answers=answers,
                    book=book,
                    given=gold if given else (),
                    gold=gold,
                    kind=row["ex-or-im1"].strip() or None,
                )
            )
        except ValueError as error:
            raise DataError(f"{path}: {error}") from None
    return questions

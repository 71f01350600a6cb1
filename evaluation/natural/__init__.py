"""Natural questions about ten novels, as readers type them: what counts as right, and where it stands."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from evaluation.benchmarks.files import DataError, choose, require
from evaluation.natural.judging import Key, parse_rule

KINDS = (
    "who",
    "where",
    "when",
    "why",
    "how",
    "how many",
    "what",
    "yes/no",
    "describe",
    "summarise",
    "how it ends",
    "follow-up",
    "other",
)
HALVES = ("choose", "figure")
# Words of an answer beyond which it is at most partly right: who quotes half a page has not answered.
LONGEST = {"describe": 120, "how it ends": 120, "summarise": 250} | dict.fromkeys(
    ("who", "where", "when", "how many"), 25
)
LONGEST_OTHERWISE = 40
_WANTED = {
    "id": str,
    "book": str,
    "title": str,
    "half": str,
    "kind": str,
    "question": str,
    "answerable": bool,
}
_LISTS = ("right", "partly", "wrong_if", "places")
_FIELDS = frozenset((*_WANTED, *_LISTS, "follows", "note"))
_LAYOUT = "the natural questions, a JSON object a line"


@dataclass(frozen=True, slots=True)
class NaturalQuestion:
    """A question about the book with the id ``book``, a document of NarrativeQA.

    ``half`` says what it is for: settings are chosen by the questions of one half of the books, and the
    figure is taken on those of the other. ``places`` are ``(start, end)`` of what answers it in the text
    of ``evaluation.benchmarks.narrativeqa.read_story``, in code points; there are none where the book
    does not answer. A follow-up is asked after the question whose id is ``follows``, and makes sense only
    then.
    """

    id: str
    book: str
    title: str
    half: str
    kind: str
    question: str
    key: Key
    places: tuple[tuple[int, int], ...]
    follows: str | None = None
    note: str | None = None

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z]+-\d\d", self.id):
            raise ValueError(f"{self.id!r} is no id; wanted a word and two digits, such as styles-03")
        if not re.fullmatch(r"[0-9a-f]{40}", self.book):
            raise ValueError(f"{self.book!r} is no document of NarrativeQA")
        if self.kind not in KINDS:
            raise ValueError(f"unknown kind {self.kind!r}; choose from {', '.join(KINDS)}")
        if self.half not in HALVES:
            raise ValueError(f"unknown half {self.half!r}; choose from {', '.join(HALVES)}")
        if not self.question.strip() or not self.title.strip():
            raise ValueError("the question or the title is empty")
        if self.answerable != bool(self.places):
            raise ValueError("places are wanted where the book answers, and there alone")
        for start, end in self.places:
            if not 0 <= start < end:
                raise ValueError(f"a place has bounds [{start}, {end})")
        if (self.kind == "follow-up") != (self.follows is not None):
            raise ValueError("a follow-up, and nothing else, follows another question")

    @property
    def answerable(self) -> bool:
        """Whether the book answers it."""
        return self.key.answerable


def natural_questions(half: str | None = None) -> list[NaturalQuestion]:
    """The questions that come with storyqa, all or of one half; raises ``DataError`` for an unknown half."""
    if half is not None:
        choose("half", half, HALVES, "the set of natural questions")
    path = Path(str(files(__name__) / "questions.jsonl"))
    return [question for question in read_questions(path) if half in (None, question.half)]


def read_questions(path: Path) -> list[NaturalQuestion]:
    """The questions of a file, in its order; raises ``DataError`` that names the file and the line."""
    found: dict[str, NaturalQuestion] = {}
    books: dict[str, tuple[str, str]] = {}
    lines = require(path, _LAYOUT).read_text("utf-8").splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            question = _question(json.loads(line))
            if question.id in found:
                raise ValueError(f"there are two questions {question.id}")
            if books.setdefault(question.book, (question.title, question.half)) != (
                question.title,
                question.half,
            ):
                raise ValueError(f"the book of {question.id} has another title or half above")
            if question.follows is not None:
                before = found.get(question.follows)
                if before is None or before.book != question.book:
                    raise ValueError(f"no question {question.follows} about the same book stands above")
        except ValueError as error:
            raise DataError(f"{path}, line {number}: {error}") from None
        found[question.id] = question
    return list(found.values())


def _question(row: Any) -> NaturalQuestion:
    if not isinstance(row, dict):
        raise ValueError("no JSON object")
    unknown, lacking = sorted(set(row) - _FIELDS), [name for name in _WANTED if name not in row]
    if unknown or lacking:
        raise ValueError(f"lacking {lacking}, unknown {unknown}; the fields are {', '.join(sorted(_FIELDS))}")
    for name, wanted in _WANTED.items():
        if not isinstance(row[name], wanted):
            raise ValueError(f"{name} is {row[name]!r}; wanted {wanted.__name__}")
    for name in _LISTS:
        if not isinstance(row.get(name, []), list):
            raise ValueError(f"{name} is {row[name]!r}; wanted a list")
    for name in ("follows", "note"):
        if not isinstance(row.get(name, ""), str):
            raise ValueError(f"{name} is {row[name]!r}; wanted text")
    right, partly, wrong_if = (tuple(map(parse_rule, row.get(name, []))) for name in _LISTS[:3])
    return NaturalQuestion(
        id=row["id"],
        book=row["book"],
        title=row["title"],
        half=row["half"],
        kind=row["kind"],
        question=row["question"],
        key=Key(row["answerable"], right, partly, wrong_if, LONGEST.get(row["kind"], LONGEST_OTHERWISE)),
        places=tuple(map(_place, row.get("places", []))),
        follows=row.get("follows"),
        note=row.get("note"),
    )


def _place(value: Any) -> tuple[int, int]:
    if isinstance(value, list) and len(value) == 2 and all(type(bound) is int for bound in value):
        return value[0], value[1]
    raise ValueError(f"{value!r} is no place; wanted [start, end]")

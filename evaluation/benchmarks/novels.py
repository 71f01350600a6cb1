"""Natural questions about whole novels, our own writing, each with the place in the book that answers it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from evaluation.benchmarks.benchmark import Benchmark, LeftOut, Place, Question, in_memory
from evaluation.benchmarks.files import DataError, require
from evaluation.benchmarks.holdout import (
    HELD_OUT,
    HELD_OUT_HELP,
    HELD_OUT_NOTE,
    TRAINED_ON_NOTE,
    held_out_list,
)
from evaluation.benchmarks.narrativeqa import read_story
from indexing.book import Book

SPLIT = "own"
_LAYOUT = (
    "a folder of novels, each <Gutenberg id>.txt, or NarrativeQA's tmp, where each is <document id>.content"
)


class AnotherEdition(DataError):
    """A text that is not the one that the questions' places are in."""


@dataclass(frozen=True, slots=True)
class NovelQuestion:
    """A question about a novel, ``answers`` in our own words, and where the novel gives them.

    ``place`` are the sentences that prove it, and ``span``, within them, the words that answer best. All are
    empty where the novel does not answer.
    """

    kind: str
    text: str
    answers: tuple[str, ...] = ()
    place: Place | None = None
    span: Place | None = None

    def references(self, text: str) -> tuple[str, ...]:
        """The answers, and how the novel's ``text`` puts it; none where it does not answer."""
        return (*self.answers, text[slice(*self.span)]) if self.span else ()


@dataclass(frozen=True, slots=True)
class Novel:
    """What is asked about one novel; places are those of a text of so many ``characters``."""

    id: str
    title: str
    characters: int
    questions: tuple[NovelQuestion, ...]

    @property
    def name(self) -> str:
        """What it is called among all documents: no number by itself, which others have, too."""
        return f"gutenberg-{self.id}" if self._is_of_gutenberg else self.id

    @property
    def _is_of_gutenberg(self) -> bool:
        """Whether the id is Project Gutenberg's, and not that of a document of NarrativeQA."""
        return self.id.isdecimal()

    def read(self, path: Path) -> Book:
        """The novel in a file; raises ``AnotherEdition``, in which places would point elsewhere.

        A story of NarrativeQA is read as its benchmark reads it: one index serves both.
        """
        book = read_story(path, self.id)
        if self._is_of_gutenberg:
            book = replace(book, title=self.title, source=f"gutenberg:{self.id}")
        if len(book.text) != self.characters:
            raise AnotherEdition(
                f"a text of {len(book.text):,} characters; wanted the edition of {self.characters:,}"
            )
        return book

    @property
    def held_out(self) -> bool:
        """Whether models are chosen on it, and none is trained."""
        return self.name in held_out_list()


@cache
def novels() -> tuple[Novel, ...]:
    """All novels that come with questions, which do not come with their texts."""
    lines = (files(__package__) / "novels.jsonl").read_text("utf-8").splitlines()
    found: list[tuple[dict[str, Any], list[NovelQuestion]]] = []
    for row in map(json.loads, lines):
        if "book" in row:
            found.append((row, []))
        else:
            found[-1][1].append(_question(row))
    return tuple(
        Novel(row["book"], row["title"], row["characters"], tuple(questions)) for row, questions in found
    )


def _question(row: dict[str, Any]) -> NovelQuestion:
    if "answers" not in row:
        return NovelQuestion(row["kind"], row["question"])
    place, span = ((start, end) for start, end in (row["place"], row["span"]))
    return NovelQuestion(row["kind"], row["question"], tuple(row["answers"]), place, span)


def texts_in(folder: Path) -> Iterator[tuple[Novel, Path]]:
    """The novels whose texts are in the folder, and their files."""
    for novel in novels():
        for path in (folder / f"{novel.id}.txt", folder / f"{novel.id}.content"):
            if path.is_file():
                yield novel, path
                break


def load(
    data: Annotated[Path, f"The texts: {_LAYOUT}."],
    held_out: Annotated[bool, HELD_OUT_HELP] = False,
) -> Benchmark:
    """The questions about the novels whose texts are in the folder, as far as these answer them.

    Another edition is left out. ``held_out`` keeps the novels that models are chosen on.
    Raises ``DataError`` where no novel is left.
    """
    found = [(one, path) for one, path in texts_in(require(data, _LAYOUT)) if one.held_out or not held_out]
    books: dict[str, Book] = {}
    left_out: list[LeftOut] = []
    questions: list[Question] = []
    for novel, path in found:
        try:
            book = novel.read(path)
        except AnotherEdition as error:
            left_out.append(LeftOut(novel.id, novel.title, len(novel.questions), str(error)))
            continue
        books[novel.id] = book
        questions += _asked(novel, book.text)
    if not questions:
        raise DataError(f"{data} holds no novel that there are questions about; expected: {_LAYOUT}")
    return Benchmark(
        name="novels",
        split=SPLIT,
        setting="books",
        questions=tuple(questions),
        books=in_memory(books),
        titles={novel.id: novel.title for novel, _ in found},
        left_out=tuple(left_out),
        part=HELD_OUT if held_out else None,
        notes=(HELD_OUT_NOTE,) if held_out else (TRAINED_ON_NOTE,),
    )


def _asked(novel: Novel, text: str) -> Iterator[Question]:
    for number, one in enumerate(novel.questions, 1):
        if one.place is not None:
            yield Question(
                id=f"{novel.id}:{number}",
                story=novel.id,
                text=one.text,
                answers=one.references(text),
                book=novel.id,
                gold=(one.place,),
                kind=one.kind,
            )

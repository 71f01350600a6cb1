"""The questions asked: of a reader, of a store that holds their books, or of a service that is running."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from answering.ask import Ask
from answering.book_qa import BookQA
from answering.configuration import Configuration
from evaluation.probing.fresh_questions import SkillQuestion
from evaluation.probing.story_books import StoryBook, passages
from evaluation.run import BATCH, Progress, index_books
from indexing.book import Book
from indexing.store import IndexStore
from readers.choosing import answers_to
from readers.reading import Reader, Reading

LENT = 16  # books that a service or a store holds for us at a time: what a probe that is killed leaves there
TOGETHER = 16  # questions in one request: it must be answered before the service's deadline


@dataclass(frozen=True, slots=True)
class Said:
    """An answer to a question, and the reader that gave it, with the version of its weights."""

    question: SkillQuestion
    answer: str
    reader: str


class Answered(Protocol):
    """What a service answers, as far as it is looked at."""

    answer: str
    versions: dict[str, str]


class Service(Protocol):
    """A service that is running, and lends room for books."""

    def books(self, texts: Sequence[str]) -> AbstractContextManager[list[str]]:
        """The ids of books of these texts, which the service has until the context ends, however it does."""
        ...

    def answers(self, questions: Sequence[Mapping[str, Any]]) -> Sequence[Answered]:
        """The answers to many questions, in order; each is what ``POST /answer`` takes."""
        ...


def ask_reader(
    name: str, reader: Reader, questions: Sequence[SkillQuestion], progress: Progress
) -> Iterator[Said]:
    """What the reader, by its full name, says to each question, given the facts told before it."""
    full = name if reader.version is None else f"{name}@{reader.version}"
    for first in range(0, len(questions), BATCH):
        progress("answering", first, len(questions))
        batch = questions[first : first + BATCH]
        readings = [
            Reading(one.text, passages(one.facts), (",".join(one.answers),) if reader.oracle else ())
            for one in batch
        ]
        answers = answers_to(name, reader, reader.prepare(readings))
        yield from (
            Said(one, found[0].text if found else "", full) for one, found in zip(batch, answers, strict=True)
        )


def ask_store(
    books: Sequence[StoryBook],
    configuration: Configuration,
    retriever: str,
    reader: str,
    k: int,
    progress: Progress,
) -> Iterator[Said]:
    """What is said to the questions about each book, which is indexed for as long as they are asked."""
    with tempfile.TemporaryDirectory(prefix="storyqa-probe-") as folder:
        store = IndexStore(Path(folder))
        qa = BookQA.of(replace(configuration, store=store.root))
        for first, batch in _batches(books):
            ids = [book.id for book in batch]
            told = partial(_of_all, progress, first, len(books))
            index_books({book.id: partial(_book, book) for book in batch}, ids, store, told)
            asked = _asked(batch, ids)
            progress("asking about books", first, len(books))
            asks = [
                Ask(id, question.text, k, retriever, reader, n_best=1, before=before)
                for id, question, before in asked
            ]
            for (_, question, _), cited in zip(asked, qa.answer_many(asks), strict=True):
                yield Said(question, cited.text, cited.versions["reader"])
            for id in ids:
                store.remove(id)


def _batches(books: Sequence[StoryBook]) -> Iterator[tuple[int, Sequence[StoryBook]]]:
    return ((first, books[first : first + LENT]) for first in range(0, len(books), LENT))


def _of_all(progress: Progress, before: int, count: int, what: str, done: int, total: int) -> None:
    """``progress`` of a batch that comes after ``before`` others of ``count``."""
    progress(what, before + done, count)


def _book(told: StoryBook) -> Book:
    return Book(told.id, told.id, told.text, "storyqa probe")


def _asked(books: Sequence[StoryBook], ids: Sequence[str]) -> list[tuple[str, SkillQuestion, int | None]]:
    """The questions about the books that have these ids, and how far of its book each is answered from."""
    return [
        (id, question, before)
        for id, book in zip(ids, books, strict=True)
        for question, before in zip(book.questions, book.befores, strict=True)
    ]


def ask_service(
    books: Sequence[StoryBook], service: Service, options: Mapping[str, Any], progress: Progress
) -> Iterator[Said]:
    """What a service says to the questions about each book, which it has for as long as they are asked.

    ``options`` go with every question, as ``POST /answer`` takes them.
    """
    for first, batch in _batches(books):
        progress("asking about books", first, len(books))
        with service.books([book.text for book in batch]) as ids:
            asked = _asked(batch, ids)
            for start in range(0, len(asked), TOGETHER):
                together = asked[start : start + TOGETHER]
                bodies = [
                    {"book_id": id, "question": question.text, "n_best": 1, "before": before, **options}
                    for id, question, before in together
                ]
                for (_, question, _), answered in zip(together, service.answers(bodies), strict=True):
                    yield Said(question, answered.answer, answered.versions["reader"])

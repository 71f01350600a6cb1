"""Batches of questions answered by a system, in this process or on the machines of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from evaluation.benchmarks.benchmark import Question, in_memory
from evaluation.run_options import Options
from evaluation.systems import (
    Answered,
    Books,
    GivenPassages,
    RetrievedPassages,
    StoryAnswers,
    System,
)
from indexing.book import Book
from indexing.store_protocol import Store
from text.errors import StoryQAError

Batch = Sequence[Question]


@dataclass
class Answering:
    """What answers batches; it can be sent to another process, where models are opened when it is used.

    Passages are given with the questions where ``store`` is None, and otherwise found in its indexes.
    ``story_answers`` are as the systems have them.
    """

    options: Options
    store: Store | None
    story_answers: StoryAnswers | None
    _made: tuple[Books, System] | None = field(default=None, init=False)

    def __call__(self, batch: Batch, books: Books) -> list[Answered]:
        """One answer per question, in order; ``books`` are those of the questions."""
        if self._made is None or (self.store is None and self._made[0] is not books):
            self._made = books, self._system(books)
        return self._made[1].answer(batch)

    def _system(self, books: Books) -> System:
        options, reader = self.options, self.options.open_reader()
        if self.store is None:
            return GivenPassages(books, options.reader, reader, self.story_answers)
        from answering.book_qa import BookQA

        qa = BookQA(self.store, settings=options.reader_settings)
        return RetrievedPassages(qa, options.retriever, options.reader, reader, options.k, self.story_answers)

    def on_ray(self, batches: Sequence[Batch], books: Books) -> Iterator[tuple[Batch, list[Answered]]]:
        """Each batch with its answers as they are known, of the cluster that this process is connected to.

        Raises what answering raises.
        """
        from indexing.cluster import mapped

        given = self.store is None
        needed = [{q.book: books[q.book]() for q in batch} if given else {} for batch in batches]
        items = list(zip(batches, needed, strict=True))
        for number, answers in mapped("storyqa evaluate", partial(_answers, self), items):
            if answers is None:
                raise StoryQAError(
                    "the processes died that had a batch of questions in hand, one after the other (out of "
                    "memory?); the same command goes on with those that are left"
                )
            if isinstance(answers, Exception):
                raise answers
            yield batches[number], answers


def _answers(answering: Answering, item: tuple[Batch, Mapping[str, Book]]) -> list[Answered] | Exception:
    batch, books = item
    try:
        return answering(batch, in_memory(books))
    except Exception as error:  # a value, for Ray would take it for the end of a process
        return error

"""What is evaluated: a reader on passages that are given, or the service's own search and reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol, cast

from answering.book_answers import said_of_itself
from answering.book_qa import Ask, BookQA, Candidate, Found
from answering.reading_on import read_on
from evaluation.benchmarks.benchmark import Place, Question, given_reading
from evaluation.metrics.overlap import reciprocal_rank
from indexing.book import Book
from readers.choosing import answers_to
from readers.reading import Answer, Ranker, Reader, Reading
from text.spans import overlaps

Books = Mapping[str, Callable[[], Book]]
StoryAnswers = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Answered:
    """What a system said to one question.

    ``place`` is where in the book the evidence stands, and ``quoted`` what the system says is
    written there. ``passages`` are those read, in story order. ``first_gold`` is the rank, from 1,
    of the first passage found that overlaps a gold place (0 where none is), None where nothing was
    searched or no place is known; ``reciprocal_rank`` is that of the right answer among the
    story's answers, None where they were not ranked.
    """

    text: str
    confidence: float
    place: Place | None
    quoted: str
    passages: tuple[Place, ...]
    first_gold: int | None
    reciprocal_rank: float | None


class System(Protocol):
    """Answers questions about the books of a benchmark."""

    def answer(self, questions: Sequence[Question]) -> list[Answered]:
        """One answer per question, in order."""
        ...


class GivenPassages:
    """A reader and the passages that come with each question.

    ``name`` is the reader's full name; ``story_answers`` are the answers to rank per story (MRR), None where
    they are not to be ranked.
    """

    def __init__(self, books: Books, name: str, reader: Reader, story_answers: StoryAnswers | None) -> None:
        self._book = lru_cache(maxsize=64)(lambda id: books[id]())
        self._name, self._reader = name, reader
        self._story_answers = story_answers

    def answer(self, questions: Sequence[Question]) -> list[Answered]:
        """See ``System.answer``."""
        readings = self._reader.prepare(
            [
                _reading(
                    self._reader,
                    q,
                    given_reading(q, self._book(q.book).text),
                )
                for q in questions
            ]
        )
        answers = answers_to(self._name, self._reader, readings)
        ranks = reciprocal_ranks(self._reader, readings, questions, self._story_answers)
        return [
            _given(question, reading, answer[:1], rank)
            for question, reading, answer, rank in zip(questions, readings, answers, ranks, strict=True)
        ]


def _given(question: Question, reading: Reading, answers: Sequence[Answer], rank: float | None) -> Answered:
    text, confidence, place, quoted = "", 0.0, None, ""
    for answer in answers:
        text, confidence = answer.text, answer.confidence
        cited = answer.span or answer.support
        if cited is not None:
            start = question.given[cited.passage][0]
            place = (start + cited.start, start + cited.end)
            # What a span reader answers must itself stand there; a support is quoted from what was read.
            quoted = text if answer.span else reading.passages[cited.passage][cited.start : cited.end]
    return Answered(text, confidence, place, quoted, question.given, None, rank)


class RetrievedPassages:
    """The object that the service and the command line answer with: ``k`` passages found, then read.

    ``reader`` is the reader that ``qa`` opens by the name ``reader_name``.
    """

    def __init__(
        self,
        qa: BookQA,
        retriever: str,
        reader_name: str,
        reader: Reader,
        k: int,
        story_answers: StoryAnswers | None,
    ) -> None:
        self._qa = qa
        self._retriever, self._reader_name, self._reader, self._k = retriever, reader_name, reader, k
        self._story_answers = story_answers

    def answer(self, questions: Sequence[Question]) -> list[Answered]:
        """See ``System.answer``."""
        asks = [
            Ask(
                q.book,
                q.text,
                k=self._k,
                retriever=self._retriever,
                reader=self._reader_name,
                n_best=1,
                before=q.before,
            )
            for q in questions
        ]
        # All passages are put in order where it is known which are right: at what rank the first is.
        found = self._qa.find(asks, all_hits=any(question.gold for question in questions), to_answer=True)
        reader = self._reader
        readings = reader.prepare(
            [_reading(reader, q, one.reading) for q, one in zip(questions, found, strict=True)]
        )
        found = [replace(one, reading=reading) for one, reading in zip(found, readings, strict=True)]
        found, answers = read_on(found, self._read(found), self._read)
        ranks = reciprocal_ranks(reader, readings, questions, self._story_answers)
        golds = [
            first_gold([(hit.passage.start, hit.passage.end) for hit in one.hits], question.gold)
            if question.gold
            else None
            for one, question in zip(found, questions, strict=True)
        ]
        results = []
        for question, one, of_one, rank, gold in zip(questions, found, answers, ranks, golds, strict=True):
            told = () if reader.oracle or question.candidates else _told(one)
            best = next(iter(told or self._qa.cite(one, of_one)), None)
            evidence = best.evidence if best else None
            # What a span reader answers must itself stand there; what else is said is only near it.
            is_span = bool(not told and of_one and of_one[0].span)
            results.append(
                Answered(
                    text=best.text if best else "",
                    confidence=best.confidence if best else 0.0,
                    place=(evidence.start, evidence.end) if evidence else None,
                    quoted=of_one[0].text if is_span else evidence.text if evidence else "",
                    passages=tuple((hit.passage.start, hit.passage.end) for hit in one.in_story_order),
                    first_gold=gold,
                    reciprocal_rank=rank,
                )
            )
        return results

    def _read(self, found: Sequence[Found]) -> list[list[Answer]]:
        return answers_to(self._reader_name, self._reader, [one.reading for one in found])


def _told(found: Found) -> Sequence[Candidate]:
    """What the book says of itself, where it is asked for that and says it."""
    said = said_of_itself(found)
    return () if said is None else said.candidates


def first_gold(places: Sequence[Place], gold: Sequence[Place]) -> int:
    """The rank, from 1, of the first place that overlaps a gold one; 0 where none does."""
    return next((rank for rank, place in enumerate(places, 1) if overlaps(place, gold)), 0)


def _reading(reader: Reader, question: Question, reading: Reading) -> Reading:
    """The reading with what only evaluation knows: candidates, and for an oracle the right answers."""
    references = question.answers if reader.oracle else ()
    return replace(reading, references=references, candidates=question.candidates)


def reciprocal_ranks(
    reader: Reader | Ranker,
    readings: Sequence[Reading],
    questions: Sequence[Question],
    story_answers: StoryAnswers | None,
) -> list[float | None]:
    """Per question 1 / the rank of its first reference among the story's answers; None without these."""
    if story_answers is None:
        return [None] * len(questions)
    ranks: list[float | None] = []
    for reading, question in zip(readings, questions, strict=True):
        answers = story_answers[question.story]
        distinct = list(dict.fromkeys(answers))  # equal answers must tie, whatever batches a reader makes
        scores = dict(zip(distinct, cast(Ranker, reader).rank(reading, distinct), strict=True))
        ranks.append(reciprocal_rank([scores[a] for a in answers], answers.index(question.answers[0])))
    return ranks

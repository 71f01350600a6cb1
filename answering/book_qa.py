"""Questions in, cited answers out: the one object that the CLI, the service and evaluation call."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from answering.ask import ANSWERABLE, Ask, before_offset
from answering.citing import Evidence, chapter_at, cite
from answering.configuration import OPEN_BYTES, Configuration
from answering.open_books import OpenBooks, configured_reader
from answering.timing import Laps
from indexing.errors import IndexMismatch
from indexing.index import BookIndex
from indexing.store import IndexStore
from readers import spec_of
from readers.attribution import nearest_sentence
from readers.errors import EndpointError
from readers.reading import Answer, Reader, Reading
from retrieval import RETRIEVERS
from retrieval.hits import Hit
from retrieval.rerank import First, RerankRetriever, rerank
from text.registry import check_name

log = logging.getLogger(__name__)

__all__ = [
    "Ask",
    "BookQA",
    "Candidate",
    "CitedAnswer",
    "Evidence",
    "Found",
    "PassageRead",
    "Searched",
]


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for one question: ``hits`` best first, and the same in story order to read.

    ``texts[i]`` is the text of ``in_story_order[i]``; ``before`` is the offset asked for, resolved.
    """

    ask: Ask
    index: BookIndex
    before: int | None
    hits: tuple[Hit, ...]
    in_story_order: tuple[Hit, ...]
    texts: tuple[str, ...]

    @property
    def reading(self) -> Reading:
        """What the reader is given."""
        return Reading(self.ask.question, self.texts)


@dataclass(frozen=True, slots=True)
class Searched:
    """What was found for one question, and what the steps took of the batch it was in."""

    found: Found
    timings_ms: dict[str, float]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the best answers. ``evidence.text`` is ``text``, unless the text was generated.

    ``note`` is what the reader has to say of it, such as that a citation was made up.
    """

    text: str
    confidence: float
    evidence: Evidence | None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class PassageRead:
    """A passage that was read: ``book.text[start:end]``, and the retriever's score of it."""

    number: int
    start: int
    end: int
    score: float
    chapter: str | None


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """The best answer, with its place in the book.

    Where there was nothing to read, ``text`` is empty, ``confidence`` 0 and ``evidence`` None.
    ``answerable`` is False there, and where the confidence is so low that the book may not say; the
    best guess is given all the same. ``note`` is the best candidate's. ``candidates`` are the best
    answers, this one first; ``passages`` those read, in story order. ``versions`` names the index,
    retriever and reader; ``timings_ms`` are the wall times of the steps (``laps.STEPS``) and their
    ``total``, each of the whole batch the question was in.
    """

    text: str
    confidence: float
    answerable: bool
    evidence: Evidence | None
    note: str | None
    candidates: tuple[Candidate, ...]
    passages: tuple[PassageRead, ...]
    versions: dict[str, str]
    timings_ms: dict[str, float]


class BookQA:
    """Answers questions about the books of one store.

    ``answer_many`` is ``find``, ``read`` and ``cite`` in a row; each can be called, and timed, by
    itself. Books stay open, as many as ``open_bytes`` of index files hold, and a book that was indexed
    again is opened again. ``held`` reads them into memory and checks them, for a process that serves
    longer than it can trust the disk. An answer is called answerable from the confidence ``answerable``
    on. ``settings`` are those that ``open_reader`` is given for readers of a kind, such as the key for
    ``chat``. The models are not guarded: call from one thread at a time.
    """

    def __init__(
        self,
        store: IndexStore,
        *,
        open_bytes: int = OPEN_BYTES,
        held: bool = False,
        answerable: float = ANSWERABLE,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.store = store
        self._books = OpenBooks(store, open_bytes, held)
        self._answerable = answerable
        self._settings = settings or {}

    @classmethod
    def of(cls, configuration: Configuration, held: bool = False) -> BookQA:
        """The object that answers as ``configuration`` says; ``held`` as above."""
        return cls(
            IndexStore(configuration.store),
            open_bytes=configuration.open_bytes,
            held=held,
            answerable=configuration.answerable,
            settings=configuration.reader_settings,
        )

    def open(self, book_id: str) -> BookIndex:
        """The current build of a book, from any thread; raises ``UnknownBook``."""
        return self._books.get(book_id).index

    def check(self, ask: Ask) -> None:
        """Raise what the names in ``ask`` would raise, loading no model: ``UnknownBook``, ``UnknownName``."""
        self.open(ask.book_id)
        check_name("retriever", ask.retriever, RETRIEVERS)
        spec_of(ask.reader)

    def warm(self, retriever: str, reader: str) -> None:
        """Load what the first question would load, so that it does not wait for it."""
        for book_id in self.store.ids():
            try:
                self._books.get(book_id).retriever(retriever).search(["warm"], 1)
                break
            except IndexMismatch as error:  # one book that is damaged must not keep the others waiting
                log.warning("%s", error)
        try:
            self._reader(reader).read([Reading("Who is warm?", ("The stove is warm.",))])
        except EndpointError as error:
            # Not ours to wait for: it may come back at any time, and until then each question says so.
            log.warning("%s", error)

    def answer(self, ask: Ask) -> CitedAnswer:
        """The answer to one question; raises as ``answer_many`` does."""
        return self.answer_many([ask])[0]

    def answer_many(self, asks: Sequence[Ask]) -> list[CitedAnswer]:
        """One cited answer per question, in order.

        Raises ``UnknownBook`` and ``UnknownName`` for names in ``asks``, ``IndexMismatch`` for a broken
        index and ``ModelError`` for models that cannot be loaded.
        """
        laps = Laps()
        found = self.find(asks, laps)
        answers = self.read(found)
        laps.end("read")
        candidates = [self.cite(*pair) for pair in zip(found, answers, strict=True)]
        laps.end("cite")
        return [
            self._cited(one, best, laps.timings_ms()) for one, best in zip(found, candidates, strict=True)
        ]

    def search_many(self, asks: Sequence[Ask]) -> list[Searched]:
        """The passages for each question alone, in order; raises as ``answer_many`` does."""
        laps = Laps()
        return [Searched(found, laps.timings_ms()) for found in self.find(asks, laps)]

    def find(self, asks: Sequence[Ask], laps: Laps | None = None) -> list[Found]:
        """The passages for each question; questions to one book are searched in one call.

        What a reranker reads is read for all books in one call. ``laps`` are told the steps ``search``
        and, where there is one, ``rerank``. Raises as ``answer_many`` does.
        """
        laps = laps or Laps()
        # Once per book: one batch must not see two builds of it.
        books = {book_id: self._books.get(book_id) for book_id in {ask.book_id for ask in asks}}
        groups: dict[tuple[str, str, int, int | None], list[int]] = defaultdict(list)
        for i, ask in enumerate(asks):
            before = before_offset(ask.before, books[ask.book_id].index.characters)
            groups[ask.book_id, ask.retriever, ask.k, before].append(i)
        hits: dict[int, list[Hit]] = {}
        firsts: list[tuple[list[int], First]] = []
        for (book_id, name, k, before), members in groups.items():
            retriever = books[book_id].retriever(name)
            questions = [asks[i].question for i in members]
            if isinstance(retriever, RerankRetriever):
                firsts.append((members, retriever.first(questions, k, before)))
            else:
                hits.update(zip(members, retriever.search(questions, k, before), strict=True))
        laps.end("search")
        if firsts:
            for (members, _), ordered in zip(firsts, rerank([first for _, first in firsts]), strict=True):
                hits.update(zip(members, ordered, strict=True))
            laps.end("rerank")
        resolved = {i: before for (_, _, _, before), members in groups.items() for i in members}
        return [_found(ask, books[ask.book_id].index, resolved[i], hits[i]) for i, ask in enumerate(asks)]

    def read(self, found: Sequence[Found]) -> list[list[Answer]]:
        """The reader's answers to each question, best first; none where nothing was found."""
        groups: dict[tuple[str, int], list[int]] = defaultdict(list)
        for i, one in enumerate(found):
            if one.texts:
                groups[one.ask.reader, one.ask.n_best].append(i)
        answers: list[list[Answer]] = [[] for _ in found]
        for (reader, n_best), members in groups.items():
            readings = [found[i].reading for i in members]
            for i, of_one in zip(members, self._reader(reader).read(readings, n_best), strict=True):
                answers[i] = of_one
        return answers

    def cite(self, found: Found, answers: Sequence[Answer]) -> tuple[Candidate, ...]:
        """The answers with their places in the book: here spans in passages become offsets."""
        return tuple(Candidate(a.text, a.confidence, _evidence(found, a), a.note) for a in answers)

    def _cited(
        self, found: Found, candidates: tuple[Candidate, ...], timings_ms: dict[str, float]
    ) -> CitedAnswer:
        best = candidates[0] if candidates else Candidate("", 0.0, None)
        weights = self._reader(found.ask.reader).version
        return CitedAnswer(
            text=best.text,
            confidence=best.confidence,
            answerable=bool(candidates) and best.confidence >= self._answerable,
            evidence=best.evidence,
            note=best.note,
            candidates=candidates,
            passages=passages_read(found.index, found.in_story_order),
            versions={
                "index": found.index.version,
                "retriever": found.ask.retriever,
                "reader": found.ask.reader if weights is None else f"{found.ask.reader}@{weights}",
            },
            timings_ms=timings_ms,
        )

    def _reader(self, name: str) -> Reader:
        return configured_reader(name, self._settings)


def _found(ask: Ask, index: BookIndex, before: int | None, hits: Sequence[Hit]) -> Found:
    in_story_order = tuple(sorted(hits, key=lambda hit: hit.passage.start))
    texts = tuple(index.text(hit.passage.start, hit.passage.end) for hit in in_story_order)
    return Found(ask, index, before, tuple(hits), in_story_order, texts)


def _evidence(found: Found, answer: Answer) -> Evidence | None:
    """Where the answer stands, or else what its reader rests it on, or else the nearest sentence."""
    told = answer.span or answer.support
    if told is not None:
        place = (told.passage, told.start, told.end)
    else:
        nearest = nearest_sentence(found.texts, answer.text, found.ask.question)
        if nearest is None:
            return None
        place = nearest
    passage = found.in_story_order[place[0]].passage
    return cite(found.index, passage, passage.start + place[1], passage.start + place[2], found.before)


def passages_read(index: BookIndex, hits: Sequence[Hit]) -> tuple[PassageRead, ...]:
    """The hits with what a person or a program wants to know of them, in the same order."""
    return tuple(
        PassageRead(
            number=hit.passage.number,
            start=hit.passage.start,
            end=hit.passage.end,
            score=float(hit.score),
            chapter=chapter_at(index.chapters, hit.passage.start),
        )
        for hit in hits
    )

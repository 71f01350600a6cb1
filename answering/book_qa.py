"""Questions in, cited answers out: the one object that the CLI, the service and evaluation call."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar, cast

from answering.ask import ANSWERABLE, SURE, Ask, BadRequest
from answering.book_answers import said_of_itself
from answering.citing import (
    Candidate,
    CitedAnswer,
    Evidence,
    PassageRead,
    Verdict,
    also_evidence_of,
    chain_evidence_of,
    evidence_of,
    passages_read,
)
from answering.configuration import OPEN_BYTES, Configuration
from answering.finding import Found, Searched, Stopwatch, find, searched
from answering.follow_ups import put_by_rule, understood_alone
from answering.open_books import OpenBook, OpenBooks, configured_reader
from answering.opened_scope import Extent, OneBook, Scope, SeveralBooks, opener
from answering.plainly import put_plainly
from answering.reading_on import read_on
from answering.repeated import without_repeated
from answering.said import Said
from answering.scope import is_one_book
from answering.spoilers import LEAKED, guard_of, guarded
from answering.trust import Thresholds, doubt, doubted, refusal
from indexing.errors import IndexMismatch
from indexing.index import BookIndex, BookText
from indexing.store_protocol import Store
from readers import DEFAULT_READER, spec_of
from readers.choosing import answers_to, check_reader, reader_for
from readers.errors import EndpointError
from readers.reading import Answer, LanguageModel, OnWords, Reader, Reading
from retrieval import RETRIEVERS, check_together, retriever_for
from text.cloze import NotACloze, find_blank
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
    "passages_read",
]

T = TypeVar("T")
MOST_WARMED = 100  # books that are tried, of which the first that is whole will do
TOGETHER = 64  # questions in one batch at most: what is known of their passages takes up to 1.5 MB each


class BookQA:
    """Answers questions about the books of one store.

    ``answer_many`` is ``find``, ``read`` and ``cite`` in a row; each can be called, and timed, by
    itself. Books stay open, as many as ``open_bytes`` of index files hold, and a book that was indexed
    again is opened again. ``held`` reads them into memory and checks them, for a process that serves
    longer than it can trust the disk. An answer may be one from the confidence ``answerable`` on, and is
    called one from ``sure`` on. ``settings`` are those that ``open_reader`` is given for readers of a kind,
    such as the key for ``chat``. The models are not guarded: call from one thread at a time.
    """

    def __init__(
        self,
        store: Store,
        *,
        open_bytes: int = OPEN_BYTES,
        held: bool = False,
        answerable: float = ANSWERABLE,
        sure: float = SURE,
        settings: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.store = store
        self._books = OpenBooks(store, open_bytes, held)
        self._thresholds = Thresholds(answerable, sure)
        self._settings = settings or {}

    @classmethod
    def of(cls, configuration: Configuration, held: bool = False) -> BookQA:
        """The object that answers as ``configuration`` says; ``held`` as above."""
        return cls(
            configuration.index_store(),
            open_bytes=configuration.open_bytes,
            held=held,
            answerable=configuration.answerable,
            sure=configuration.sure,
            settings=configuration.reader_settings,
        )

    def open(self, book_id: str) -> BookIndex:
        """The current build of a book, from any thread; raises ``UnknownBook``."""
        return self._books.get(book_id).index

    def text(self, book_id: str) -> BookText:
        """The text and the manifest of a book's current build, from any thread; raises ``UnknownBook``."""
        return self._books.text(book_id)

    def check(self, ask: Ask) -> Extent:
        """What ``ask`` is to; raises what the names in it would raise, loading no model.

        That is ``UnknownBook``, ``UnknownShelf``, ``EmptyScope``, ``UnknownName``, and ``BadRequest`` where
        the reader cannot be asked such a question, or a limit is given for a book that is not asked.
        """
        extent = self._scope(ask).extent
        check_name("retriever", ask.retriever, RETRIEVERS)
        if not is_one_book(ask.book_id):
            check_together(ask.retriever)
        spec_of(ask.reader)
        try:
            check_reader(ask.reader, ask.question)
        except NotACloze as error:
            raise BadRequest("reader", str(error)) from None
        return extent

    def reach(self, ask: Ask) -> None:
        """Open the reader of ``ask``, unless that is the default one, which is chosen by the question.

        Raises ``EndpointError`` where it asks a server that cannot be reached, ``ModelError`` where it has no
        model.
        """
        if ask.reader != DEFAULT_READER:
            self._reader(ask.reader).reach()

    def warm(self, retriever: str, reader: str) -> None:
        """Load what the first question would load, so that it does not wait for it."""
        for book_id in self.store.ids(most=MOST_WARMED):
            try:
                self._books.get(book_id).retriever(retriever_for(retriever)).search(["warm"], 1)
                break
            except IndexMismatch as error:  # one book that is damaged must not keep the others waiting
                log.warning("%s", error)
        try:
            asked = Reading("Who is warm?", ("The stove is warm.",))
            self._reader(reader_for(reader, asked.question)).read([asked])
        except EndpointError as error:
            # Not ours to wait for: it may come back at any time, and until then each question says so.
            log.warning("%s", error)

    def answer(self, ask: Ask) -> CitedAnswer:
        """The answer to one question; raises as ``answer_many`` does."""
        return self.answer_many([ask])[0]

    def answer_many(
        self,
        asks: Sequence[Ask],
        on_found: Callable[[Sequence[Searched]], None] | None = None,
        on_words: Sequence[OnWords | None] = (),
    ) -> list[CitedAnswer]:
        """One cited answer per question, in order.

        ``on_found`` is called before anything is read, once or more often, with what was found for the
        next questions in their order, as ``search_many`` has it. ``on_words``, one per question or none, hear
        the answers as language models write them.

        Raises ``UnknownBook`` and ``UnknownName`` for names in ``asks``, ``IndexMismatch`` for a broken
        index and ``ModelError`` for models that cannot be loaded.
        """
        hears = on_words or [None] * len(asks)
        batches = zip(_batches(asks), _batches(hears), strict=True)
        return [cited for batch, heard in batches for cited in self._answer_batch(batch, on_found, heard)]

    def _answer_batch(
        self,
        given: Sequence[Ask],
        on_found: Callable[[Sequence[Searched]], None] | None,
        on_words: Sequence[OnWords | None],
    ) -> list[CitedAnswer]:
        stopwatch = Stopwatch()
        asks = [self._understood(ask) for ask in given]
        found = self.find(asks, stopwatch, to_answer=True)
        if on_found is not None:
            on_found(searched(found, stopwatch))
        guards = [guard_of(one) for one in found]
        # What cannot be answered is not read, nor for what the book says of itself.
        told = [said_of_itself(one) for one in found]
        refusals = [
            refusal(one.ask) or one.missing if said is None else said.missing
            for one, said in zip(found, told, strict=True)
        ]
        asked = [i for i, refused in enumerate(refusals) if refused is None and told[i] is None]
        answers: list[list[Answer]] = [[] for _ in found]
        hears = [guarded(on_words[i], guards[i]) for i in asked]
        to_read = [found[i] for i in asked]
        read = read_on(to_read, self.read(to_read, hears), self.read)
        for i, whole, of_one in zip(asked, *read, strict=True):
            of_one = without_repeated(whole, of_one)
            found[i], answers[i] = whole, of_one
            guard = guards[i]
            if guard is not None:  # a span is read, whatever it names
                answers[i] = [one for one in of_one if one.span is not None or not guard.leaks(one.text)]
                refusals[i] = LEAKED if of_one and not answers[i] else None
        stopwatch.end("read")
        candidates = [
            self._candidates(one, of_one, said)
            for one, of_one, said in zip(found, answers, told, strict=True)
        ]
        stopwatch.end("cite")
        timings_ms = stopwatch.timings_ms()
        return [
            self._cited(one, best, refused, timings_ms, of_one[0].prompt if of_one else None, ask)
            for one, best, refused, of_one, ask in zip(
                found, candidates, refusals, answers, given, strict=True
            )
        ]

    def _understood(self, ask: Ask) -> Ask:
        """The question in words of its own, where it follows others: a language model's, or by rule."""
        if not ask.conversation or find_blank(ask.question):
            return ask
        scope = self._scope(ask)
        ask = put_plainly(ask, scope)
        text = scope.readable.read_so_far() if isinstance(scope, OneBook) else ""
        read = scope.known_so_far() if scope.is_limited else None
        if spec_of(ask.reader).language_model:
            rewrite = cast(LanguageModel, self._reader(ask.reader)).rewrite
        else:
            rewrite = partial(put_by_rule, text=text)
        return understood_alone(ask, read, rewrite)

    def search_many(self, asks: Sequence[Ask]) -> list[Searched]:
        """The passages for each question alone, in order; raises as ``answer_many`` does."""
        return [one for batch in _batches(asks) for one in self._search_batch(batch)]

    def _search_batch(self, asks: Sequence[Ask]) -> list[Searched]:
        stopwatch = Stopwatch()
        return searched(self.find(asks, stopwatch), stopwatch)

    def find(
        self,
        asks: Sequence[Ask],
        stopwatch: Stopwatch | None = None,
        *,
        all_hits: bool = False,
        to_answer: bool = False,
    ) -> list[Found]:
        """The passages for each question, put plainly; questions to one book are searched in one call.

        What a second phase of searching reads is read for all books in one call. ``stopwatch`` times the
        step ``search`` and the second phases. ``all_hits`` puts every passage of the book in order, not
        those alone that are read. ``to_answer`` finds what is read without a search, too: the part of a
        book that a language model is to summarise, the sentences that tell who somebody is. Raises as
        ``answer_many`` does.
        """
        # Once per book: one batch must not see two builds of it.
        opened: dict[str, OpenBook] = {}
        asks = [replace(ask, retriever=retriever_for(ask.retriever)) for ask in asks]
        scopes = [self._scope(ask, opened) for ask in asks]
        asks = [put_plainly(ask, scope) for ask, scope in zip(asks, scopes, strict=True)]
        return find(asks, scopes, stopwatch or Stopwatch(), all_hits=all_hits, to_answer=to_answer)

    def read(self, found: Sequence[Found], on_words: Sequence[OnWords | None] = ()) -> list[list[Answer]]:
        """The reader's answers to each question, best first; none where nothing was found.

        ``on_words`` as for ``answer_many``.
        """
        groups: dict[tuple[str, int], list[int]] = defaultdict(list)
        for i, one in enumerate(found):
            if one.reading.passages:
                groups[_reader_of(one.ask), one.ask.n_best].append(i)
        answers: list[list[Answer]] = [[] for _ in found]
        for (reader, n_best), members in groups.items():
            readings = [found[i].reading for i in members]
            hears = [on_words[i] for i in members] if on_words else ()
            answered = answers_to(reader, self._reader(reader), readings, n_best, hears)
            for i, of_one in zip(members, answered, strict=True):
                answers[i] = of_one
        return answers

    def cite(self, found: Found, answers: Sequence[Answer]) -> tuple[Candidate, ...]:
        """The answers with their places in the book: here spans in passages become offsets."""
        return tuple(
            Candidate(
                answer.text,
                answer.confidence,
                evidence_of(answer, found.reading, found.in_story_order),
                answer.note,
                also_evidence_of(answer, found.in_story_order),
                chain_evidence_of(answer, found.in_story_order),
            )
            for answer in answers
        )

    def _candidates(
        self, found: Found, answers: Sequence[Answer], said: Said | None
    ) -> tuple[Candidate, ...]:
        """What the book says of itself, where it was asked for, or else the answers; doubted if found."""
        if said is not None and not said.searched:
            return said.candidates
        candidates = self.cite(found, answers) if said is None else said.candidates
        notes = {id: doubt(found.ask, book) for id, book in found.books.items()} if candidates else {}
        return doubted(candidates, notes)

    def _cited(
        self,
        found: Found,
        candidates: tuple[Candidate, ...],
        refused: str | None,
        timings_ms: dict[str, float],
        prompt: str | None,
        given: Ask,
    ) -> CitedAnswer:
        best = candidates[0] if candidates else Candidate("", 0.0, None, refused)
        verdict: Verdict = self._thresholds.verdict(best.confidence) if candidates else "none"
        reader = _reader_of(found.ask)
        weights = self._reader(reader).version
        return CitedAnswer(
            text=best.text,
            confidence=best.confidence,
            answerable=verdict != "none",
            verdict=verdict,
            evidence=best.evidence,
            note=best.note,
            candidates=candidates,
            passages=passages_read(found.in_story_order),
            versions={
                "index": found.version,
                "retriever": found.ask.retriever,
                "reader": reader if weights is None else f"{reader}@{weights}",
            }
            | ({} if prompt is None else {"prompt": prompt}),
            timings_ms=timings_ms,
            rewritten=None if found.understood == given.question else found.understood,
        )

    def _scope(self, ask: Ask, opened: dict[str, OpenBook] | None = None) -> Scope:
        """What ``ask`` is to; books in ``opened`` are not opened again, and others are noted there."""
        open = opener(self._books.get, {} if opened is None else opened)
        if is_one_book(ask.book_id):
            return OneBook(ask, open(ask.book_id))
        return SeveralBooks(ask, self.store, open, self._books.merged())

    def _reader(self, name: str) -> Reader:
        return configured_reader(name, self._settings)


def _reader_of(ask: Ask) -> str:
    return reader_for(ask.reader, ask.question)


def _batches(items: Sequence[T]) -> Iterator[Sequence[T]]:
    return (items[first : first + TOGETHER] for first in range(0, len(items), TOGETHER))

"""Questions and what they are searched in, in; the passages that fit them, out."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from answering.ask import Ask
from answering.book_questions import asked_of_book
from answering.chapter_references import NO_SUCH_CHAPTER, Part, apart_from_chapter, part_asked
from answering.mention_questions import mentions_of_chapter
from answering.of_itself import OfItself
from answering.opened_scope import OneBook, Scope
from answering.summaries import passages_to_summarise
from answering.which_chapter import MOST_HITS, looked_for
from answering.who_is import person_asked
from indexing.book import Passage
from readers import spec_of
from readers.reading import Reading
from retrieval.hits import BookHit, Hit, Readable, Retriever, Search

_Told = tuple[Ask, Sequence[Passage]]
NOTHING_BEFORE = "there is nothing to read before that place, for no passage ends before it"
STEPS = ("search", "rerank", "read", "cite")


class Stopwatch:
    """Times the steps of one batch: ``end`` says which step has just ended, and the next one begins."""

    def __init__(self) -> None:
        self._began = self._step_began = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def end(self, step: str) -> None:
        """``step`` took from the end of the one before it until now."""
        now = time.perf_counter()
        self._seconds[step] = now - self._step_began
        self._step_began = now

    def timings_ms(self) -> dict[str, float]:
        """The steps that have ended, in milliseconds, and their ``total``."""
        seconds = self._seconds | {"total": self._step_began - self._began}
        return {step: round(1000 * s, 3) for step, s in seconds.items()}


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for one question: ``hits`` best first, and the ``ask.k`` to read in story order, less
    those that the retriever thinks too far behind the best.

    Of several books, those of the best hits come first in it. ``reading`` is what the reader is given:
    ``reading.passages[i]`` is the text of ``in_story_order[i]``. ``version`` is of all that was searched.
    ``scope`` is what was asked. ``understood`` is the question with the chapter that ``ask`` and ``reading``
    leave out, which is searched alone. ``missing`` says why there is nothing to read.
    """

    ask: Ask
    version: str
    hits: tuple[BookHit, ...]
    in_story_order: tuple[BookHit, ...]
    reading: Reading
    scope: Scope
    understood: str
    missing: str | None = None

    @property
    def alone(self) -> Readable | None:
        """The one book that is asked; None where there are several."""
        return _alone(self.scope)

    @property
    def books(self) -> dict[str, Readable]:
        """The books of what is read, by their ids."""
        return {hit.book.index.id: hit.book for hit in self.in_story_order}


@dataclass(frozen=True, slots=True)
class Searched:
    """What was found for one question, and what the steps took of the batch it was in."""

    found: Found
    timings_ms: dict[str, float]


def find(
    asks: Sequence[Ask],
    scopes: Sequence[Scope],
    stopwatch: Stopwatch,
    *,
    all_hits: bool = False,
    to_answer: bool = False,
) -> list[Found]:
    """The passages for each question in what is its ``Scope``; see ``BookQA.find``."""
    groups: dict[tuple[Hashable, str, int, Part | None], list[int]] = defaultdict(list)
    parts = [_part(ask, scope) for ask, scope in zip(asks, scopes, strict=True)]
    understood = [ask.question for ask in asks]
    asks = [ask if part is None else _of_part(ask) for ask, part in zip(asks, parts, strict=True)]
    told: dict[int, _Told] = {}
    for i, (ask, scope) in enumerate(zip(asks, scopes, strict=True)):
        unsearched = _told(ask, scope) if to_answer and not all_hits else None
        if unsearched is not None:
            told[i] = unsearched
            continue
        k = max(ask.k, MOST_HITS) if to_answer and looked_for(ask.question) else ask.k
        k = max(k, scope.extent.passages) if all_hits else k
        groups[scope.key, ask.retriever, k, parts[i]].append(i)
    begun: dict[type[Retriever], list[tuple[list[int], Search[Any]]]] = defaultdict(list)
    hits: dict[int, list[Hit]] = {}
    for (_, name, k, part), members in groups.items():
        scope = scopes[members[0]]
        # Of a part of the book any passage may be the best.
        wanted = k if part is None else max(k, scope.extent.passages)
        search = scope.retriever(name).begin([_searched(asks[i]) for i in members], wanted, scope.before)
        if part is not None:
            search = replace(search, k=k, found=[part.of(hits_of_one) for hits_of_one in search.found])
        begun[type(search.retriever)].append((members, search))
    stopwatch.end("search")
    for kind, searches in begun.items():
        finished = kind.finish([search for _, search in searches])
        for (members, of), of_search in zip(searches, finished, strict=True):
            hits.update(zip(members, (of_one[: of.k] for of_one in of_search), strict=True))
        if kind.second_phase is not None:
            stopwatch.end(kind.second_phase)
    return [
        _unsearched(scope, *told[i]) if i in told else _found(ask, scope, hits[i], parts[i], understood[i])
        for i, (ask, scope) in enumerate(zip(asks, scopes, strict=True))
    ]


def _searched(ask: Ask) -> str:
    """What passages are searched for: what the chapter of is asked, or the question without its blank."""
    return looked_for(ask.question) or ask.searched


def _of_part(ask: Ask) -> Ask:
    """The question as it is read in the part of the book that it is about."""
    return replace(ask, question=apart_from_chapter(ask.question))


def searched(found: Sequence[Found], stopwatch: Stopwatch) -> list[Searched]:
    """What was found for those who do not read it: what is known of the passages need not be kept."""
    timings_ms = stopwatch.timings_ms()
    return [Searched(replace(one, reading=replace(one.reading, encoded=())), timings_ms) for one in found]


def _found(ask: Ask, scope: Scope, found: Sequence[Hit], part: Part | None, understood: str) -> Found:
    hits = [scope.placed(hit) for hit in found]
    books = list(dict.fromkeys(hit.book.index.id for hit in hits))
    # A language model finds its way among more than can hold the answer, other readers go astray.
    all_of_them = spec_of(ask.reader).language_model
    worth_reading = [hit for hit in hits[: ask.k] if hit.is_near or all_of_them]
    read = sorted(worth_reading, key=lambda hit: (books.index(hit.book.index.id), hit.passage.start))
    reading = Reading(
        ask.question,
        tuple(hit.book.index.text(hit.passage.start, hit.passage.end) for hit in read),
        candidates=ask.candidates,
        encoded=tuple(hit.encoded for hit in read),
    )
    missing = None
    if not hits and (part is not None or scope.is_limited):
        missing = NOTHING_BEFORE if part is None else part.missing
    return Found(
        ask,
        scope.extent.version,
        _without_encoded(hits),
        _without_encoded(read),
        reading,
        scope,
        understood,
        missing,
    )


def _part(ask: Ask, scope: Scope) -> Part | None:
    """The part of one book that the question is about."""
    book = _alone(scope)
    if book is None or asked_of_book(ask.question) or mentions_of_chapter(ask.question):
        return None
    return part_asked(ask.question, book)


def _alone(scope: Scope) -> Readable | None:
    return scope.readable if isinstance(scope, OneBook) else None


def _told(ask: Ask, scope: Scope) -> _Told | None:
    """What is read of one book without a search, and what is asked of it.

    That is the part that a language model is asked to summarise, or for other readers the sentences that tell
    who somebody is.
    """
    book = _alone(scope)
    if book is None:
        return None
    if spec_of(ask.reader).language_model:
        passages = passages_to_summarise(ask.question, book)
        return None if passages is None else (ask, passages)
    found = None if ask.candidates else person_asked(ask.question, OfItself(book.index, book.end), ask.k)
    return None if found is None else (replace(ask, question=found[0]), found[1])


def _unsearched(scope: Scope, ask: Ask, passages: Sequence[Passage]) -> Found:
    """What is read without a search, in story order."""
    hits = tuple(scope.placed(Hit(passage, 0.0)) for passage in passages)
    texts = tuple(hit.book.index.text(hit.passage.start, hit.passage.end) for hit in hits)
    reading = Reading(ask.question, texts)
    missing = None if hits else NO_SUCH_CHAPTER
    return Found(ask, scope.extent.version, hits, hits, reading, scope, ask.question, missing)


def _without_encoded(hits: Sequence[BookHit]) -> tuple[BookHit, ...]:
    """The hits without what is large and of use in the reading alone."""
    return tuple(hit if hit.encoded is None else replace(hit, encoded=None) for hit in hits)

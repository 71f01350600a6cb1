"""Cited answers, and where in the book they stand: the place, the sentence and the chapter around it."""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from answering.readable_chapters import chapter_at, chapters_until
from indexing.book import Page, Passage
from indexing.index import BookIndex
from readers.attribution import nearest_sentence
from readers.reading import Answer, Reading, Span
from retrieval.hits import BookHit
from text.sentences import sentence_spans

# How far around an answer its sentence may reach, in characters.
_REACH = 2000


Verdict = Literal["answer", "maybe", "none"]
"""What is said over an answer: that it is one, that it may be one, or that the book may not say."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A place in the book: ``text == book.text[start:end]``, and the same holds for ``sentence``.

    ``book_id`` and ``title`` say of which book. ``passage`` is the number of the passage it was read in,
    ``chapter`` the title of the chapter it stands in (None where the book has none there), ``page`` the
    number printed on its page (None where the file had no pages), and ``percent`` how far into the book
    it is.
    """

    book_id: str
    title: str
    start: int
    end: int
    passage: int
    chapter: str | None
    page: str | None
    percent: float
    text: str
    sentence: str
    sentence_start: int
    sentence_end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the best answers. ``evidence.text`` is ``text``, unless the text was generated.

    ``also`` are other places that answer the same, in story order. ``chain`` are the facts that it follows
    from, in the order of finding, of readers that find some. ``note`` is what the reader has to say of it,
    such as that a citation was made up.
    """

    text: str
    confidence: float
    evidence: Evidence | None
    note: str | None = None
    also: tuple[Evidence, ...] = ()
    chain: tuple[Evidence, ...] = ()


@dataclass(frozen=True, slots=True)
class PassageRead:
    """A passage that was read: ``book.text[start:end]``, and the retriever's score of it.

    It is longer than the book's passage of that ``number`` where that cut the sentence of the answer.
    """

    book_id: str
    title: str
    number: int
    start: int
    end: int
    score: float
    chapter: str | None
    page: str | None


@dataclass(frozen=True, slots=True)
class CitedAnswer:
    """The best answer, with its place in the book.

    Where there was nothing to read, or the question is of a kind that the reader cannot answer, ``text`` is
    empty, ``confidence`` 0 and ``evidence`` None. ``verdict`` is what is said over it (``answering.trust``),
    and ``answerable`` False where that is that the book may not say; the best guess is given all the same.
    ``note`` is the best candidate's, or why there is none. ``candidates`` are the best answers, this one
    first; ``passages`` those read, in story order. ``versions`` names the index, retriever and reader;
    ``rewritten`` is the question as it was answered, where it was put otherwise than it was asked.
    ``timings_ms`` are the wall times of the steps (``book_qa.STEPS``) and their ``total``, each of the whole
    batch the question was in.
    """

    text: str
    confidence: float
    answerable: bool
    verdict: Verdict
    evidence: Evidence | None
    note: str | None
    candidates: tuple[Candidate, ...]
    passages: tuple[PassageRead, ...]
    versions: dict[str, str]
    timings_ms: dict[str, float]
    rewritten: str | None = None


def evidence_of(answer: Answer, reading: Reading, read: Sequence[BookHit]) -> Evidence | None:
    """Where the answer stands, or else what its reader rests it on, or else the nearest sentence.

    ``read[i]`` is the passage whose text ``reading.passages[i]`` is.
    """
    span = answer.span or answer.support
    if span is None:
        nearest = nearest_sentence(reading.passages, answer.text, reading.question)
        if nearest is None:
            return None
        span = Span(*nearest)
    return _cite_span(span, read)


def also_evidence_of(answer: Answer, read: Sequence[BookHit]) -> tuple[Evidence, ...]:
    """The other places that answer the same, in story order; ``read`` as for ``evidence_of``."""
    places = sorted(answer.also, key=lambda span: (span.passage, span.start, span.end))
    return tuple(_cite_span(span, read) for span in places)


def chain_evidence_of(answer: Answer, read: Sequence[BookHit]) -> tuple[Evidence, ...]:
    """The facts that the answer follows from, in the order of finding; ``read`` as for ``evidence_of``."""
    return tuple(_cite_span(span, read) for span in answer.chain)


def _cite_span(span: Span, read: Sequence[BookHit]) -> Evidence:
    passage, book = read[span.passage].passage, read[span.passage].book
    return cite(book.index, passage, passage.start + span.start, passage.start + span.end, book.before)


def cite(index: BookIndex, passage: Passage, start: int, end: int, before: int | None = None) -> Evidence:
    """The evidence for ``book.text[start:end]``, read in ``passage``; nothing from ``before`` on is shown."""
    sentence_start, sentence_end = _sentence_around(index, start, end, before)
    return Evidence(
        book_id=index.id,
        title=index.title,
        start=start,
        end=end,
        passage=passage.number,
        chapter=chapter_at(chapters_until(index, before), start),
        page=page_at(index.manifest.pages, start),
        percent=round(100 * start / index.characters, 1),
        text=index.text(start, end),
        sentence=index.text(sentence_start, sentence_end),
        sentence_start=sentence_start,
        sentence_end=sentence_end,
    )


def passage_at(index: BookIndex, start: int, end: int) -> Passage:
    """The passage that a place is in, or begins in; of what is left out of search, the place itself."""
    passages = index.passages
    last = bisect.bisect_right(passages, start, key=lambda one: one.start) - 1
    return passages[last] if last >= 0 and start < passages[last].end else Passage(0, start, end)


def whereabouts(place: Evidence) -> str:
    """The chapter that a place is in, or else how far into the book it is."""
    return place.chapter or f"{place.percent:g} % into the book"


def page_at(pages: Sequence[Page], at: int) -> str | None:
    """The number of the page that holds the character ``at``."""
    last = bisect.bisect_right(pages, at, key=lambda page: page.start)
    return pages[last - 1].label if last else None


def _sentence_around(index: BookIndex, start: int, end: int, before: int | None) -> tuple[int, int]:
    """The bounds of the sentence, or sentences, that ``[start, end)`` lies in.

    Passages end in the middle of sentences, so it is looked for in the paragraph and not in the
    passage; a sentence that goes on past ``before`` is cut there.
    """
    first = max(0, start - _REACH)
    last = min(index.characters, end + _REACH)
    if before is not None:
        last = max(end, min(last, before))
    text = index.text(first, last)
    blank = text.rfind("\n\n", 0, start - first)
    skipped = 0 if blank < 0 else blank + 2
    blank = text.find("\n\n", end - first)
    paragraph = text[skipped:] if blank < 0 else text[skipped:blank]
    first += skipped
    touched = [
        span for span in sentence_spans(paragraph) if first + span[0] < end and start < first + span[1]
    ]
    if not touched:
        return start, end
    return min(start, first + touched[0][0]), max(end, first + touched[-1][1])


def passages_read(hits: Sequence[BookHit]) -> tuple[PassageRead, ...]:
    """The hits with what a person or a program wants to know of them, in the same order."""
    return tuple(
        PassageRead(
            book_id=hit.book.index.id,
            title=hit.book.index.title,
            number=hit.passage.number,
            start=hit.passage.start,
            end=hit.passage.end,
            score=float(hit.score),
            chapter=chapter_at(chapters_until(hit.book.index, hit.book.before), hit.passage.start),
            page=page_at(hit.book.index.manifest.pages, hit.passage.start),
        )
        for hit in hits
    )

"""Values of properties, as a book's passages say them: what readers answer, and what of that can be a value.

A reader always answers. Of somebody's husband it is a value only where the answer is somebody else, and the
sentence that it rests on is about a marriage and about them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from answering.ask import Ask
from answering.book_qa import BookQA
from answering.citing import CitedAnswer, Evidence, cite, passage_at
from answering.fact_questions import FactQuestion, is_kind, is_trade
from answering.main_characters import Cast, words_in
from answering.quotes import story_text
from answering.relation_patterns import STATED, stated
from indexing.book import Passage
from indexing.index import BookIndex
from readers.reading import Answer, Reader, Reading
from text.equal_answers import answer_key
from text.named_entities import Entity

Source = Literal["title page", "file", "names", "statement", "answer", "extractor"]
"""What says a value: title page, file, counted names, a statement in so many words, reader or extractor."""

_CANDIDATES = 5  # of each reader
_SURE = 0.35  # the least confidence of what is said of somebody: readers take others for them
_BESIDE = 50  # characters between a value and the word that says what it is
_EXTRACTED = 0.5  # of an extractor's confidence, which knows nothing of whom it is asked
_PLACE = re.compile(r"(?:^|\b(?:in|at|on|near|to|the|of|from)\s+)[^\W\d_a-z]\w+\W*$|\s[^\W\d_a-z]\w+")


@dataclass(frozen=True, slots=True)
class FactValue:
    """A value of a property, ``answerable`` where it is taken for one; else it is the best guess.

    ``evidence`` is where the book says it, None where only its file does. Of characters there are their
    ``aliases`` and how often they are mentioned.
    """

    text: str
    confidence: float
    answerable: bool
    evidence: Evidence | None
    source: Source
    aliases: tuple[str, ...] = ()
    mentions: int | None = None


@dataclass(frozen=True, slots=True)
class Readers:
    """What properties are asked with: names as ``Ask`` has them, and a reader of WikiReading's."""

    retriever: str
    reader: str
    extractor: Reader


def asked_values(
    qa: BookQA, index: BookIndex, limit: int, cast: Cast, asked: Sequence[FactQuestion], readers: Readers
) -> list[tuple[FactValue, ...]]:
    """The values of each property that is asked, the surest first; what stands before ``limit`` is read."""
    asks = [
        Ask(
            index.id,
            one.question,
            retriever=readers.retriever,
            reader=readers.reader,
            n_best=_CANDIDATES,
            before=limit,
        )
        for one in asked
    ]
    cited = qa.answer_many(asks)
    extracted = _extracted(index, limit, asked, cited, readers.extractor)
    text = story_text(index, limit)
    return [
        _chosen(one, [*_stated(index, limit, text, one, cast), *_of_reader(answer), *others], cast)
        for one, answer, others in zip(asked, cited, extracted, strict=True)
    ]


def _stated(index: BookIndex, limit: int, text: str, asked: FactQuestion, cast: Cast) -> Iterator[FactValue]:
    """What is stated of somebody."""
    if asked.of is None:
        return
    person = cast.person(asked.of)
    if person is None:
        return
    for start, end in stated(text, asked.name, cast.own_names(person), person.places):
        # "When Ines married": a sentence's first word is no part of the name.
        while asked.wanted == "person" and cast.person_in(text[start:end]) is None:
            space = re.compile(r"\s+").search(text, start, end)
            if space is None:
                break
            start = space.end()
        evidence = cite(index, passage_at(index, start, end), start, end, limit)
        yield FactValue(" ".join(text[start:end].split()), STATED, True, evidence, "statement")


def _of_reader(cited: CitedAnswer) -> Iterator[FactValue]:
    for i, one in enumerate(cited.candidates):
        if one.text and one.evidence is not None:
            # Thresholds are of the best answer: what comes behind it is less sure, and never answers alone.
            answerable = cited.answerable and one.confidence >= 0.5 * cited.confidence
            yield FactValue(
                one.text, one.confidence, answerable if i else cited.answerable, one.evidence, "answer"
            )


def _extracted(
    index: BookIndex,
    limit: int,
    asked: Sequence[FactQuestion],
    cited: Sequence[CitedAnswer],
    extractor: Reader,
) -> list[list[FactValue]]:
    """What the extractor finds in the passages that were read for the answers."""
    readings = [
        Reading(one.property, tuple(index.text(part.start, part.end) for part in answer.passages))
        for one, answer in zip(asked, cited, strict=True)
    ]
    found = extractor.read(readings, _CANDIDATES)
    return [
        [
            value
            for one in answers
            if (value := _of_extractor(index, limit, answer, one)) is not None and value.text
        ]
        for answers, answer in zip(found, cited, strict=True)
    ]


def _of_extractor(index: BookIndex, limit: int, cited: CitedAnswer, answer: Answer) -> FactValue | None:
    span = answer.span or answer.support
    if span is None:
        return None
    part = cited.passages[span.passage]
    passage = Passage(part.number, part.start, part.end)
    evidence = cite(index, passage, part.start + span.start, part.start + span.end, limit)
    return FactValue(answer.text, _EXTRACTED * answer.confidence, True, evidence, "extractor")


def _chosen(asked: FactQuestion, found: Sequence[FactValue], cast: Cast) -> tuple[FactValue, ...]:
    """The values that can be ones, equal ones joined; else the best guess, which is not answerable."""
    person = cast.person(asked.of) if asked.of else None
    values: dict[str, FactValue] = {}
    for one in found:
        fit = _fit(asked, one, person, cast)
        if fit is None:
            continue
        named = cast.person_in(fit.text) if asked.wanted == "person" else None
        key = answer_key(fit.text) if named is None else named.name
        other = values.get(key)
        if other is not None:  # found in two ways, it is surer than in either
            both = 1 - (1 - fit.confidence) * (1 - other.confidence)
            fit = replace(other, confidence=both, answerable=fit.answerable or other.answerable)
        values[key] = fit
    ranked = sorted(values.values(), key=lambda one: (not one.answerable, -one.confidence))
    sure = [one for one in ranked if one.answerable][: asked.most]
    if sure:
        return tuple(sure)
    guesses = sorted((one for one in found if one.source == "answer"), key=lambda one: -one.confidence)
    return tuple(replace(one, answerable=False) for one in (ranked or guesses)[:1])


def _fit(asked: FactQuestion, value: FactValue, person: Entity | None, cast: Cast) -> FactValue | None:
    """The value as it can be one, or None."""
    place = value.evidence
    if place is None:
        return None
    start, end = place.start - place.sentence_start, place.end - place.sentence_start
    if asked.cues is not None and not _is_near(asked.cues, place.sentence, start, end):
        return None
    if asked.of is not None:
        named = cast.own_words(person) if person is not None else words_in(asked.of)
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, named)) or '$^'})\b", re.I)
        if value.confidence < _SURE or not _is_near(pattern, place.sentence, start, end):
            return None
    said = cast.person_in(value.text)
    fits = {
        "person": said is not None and said is not person,
        "place": said is None and _PLACE.search(value.text) is not None,
        "trade": said is None and is_trade(value.text),
        "kind": is_kind(value.text),
        "anything": True,
    }
    return value if fits[asked.wanted] else None


def _is_near(wanted: re.Pattern[str], sentence: str, start: int, end: int) -> bool:
    """Whether there is a match beside ``sentence[start:end]``."""
    return any(
        match.start() <= end + _BESIDE and match.end() >= start - _BESIDE
        for match in wanted.finditer(sentence)
    )

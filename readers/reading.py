"""What a reader is given, what it returns, and what it promises."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol

from text.equal_answers import answer_key
from text.errors import StoryQAError

if TYPE_CHECKING:
    from encoders.cross_encoder import EncodedPassage


class NeedsReferences(StoryQAError):
    """An oracle asked where nobody knows the right answers."""


@dataclass(frozen=True, slots=True)
class Named:
    """A place that names an entity: ``passages[passage][start:end]``, of the question where that is -1.

    ``entity`` below the number of the reading's candidates is that candidate; others are named alone.
    """

    entity: int
    passage: int
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Reading:
    """A question and the passages to answer it from, in story order.

    ``references`` are the right answers, for oracles alone, which measure what the best possible answer
    is worth; only evaluation knows them. ``candidates`` are the answers to choose from where the question
    has some (cloze, multiple choice); a reader may make use of them. ``named`` says where entities are named,
    in order, () where nobody knows. ``encoded`` is what an encoder has said
    of each passage already, None where none did; readings that differ in nothing else are equal.
    """

    question: str
    passages: tuple[str, ...]
    references: tuple[str, ...] = ()
    candidates: tuple[str, ...] = ()
    named: tuple[Named, ...] = ()
    encoded: tuple[EncodedPassage | None, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.encoded and len(self.encoded) != len(self.passages):
            raise ValueError(
                f"{len(self.encoded)} encoded of {len(self.passages)} passages; wanted all or ()"
            )


@dataclass(frozen=True, slots=True)
class Span:
    """A place in a reading: ``passages[passage][start:end]``, in code points."""

    passage: int
    start: int
    end: int

    def __post_init__(self) -> None:
        if self.passage < 0 or not 0 <= self.start < self.end:
            place = f"[{self.start}, {self.end}) of passage {self.passage}"
            raise ValueError(f"span {place}; wanted 0 <= passage and 0 <= start < end")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer; ``span`` is None for generated text, and ``support`` then the place it rests on.

    ``score`` orders the answers of one reading; ``confidence`` in [0, 1] compares across readings.
    The support is the sentence or passage that most of the text was copied from or attended to, or
    the one that the model cited; None where ``span`` says it, or where nobody can. ``also`` are
    other places that answer the same (``merged``). ``note`` is what whoever reads the answer must be
    told of it, a sentence without its full stop. ``chain`` are the facts that it was inferred from, in the
    order in which they were found, of readers that find some. ``prompt`` is the version of what a language
    model was told that wrote it; answers that differ in nothing else are equal.
    """

    text: str
    score: float
    confidence: float
    span: Span | None
    support: Span | None = None
    note: str | None = None
    also: tuple[Span, ...] = ()
    chain: tuple[Span, ...] = ()
    prompt: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not 0.0 <= self.confidence <= 1.0:
            raise ValueError(f"confidence {self.confidence} of {self.text!r} is outside [0, 1]")


class Reader(Protocol):
    """Answers questions from passages; sees strings, never a book or an index. Readers derive from it.

    ``version`` tells its weights from others, where it has any; ``trained_on`` says what they learnt from,
    where that is known. Readings have references only for an ``oracle``.
    """

    version: str | None = None
    trained_on: str | None = None
    oracle: bool = False

    def prepare(self, readings: Sequence[Reading]) -> list[Reading]:
        """The readings with what this reader computes of them before it answers or ranks.

        ``read`` and ``rank`` prepare what is not; who calls both prepares first, so that nothing is
        computed twice. A reader without such work returns them as they are.
        """
        return list(readings)

    def reach(self) -> None:
        """Raise ``EndpointError``, within seconds, where the server that answers cannot be reached."""
        return  # most answer in this process

    @abstractmethod
    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """At most ``n_best`` answers per reading, best first; none where there is nothing to read.

        Where an answer has a span, its text is exactly ``passages[span.passage][span.start:span.end]``,
        and no two spans of one reading overlap. A support lies inside its passage too. No two answers
        to one reading are equal (``text.equal_answers``).
        """


Rank = Callable[[Sequence[str]], list[float]]
"""``Ranker.rank`` of one reading."""


class Ranker(Reader, Protocol):
    """A reader that can also rank given candidates (used for MRR and multiple choice)."""

    @abstractmethod
    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """One score per candidate, larger is better: log-probability or similarity."""

    def read_to_rank(
        self, readings: Sequence[Reading], n_best: int = 1
    ) -> Iterator[tuple[int, list[Answer], Rank]]:
        """``read`` for each reading, by its index and in any order, with what ranks more candidates for it.

        A rank may rest on what has just been read, and is to be used before the next one is asked for.
        """
        for i, answers in enumerate(self.read(readings, n_best)):
            yield i, answers, partial(self.rank, readings[i])


OnWords = Callable[[str], None]
"""Hears the words of an answer as they are written, some at a time, from any thread."""


class LanguageModel(Reader, Protocol):
    """A reader that writes its answers word by word, and takes part in a conversation."""

    @abstractmethod
    def read_aloud(
        self, readings: Sequence[Reading], n_best: int = 1, on_words: Sequence[OnWords | None] = ()
    ) -> list[list[Answer]]:
        """As ``read``; what is heard of an answer is a draft, and what is returned counts.

        ``on_words`` has one per reading, or none at all.
        """

    @abstractmethod
    def rewrite(self, question: str, turns: Sequence[tuple[str, str]]) -> str:
        """``question`` in words that need nothing of the ``turns`` before it, questions and answers.

        It names nobody whom neither the question nor the turns name; itself where nothing better is found.
        """


def merged(answers: Iterable[Answer], n_best: int) -> list[Answer]:
    """The first ``n_best`` answers that differ, each with the places of those that are equal to it.

    The sentence that a written answer rests on is no other place where it holds a span already. An answer
    without a chain has that of the first of its equals that has one.
    """
    first: dict[str, Answer] = {}
    places: dict[str, list[Span]] = defaultdict(list)
    chains: dict[str, tuple[Span, ...]] = defaultdict(tuple)
    for answer in answers:
        key = answer_key(answer.text)
        place = answer.span or answer.support
        if key not in first:
            first[key] = answer
        elif place is not None:
            places[key].append(place)
        places[key] += answer.also
        chains[key] = chains[key] or answer.chain
    return [
        replace(answer, also=_others(answer, places[key]), chain=chains[key])
        for key, answer in list(first.items())[:n_best]
    ]


def _others(answer: Answer, places: Iterable[Span]) -> tuple[Span, ...]:
    """The places that overlap neither the answer's own nor one another; the first of those that do."""
    own = answer.span or answer.support
    found = [] if own is None else [own]
    for place in places:
        if not any(overlap(place, other) for other in found):
            found.append(place)
    return tuple(found if own is None else found[1:])


def overlap(one: Span, other: Span) -> bool:
    """Whether two spans of one reading share a character."""
    return one.passage == other.passage and one.start < other.end and other.start < one.end


class PassageEncoder(Protocol):
    """Reads passages beside a question, as the cross-encoder does; ``version`` tells weights apart."""

    @property
    def version(self) -> str:
        """What ``EncodedPassage.encoder`` is of what it encoded."""
        ...

    def encode(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[list[EncodedPassage]]:
        """See ``CrossEncoder.encode``."""
        ...


def encode_readings(encoder: PassageEncoder, readings: Sequence[Reading]) -> list[Reading]:
    """The readings with what ``encoder`` says of every passage; what it said before is not computed again."""
    known = [
        [one if one is not None and one.encoder == encoder.version else None for one in encoded]
        for encoded in (reading.encoded or (None,) * len(reading.passages) for reading in readings)
    ]
    missing = [
        (reading.question, [p for p, one in zip(reading.passages, of_one, strict=True) if one is None])
        for reading, of_one in zip(readings, known, strict=True)
    ]
    if not any(passages for _, passages in missing):
        return list(readings)
    new = (one for of_one in encoder.encode(missing) for one in of_one)
    return [
        replace(reading, encoded=tuple(next(new) if one is None else one for one in of_one))
        for reading, of_one in zip(readings, known, strict=True)
    ]

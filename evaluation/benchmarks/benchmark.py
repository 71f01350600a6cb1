"""The questions of a benchmark, the books they are about, and what of the data set was left out."""

from __future__ import annotations

import hashlib
import random
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from encoders.adapters import file_hash
from indexing.book import Book
from readers.reading import Named, Reading

T = TypeVar("T")
Place = tuple[int, int]
"""``book.text[start:end]``, offsets in code points, half-open."""

# Of answers in words, with what they are judged by (ROUGE-L) first.
TEXT_METRICS = ("rouge_l", "bleu_1", "bleu_4", "meteor", "meteor_paper", "f1", "exact_match", "mrr")


@dataclass(frozen=True, slots=True)
class Names:
    """Where entities are named: ``places`` in the question's book, in order, and ``asked`` in its text.

    Beside each place is the number of its entity; numbers below that of the candidates are theirs.
    """

    places: tuple[Place, ...]
    entities: tuple[int, ...]
    asked: tuple[Place, ...] = ()
    asked_entities: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Question:
    """One question with its reference answers.

    ``story`` is what it was asked about: the unit that scores are resampled over, and whose
    answers are the candidates of MRR. ``book`` is the text that ``given`` (the passages to read,
    in order; none where they are to be retrieved) and ``gold`` (where the answer is known to
    stand) point into; it is the story, unless several stories are read as one book. ``candidates``
    are the answers to choose from (cloze, multiple choice), none where the answer is free. ``names`` are the
    places of entities, where the benchmark knows them. ``kind`` may be a part of another, as in
    ``relational/date``: see ``kinds_of``. ``before`` is an offset in the book: nothing at or
    after it may be found.
    """

    id: str
    story: str
    text: str
    answers: tuple[str, ...]
    book: str
    given: tuple[Place, ...] = ()
    gold: tuple[Place, ...] = ()
    kind: str | None = None
    candidates: tuple[str, ...] = field(default=(), repr=False)  # see Benchmark.fingerprint
    names: Names | None = field(default=None, repr=False)
    before: int | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError(f"question {self.id} has no text")
        if not any(answer.strip() for answer in self.answers):
            raise ValueError(f"question {self.id} has no reference answer")
        if self.candidates and self.answers[0] not in self.candidates:
            raise ValueError(
                f"question {self.id} has the answer {self.answers[0]!r}, which is none of its candidates: "
                f"{', '.join(map(repr, self.candidates))}"
            )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A document of the split that the scores do not stand on, and why."""

    story: str
    title: str
    questions: int
    reason: str


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The questions of one split in one setting, in the data set's order.

    ``books`` loads a book when it is needed, ``titles`` names the stories, and ``ranked`` says
    whether the answers of one story are candidates for each of its questions (MRR). ``part`` names the
    part of the split that the questions are, None for the whole. ``metrics`` are names of
    ``evaluation.metrics.metric.METRICS``, the one that decides whether an answer is right first.
    ``notes`` say what whoever reads the figures has to know; ``half_of`` is the half that a story
    belongs to where halves are scored apart, and ``trained_half`` the one that the default models
    were trained on. ``bounds`` are by name what the best answers of some sort to questions of the benchmark
    are worth, by its first metric. ``made`` says that the questions are made of whatever texts were given.
    ``files`` are those that the books of the questions are read from where that is done only when one is
    needed, none where their texts are in memory.
    """

    name: str
    split: str
    setting: str
    questions: tuple[Question, ...]
    books: Mapping[str, Callable[[], Book]]
    titles: Mapping[str, str]
    left_out: tuple[LeftOut, ...] = ()
    ranked: bool = True
    part: str | None = None
    metrics: tuple[str, ...] = TEXT_METRICS
    notes: tuple[str, ...] = ()
    half_of: Callable[[str], str] | None = None
    trained_half: str | None = None
    bounds: Callable[[Sequence[Question]], Mapping[str, float]] | None = None
    made: bool = False
    files: tuple[Path, ...] = ()

    def __post_init__(self) -> None:
        if len({bool(question.candidates) for question in self.questions}) > 1:
            raise ValueError(f"some questions of {self.name} have candidates, and some have none")

    @property
    def retrieved(self) -> bool:
        """Whether passages have to be found before they are read."""
        return any(not question.given for question in self.questions)

    @property
    def has_candidates(self) -> bool:
        """Whether answers are to be chosen, and not written."""
        return any(question.candidates for question in self.questions)

    def story_answers(self) -> dict[str, tuple[str, ...]]:
        """Per story the candidates of MRR: the first reference of each of its questions, repeated or not.

        So counted, and ties at random, NarrativeQA valid has the paper's MRR for a random ranking (.133)
        and for one by ROUGE-L with the question (.168).
        """
        found: dict[str, list[str]] = defaultdict(list)
        for question in self.questions:
            found[question.story].append(question.answers[0])
        return {story: tuple(answers) for story, answers in found.items()}

    def fingerprint(self) -> str:
        """A short hash of all questions, references, passages given and books, to tell data sets apart.

        Of books that are not in memory it is of their ``files``: to parse a novel takes far longer.
        """
        digest = hashlib.sha256()
        for question in self.questions:
            digest.update(f"{question!r}{question.candidates}".encode("utf-8", "surrogatepass"))
        if self.files:
            hashes = (bytes.fromhex(file_hash(path)) for path in self.files)
        else:
            texts = (self.books[id]().text for id in dict.fromkeys(one.book for one in self.questions))
            hashes = (hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts)
        for one in hashes:
            digest.update(one)
        return digest.hexdigest()[:16]


def given_reading(question: Question, text: str) -> Reading:
    """The reading of the passages given with a question; ``text`` is its book's."""
    passages = tuple(text[start:end] for start, end in question.given)
    if question.names is None:
        return Reading(question.text, passages, candidates=question.candidates)
    starts = [start for start, _ in question.given]
    named = [
        Named(entity, -1, start, end)
        for (start, end), entity in zip(question.names.asked, question.names.asked_entities, strict=True)
    ]
    for (start, end), entity in zip(question.names.places, question.names.entities, strict=True):
        passage = bisect_right(starts, start) - 1
        if passage >= 0 and end <= question.given[passage][1]:
            named.append(Named(entity, passage, start - starts[passage], end - starts[passage]))
    return Reading(question.text, passages, candidates=question.candidates, named=tuple(named))


def in_memory(books: Mapping[str, Book]) -> dict[str, Callable[[], Book]]:
    """What loads each book, where all are there already."""
    return {id: partial(_itself, book) for id, book in books.items()}


def _itself(book: Book) -> Book:
    return book


def kinds_of(kind: str | None) -> tuple[str, ...]:
    """The kinds that a question counts for: one that is a part of another for both, outer one first."""
    return tuple(kind.split("/")) if kind else ()


def sample(questions: Sequence[Question], limit: int | None, seed: int) -> tuple[Question, ...]:
    """``limit`` of the questions, drawn by ``seed``, in their order; all of them where that is fewer."""
    if limit is None or limit >= len(questions):
        return tuple(questions)
    chosen = sorted(random.Random(seed).sample(range(len(questions)), limit))
    return tuple(questions[i] for i in chosen)


def sample_stream(items: Iterable[T], limit: int, seed: int) -> list[T]:
    """``limit`` of what is too much to be kept, drawn by ``seed``, in order: never more of it are."""
    draw = random.Random(seed)
    kept: list[tuple[int, T]] = []
    for number, item in enumerate(items):  # Vitter 1985, algorithm R
        if number < limit:
            kept.append((number, item))
        elif (place := draw.randrange(number + 1)) < limit:
            kept[place] = (number, item)
    return [item for _, item in sorted(kept, key=lambda one: one[0])]

"""Stories as books to be asked about: the facts by themselves, or scattered through the text of a book."""

from __future__ import annotations

import random
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from evaluation.benchmarks.files import DataError
from evaluation.probing.fresh_questions import SkillQuestion
from indexing.book import Book
from indexing.manifest import BuildSettings
from text.sentences import sentence_spans

PASSAGE_WORDS = BuildSettings().words


@dataclass(frozen=True, slots=True)
class StoryBook:
    """The text that some questions are asked about; ``befores`` are how far of it each may be answered from.

    These are character offsets, or None for all of it.
    """

    id: str
    text: str
    questions: tuple[SkillQuestion, ...]
    befores: tuple[int | None, ...]


def passages(facts: Sequence[str]) -> tuple[str, ...]:
    """The facts as passages of ``PASSAGE_WORDS`` words at most, each of whole facts."""
    found: list[list[str]] = []
    room = 0
    for fact in facts:
        length = len(fact.split())
        if length > room:
            found.append([])
            room = PASSAGE_WORDS
        found[-1].append(fact)
        room -= length
    return tuple(" ".join(one) for one in found)


def plain_books(questions: Sequence[SkillQuestion]) -> list[StoryBook]:
    """A book of the facts told, for all questions that are asked after the same."""
    found = []
    for (task, story, told), same in _grouped(questions, lambda one: (one.task, one.story, len(one.facts))):
        text = " ".join(same[0].facts)
        found.append(StoryBook(f"qa{task}-{story}-{told}", text, tuple(same), (None,) * len(same)))
    return found


def scattered_books(questions: Sequence[SkillQuestion], through: Book, seed: int) -> list[StoryBook]:
    """A book for each story, its facts in order between the sentences of another, drawn by ``seed``.

    Each question may be answered from what stands before the first fact that it is asked before. Raises
    ``DataError`` where the other book is too short.
    """
    text = _Sentences(through)
    return [
        _scattered(f"qa{task}-{story}", same, text, random.Random(f"{seed} {task} {story}"))
        for (task, story), same in _grouped(questions, lambda one: (one.task, one.story))
    ]


def _grouped(
    questions: Sequence[SkillQuestion], key: Callable[[SkillQuestion], tuple[int, ...]]
) -> list[tuple[tuple[int, ...], list[SkillQuestion]]]:
    return [(of, list(same)) for of, same in groupby(questions, key)]


class _Sentences:
    """The text of a book, where its sentences end, and how many words stand before each end."""

    def __init__(self, book: Book) -> None:
        self.id, self.text = book.id, book.text
        self.ends: list[int] = []
        self.words: list[int] = []
        start = words = 0
        for _, end in sentence_spans(book.text):
            words += len(book.text[start:end].split())
            self.ends.append(end)
            self.words.append(words)
            start = end


def _scattered(
    id: str, questions: Sequence[SkillQuestion], through: _Sentences, rng: random.Random
) -> StoryBook:
    facts = questions[0].told
    parts = [len(one.facts) for one in questions if len(one.facts) < len(facts)]
    places = _places(len(facts), set(parts), through, rng)
    starts, pieces, at, length = [], [], 0, 0
    for place, fact in zip(places, facts, strict=True):
        piece = f"{through.text[at:place]} {fact}"
        pieces.append(piece)
        length += len(piece)
        starts.append(length - len(fact))
        at = place
    text = "".join((*pieces, through.text[at:]))
    befores = tuple(starts[len(one.facts)] if len(one.facts) < len(facts) else None for one in questions)
    return StoryBook(id, text, tuple(questions), befores)


def _places(count: int, parts: set[int], through: _Sentences, rng: random.Random) -> list[int]:
    """Where ``count`` facts go, ascending ends of sentences.

    A whole passage lies between the facts before and after each number in ``parts``: what is told after a
    question must not be in one passage with what is told before it.
    """
    last = through.words[-1] if through.words else 0
    room = last - PASSAGE_WORDS * (len(parts) + 1)
    if room < 0:
        raise DataError(
            f"{through.id} has {last:,} words; wanted {last - room:,} to scatter a story through, so that no "
            "passage holds what is told before a question and what is told after it"
        )
    found: list[int] = []  # numbers of sentences
    for number, drawn in enumerate(sorted(rng.uniform(0, room) for _ in range(count))):
        words = drawn + PASSAGE_WORDS * sum(part <= number for part in parts)
        if found:
            words = max(words, through.words[found[-1]] + PASSAGE_WORDS * (number in parts))
        # The last sentence may be so long that nothing fits before it.
        found.append(min(bisect_left(through.words, words), len(through.ends) - 1))
    return [through.ends[number] for number in found]

"""bAbI's stories to learn from: each question with the facts told before it, its answers and its support."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from evaluation.worlds.stories import Story
from readers.facts import Told, told_in
from readers.reading import Reading


@dataclass(frozen=True, slots=True)
class Example:
    """A question as readers are asked it, with the words of its answer and the numbers of its facts."""

    told: Told
    answers: tuple[str, ...]
    support: tuple[int, ...]


def examples(stories: Iterable[Story]) -> Iterator[Example]:
    """The questions of the stories, in order; those asked before any fact teach nothing, and are left out."""
    for story in stories:
        told = told_in(Reading("", story.facts))
        numbers = {fact.span.passage: number for number, fact in enumerate(told.facts)}
        for one in story.asked:
            before = tuple(fact for fact in told.facts if fact.span.passage < one.after)
            question = told_in(Reading(one.text, ())).question
            if before and question:
                support = tuple(numbers[i] for i in one.support if i in numbers)
                yield Example(Told(question, before), one.answers, support)


def words_of(found: Iterable[Example]) -> list[str]:
    """All words of questions and facts, by the alphabet."""
    seen: set[str] = set()
    for one in found:
        seen.update(one.told.question)
        seen.update(word for fact in one.told.facts for word in fact.words)
    return sorted(seen)

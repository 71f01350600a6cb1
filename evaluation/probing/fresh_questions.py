"""Fresh questions of a task, of stories made by a seed, each with the facts that were told before it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

from evaluation.worlds.simulator import simulate

_AT_LEAST = 200  # questions are made, whatever is asked: a few would not hold all answers of a task


@dataclass(frozen=True, slots=True)
class SkillQuestion:
    """A question of a task, and the facts told before it, in order.

    ``answers`` are the words that are all wanted, in order, and ``story`` is the number of its story in the
    task, of which ``told`` are all facts, those after the question too.
    """

    id: str
    task: int
    story: int
    text: str
    answers: tuple[str, ...]
    facts: tuple[str, ...]
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skill:
    """The questions of one task, and the words that answer any question of the task."""

    task: int
    questions: tuple[SkillQuestion, ...]
    answers: frozenset[str]


def fresh(task: int, count: int, seed: int) -> Skill:
    """``count`` questions of a task, the same ones for one seed."""
    stories = simulate(task, max(count, _AT_LEAST), seed)
    questions = (
        SkillQuestion(
            f"qa{task}-{number}-{place}",
            task,
            number,
            one.text,
            one.answers,
            story.facts[: one.after],
            story.facts,
        )
        for number, story in enumerate(stories, 1)
        for place, one in enumerate(story.asked, 1)
    )
    asked = [question for question, _ in zip(questions, range(count), strict=False)]
    answers = frozenset(word for story in stories for one in story.asked for word in one.answers)
    return Skill(task, tuple(asked), answers)


def fingerprint(skills: Iterable[Skill], inside: str = "") -> str:
    """A short hash of all questions, and of the text that their facts are scattered through."""
    digest = hashlib.sha256(inside.encode("utf-8", "surrogatepass"))
    for skill in skills:
        for one in skill.questions:
            digest.update(repr((one.id, one.text, one.answers, one.told)).encode())
    return digest.hexdigest()[:16]

"""What a probe found: per skill the share of right answers, how sure that is, and some that are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evaluation.probing.answer_words import is_right
from evaluation.probing.asking import Said
from evaluation.probing.fresh_questions import Skill
from evaluation.worlds.stories import NAMES

ERRORS = 2  # that are kept of each skill


def described(skills: Iterable[Skill], said: Iterable[Said]) -> dict[str, Any]:
    """Accuracy per skill and of all, which questions were right, and the first errors; as JSON has it.

    ``right`` has a character for each question in order, 1 where it was answered right. ``said`` may come in
    any order.
    """
    answers = {one.question.id: one for one in said}
    found = [_described(skill, answers) for skill in skills]
    return {
        "answered_by": sorted({one.reader for one in answers.values()}),
        "questions": sum(one["questions"] for one in found),
        "accuracy": round(sum(one["accuracy"] for one in found) / len(found), 6),
        "skills": found,
    }


def _described(skill: Skill, answers: Mapping[str, Said]) -> dict[str, Any]:
    got = [answers[one.id].answer for one in skill.questions]
    rights = [
        is_right(text, one.answers, skill.answers, skill.task)
        for text, one in zip(got, skill.questions, strict=True)
    ]
    errors = [
        {
            "id": one.id,
            "facts": list(one.facts),
            "question": one.text,
            "wanted": ",".join(one.answers),
            "got": text,
        }
        for text, one, right in zip(got, skill.questions, rights, strict=True)
        if not right
    ]
    return {
        "task": skill.task,
        "name": NAMES[skill.task],
        "questions": len(rights),
        "accuracy": round(sum(rights) / len(rights), 6),
        "interval": wilson(sum(rights), len(rights)),
        "right": "".join(str(int(right)) for right in rights),
        "errors": errors[:ERRORS],
    }


def wilson(right: int, questions: int) -> list[float]:
    """The 95 % interval of a share (Wilson 1927)."""
    from scipy.stats import binomtest  # type: ignore[import-untyped]

    interval = binomtest(right, questions).proportion_ci(0.95, method="wilson")
    return [round(float(interval.low), 6), round(float(interval.high), 6)]


def asked_of(result: Mapping[str, Any]) -> str:
    """Who was asked, and how the facts were found, in a line."""
    who = result["url"] or result["reader"]
    inside = f", facts inside {result['inside']}" if result["inside"] else ""
    found = f", {result['retriever']}" if result["retriever"] else ""
    return f"{who}{inside}{found}"

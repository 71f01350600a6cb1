"""Whether to trust an answer: what cannot be answered, what is doubted, and the verdict on the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from answering.ask import Ask
from answering.citing import Candidate, Verdict
from indexing.index import BookIndex
from readers import spec_of
from text.asked_names import names_in, unmentioned
from text.cloze import find_blank
from text.question_kinds import Kind, needs_conversation, question_kind

UNMENTIONED = 0.25  # of the confidence is left where the book never mentions whom the question is about

_CANNOT = {
    Kind.YES_NO: "yes or no is asked for, which this reader cannot say: ask who, what, where, when or why",
    Kind.DESCRIBE: "a description is asked for, and this reader finds short facts alone: ask for one of them",
    Kind.SUMMARISE: "a summary is asked for, and this reader finds short facts alone: ask for one of them",
}
_CONVERSATION = (
    "the question is about something said before, which this reader does not know: name whom or what you mean"
)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The confidences from which an answer may be one (``answerable``), and from which it is (``sure``)."""

    answerable: float
    sure: float

    def verdict(self, confidence: float) -> Verdict:
        """The verdict on an answer of this confidence."""
        if confidence < self.answerable:
            return "none"
        return "answer" if confidence >= max(self.sure, self.answerable) else "maybe"


def refusal(ask: Ask) -> str | None:
    """Why the question is of a kind that its reader cannot answer; None where it can be tried."""
    if spec_of(ask.reader).any_kind or ask.candidates or find_blank(ask.question):
        return None
    kind = question_kind(ask.question)
    if kind in _CANNOT:
        return _CANNOT[kind]
    return _CONVERSATION if needs_conversation(ask.question) else None


def doubt(ask: Ask, index: BookIndex, before: int | None) -> str | None:
    """What in the question speaks against any answer: names that the book never mentions.

    Of the book what stands before ``before``.
    """
    names = names_in(ask.question)
    if not names:
        return None
    end = index.characters if before is None else min(before, index.characters)
    missing = unmentioned(names, index.text(0, end)) if end else []
    if not missing:
        return None
    part = "the book" if before is None else "what has been read of the book"
    return f"{part} never mentions {' or '.join(missing)}"


def doubted(candidates: Sequence[Candidate], note: str | None) -> tuple[Candidate, ...]:
    """The candidates with what speaks against them, and so much less confidence."""
    if note is None:
        return tuple(candidates)
    return tuple(
        replace(
            one,
            confidence=UNMENTIONED * one.confidence,
            note=note if one.note is None else f"{note}; {one.note}",
        )
        for one in candidates
    )

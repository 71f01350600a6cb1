"""Whether to trust an answer: what cannot be answered, what is doubted, and the verdict on the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from answering.ask import Ask
from answering.chapter_references import chapter_alone
from answering.citing import Candidate, Verdict
from answering.which_chapter import looked_for
from readers import spec_of
from retrieval.hits import Readable
from text.cloze import blanks, find_blank
from text.content_words import strange_words
from text.polar_questions import AUXILIARIES
from text.question_kinds import Kind, needs_conversation, question_kind
from text.question_names import names_in, unmentioned
from text.sentences import sentence_spans

# Of the confidence that is left where the book never mentions whom, or most of what, the question is about.
UNMENTIONED = 0.2
LONG = 2_000  # characters of a book; a shorter one may answer a question in other words than its own

_FACTS = "and this reader finds short facts alone: ask for one of them"
_CANNOT = {
    Kind.YES_NO: "yes or no is asked for, which this reader cannot say: ask who, what, where, when or why",
    Kind.DESCRIBE: f"a description is asked for, {_FACTS}, or see who somebody is",
    Kind.MEANING: f"what it means is asked for, which a book leaves to its readers, {_FACTS}",
    Kind.SUMMARISE: f"a summary is asked for, {_FACTS}, or see the recap",
}
_VERB = "|".join(sorted(AUXILIARIES))
# Not "Does she know who came and what he wanted?"
_AND_ASKED = re.compile(
    rf",?\s+and\s+(?=(?:who|whom|whose|what|which|where|when|why|how)(?:['’]s|(?:\s+\w+)?\s+(?:{_VERB}))\b)",
    re.I,
)
_CONVERSATION = (
    "the question is about something said before, and it is not known what: name whom or what you mean"
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
    if kind == Kind.YES_NO:  # "Does it work out? What happens on the last day?" can be answered in part
        following = map(question_kind, _behind_first(ask.question))
        kind = next((one for one in following if one not in {Kind.YES_NO, Kind.OTHER}), kind)
    if kind in _CANNOT:
        return _CANNOT[kind]
    alone = needs_conversation(ask.question) or chapter_alone(ask.question) is not None
    return _CONVERSATION if alone else None


def _behind_first(question: str) -> list[str]:
    """The questions behind the first one: sentences of their own, or what is asked behind "and"."""
    sentences = [question[start:end] for start, end in sentence_spans(question)]
    return [*sentences[1:], *_AND_ASKED.split(sentences[0])[1:]] if sentences else []


def doubt(ask: Ask, book: Readable) -> str | None:
    """What in the question speaks against an answer from the book: what it never mentions.

    That is names, those of its title and author aside, or else half of the other words. Of the book what
    stands before its limit.
    """
    text = book.read_so_far()
    question = looked_for(ask.question) or ask.question
    names = [name for name in names_in(question) if not blanks(name)]
    names = unmentioned(names, f"{book.index.title}\n{book.index.manifest.author or ''}")
    missing = unmentioned(names, text) if text else []
    if not missing and len(text) >= LONG and not find_blank(question):
        missing = strange_words(question, text)
    if not missing:
        return None
    part = "the book" if book.before is None else "what has been read of the book"
    return f"{part} never mentions {' or '.join(missing)}"


def doubted(candidates: Sequence[Candidate], notes: Mapping[str, str | None]) -> tuple[Candidate, ...]:
    """The candidates with what speaks against them, and so much less confidence; the best first.

    ``notes`` are by book id. What speaks against all books speaks against an answer that is of none.
    """
    against_all = next(iter(notes.values()), None) if all(notes.values()) else None
    found = []
    for one in candidates:
        note = against_all if one.evidence is None else notes.get(one.evidence.book_id)
        if note is not None:
            confidence = UNMENTIONED * one.confidence
            one = replace(one, confidence=confidence, note=f"{note}; {one.note}" if one.note else note)
        found.append(one)
    # Stable, and of one book all are doubted alike: the order changes only between books.
    return tuple(sorted(found, key=lambda one: -one.confidence) if len(notes) > 1 else found)

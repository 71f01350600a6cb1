"""Answers that only repeat whom the question names: nobody is told who Ines is by her name."""

from __future__ import annotations

import re
from collections.abc import Sequence

from answering.finding import Found
from answering.of_itself import OfItself
from answering.related_questions import related_asked
from readers import spec_of
from readers.reading import Answer
from text.cloze import find_blank
from text.equal_answers import normalised
from text.question_kinds import Kind, question_kind

_OFFERED = re.compile(r"\b(?:or|between)\b", re.I)  # "Who is older, Ines or Pim?" names who it is


def without_repeated(found: Found, answers: Sequence[Answer]) -> list[Answer]:
    """The answers to who somebody is without those that only say a name of the question, where others are.

    That is the words of the question, or, asked for a relation of somebody, any of their names. Of 4,250
    questions for somebody of four data sets, 7 have such an answer.
    """
    question = found.ask.question
    if len(answers) < 2 or found.ask.candidates or find_blank(question):
        return [*answers]
    if spec_of(found.ask.reader).language_model or _OFFERED.search(question):
        return [*answers]
    if question_kind(question) != Kind.WHO:
        return [*answers]
    said, names = {*normalised(question)}, _names(found)
    telling = [one for one in answers if not _repeats(one.text, said, names)]
    return telling or [*answers]


def _repeats(answer: str, said: set[str], names: set[str]) -> bool:
    found = normalised(answer)
    return bool(found) and ({*found} <= said or " ".join(found) in names)


def _names(found: Found) -> set[str]:
    """What else they are called whose father, wife or friend is asked for."""
    asked, book = related_asked(found.ask.question), found.alone
    if asked is None or asked.whom is None or book is None:
        return set()
    person = OfItself(book.index, book.end).person(asked.whom)
    return set() if person is None else {" ".join(normalised(one)) for one in (person.name, *person.aliases)}

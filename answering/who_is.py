"""Who somebody of a book is, asked as a question: the sentences that tell most of them, as one answer."""

from __future__ import annotations

import re

from answering.citing import Candidate
from answering.mention_questions import is_name
from answering.of_itself import OfItself
from answering.profiles import SENTENCES, descriptions
from answering.said import Said
from encoders.cross_encoder import load_crossencoder

_TELLS = 0.6  # that one of the sentences says who somebody is (docs/who.md)
_WORK = r"(?: in (?:the|this) (?:book|novel|novella|story|tale|play))?"
_PLEASE = r"(?:(?:can|could) you )?(?:please )?"
_ASKED = re.compile(
    rf"(?:who(?:['’]s| is| was) (?P<who>.+?)(?:,? (?:again|exactly|anyway))?{_WORK}"
    rf"|{_PLEASE}(?:describe|tell (?:me|us) (?:more |something )?about) (?P<told>.+?){_WORK}"
    rf"|what (?:is|was) (?P<like>.+?) like(?: as a person)?{_WORK}"
    rf"|what (?:kind|sort) of (?:a )?(?:person|man|woman|boy|girl) (?:is|was) (?P<kind>.+?){_WORK}"
    rf"|what do (?:we|you) (?:know|learn) about (?P<known>.+?){_WORK}"
    r"|(?P<only>.+?)\? who (?:is|was) (?:that|he|she))[?!.\s]*",
    re.I,
)


def who_is_asked(question: str) -> str | None:
    """The name of whom a question asks who they are or what they are like; None of other questions."""
    match = _ASKED.fullmatch(" ".join(question.split()))
    name = next(filter(None, match.groups()), "").strip(" ,") if match else ""
    return name if name and is_name(name) else None


def who_is(name: str, book: OfItself) -> Said | None:
    """The sentences before the limit that tell most of whoever is called so; None where nobody is."""
    person = book.person(name)
    if person is None or not person.is_person:
        return None
    told = sorted(descriptions(book.story, person, SENTENCES, load_crossencoder()))
    if not told:
        return None
    first, *others = [book.evidence(start, end) for start, end, _ in told]
    text = " … ".join(one.text for one in (first, *others))
    note = f"what the book says of {person.name}: its own sentences, chosen as `who` does"
    return Said((Candidate(text, _TELLS, first, note, tuple(others)),), guessed=True)

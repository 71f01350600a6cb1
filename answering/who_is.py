"""Who somebody of a book is, asked as a question: what is read, or told, are the sentences that tell most."""

from __future__ import annotations

import re
from dataclasses import replace

from answering.citing import passage_at
from answering.mention_questions import is_name
from answering.of_itself import OfItself
from answering.profiles import SENTENCES, descriptions
from answering.said import Said, said_at
from encoders.cross_encoder import load_crossencoder
from indexing.book import Passage
from text.book_words import THE_BOOK
from text.question_kinds import GIVE_DESCRIPTION

_TELLS = 0.6  # that one of the sentences says who somebody is (docs/who.md)
_IN = rf"(?: in {THE_BOOK})?"
_PLEASE = r"(?:(?:can|could) you )?(?:please )?"
_WHO = re.compile(
    rf"(?:who(?:['’]s| is| was) (?P<who>.+?)(?:,? (?:again|exactly|anyway|really))?{_IN}"
    r"|(?P<only>.+?)\? who (?:is|was) (?:that|he|she))[?!.\s]*",
    re.I,
)
_DESCRIBED = re.compile(
    rf"(?:{_PLEASE}(?:describe|tell (?:me|us) (?:more |something )?about) (?P<told>.+?){_IN}"
    rf"|what (?:is|was) (?P<like>.+?) like(?: as a person)?{_IN}"
    rf"|what (?:kind|sort) of (?:a )?(?:person|man|woman|boy|girl) (?:is|was) (?P<kind>.+?){_IN}"
    rf"|what do (?:we|you) (?:know|learn) about (?P<known>.+?){_IN}"
    rf"|what (?:can|could) you (?:tell|say)(?: (?:me|us))? about (?P<said>.+?){_IN}"
    rf"|{_PLEASE}{GIVE_DESCRIPTION} (?P<given>.+?){_IN})[?!.\s]*",
    re.I,
)


def who_is_asked(question: str) -> str | None:
    """The name of whom a question asks who they are; None of other questions."""
    return _name(_WHO.fullmatch(" ".join(question.split())))


def description_asked(question: str) -> str | None:
    """The name of whom a question wants to be told about; None of other questions."""
    return _name(_DESCRIBED.fullmatch(" ".join(question.split())))


def _name(match: re.Match[str] | None) -> str | None:
    said = next(filter(None, match.groups()), "") if match else ""
    name = said.partition(", ")[0].strip(" ,")  # "Mr. Brock, the potter"
    return name if name and is_name(name) else None


def person_asked(question: str, book: OfItself, k: int) -> tuple[str, list[Passage]] | None:
    """Who somebody is, asked by the name that the book knows them by, and what is to be read for it.

    That is the ``k`` sentences which tell most of them, in story order, without such as only name them. None
    of other questions, and where nobody is called so.
    """
    name = who_is_asked(question)
    person = None if name is None else book.person(name)
    best = [] if person is None else descriptions(book.story, person, k, load_crossencoder())
    if person is None or not best:
        return None
    told = sorted(best[:1] + [one for one in best[1:] if one[2] > 0])
    passages = [replace(passage_at(book.index, start, end), start=start, end=end) for start, end, _ in told]
    return f"Who is {person.name}?", passages


def described(name: str, book: OfItself) -> Said | None:
    """What the book says of whoever is called so, in its own sentences; None where nobody is."""
    person = book.person(name)
    told = [] if person is None else sorted(descriptions(book.story, person, SENTENCES, load_crossencoder()))
    if not told:
        return None
    places = [book.evidence(start, end) for start, end, _ in told]
    note = "what the book says in its own sentences, chosen as `who` does"
    return said_at(" … ".join(one.text for one in places), _TELLS, places, note, guessed=True)

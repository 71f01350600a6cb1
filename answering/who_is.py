"""Who somebody of a book is, asked as a question: what is read, or told, are the sentences that tell most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from answering.citing import passage_at
from answering.mention_questions import is_name
from answering.of_itself import OfItself
from answering.profiles import SENTENCES, descriptions
from answering.said import Said, said_at
from encoders.cross_encoder import load_crossencoder
from indexing.book import Passage
from text.book_words import THE_BOOK
from text.named_entities import Entity
from text.question_kinds import GIVE_DESCRIPTION

_NOTE = "what the book says in its own sentences, chosen as `who` does"
_TELLS = 0.6  # that one of the sentences says who somebody is (docs/who.md)
_IN = rf"(?: in {THE_BOOK})?"
_AGAIN = r"(?:,? (?:again|exactly|anyway|really))?"
_PLEASE = r"(?:(?:can|could) you )?(?:please )?"
_WHO = re.compile(
    rf"(?:who(?:['’]s| is| was) (?P<who>.+?){_AGAIN}{_IN}"
    r"|(?P<only>.+?)\? who (?:is|was) (?:that|he|she))[?!.\s]*",
    re.I,
)
_SEVERAL = re.compile(
    rf"who (?:(?:are|were) (?P<names>.+? and .+?)|(?P<told>.+? and .+?) (?:are|were)){_AGAIN}{_IN}[?!.\s]*",
    re.I,
)
_BETWEEN_NAMES = re.compile(r",? and (?:also )?|, ")
_MOST_NAMES, _OF_EACH = 5, 2  # of several, and sentences of each
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


def several_asked(question: str) -> list[str]:
    """The names of those of whom a question asks who they are, if they are several; none of others."""
    line = " ".join(question.split())
    match = _SEVERAL.fullmatch(line)
    names = _BETWEEN_NAMES.split(match["names"] or match["told"] if match else description_asked(line) or "")
    return names if 1 < len(names) <= _MOST_NAMES and all(name and is_name(name) for name in names) else []


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
    return None if person is None else _described([person], book, SENTENCES, _NOTE)


def each_described(names: Sequence[str], book: OfItself) -> Said | None:
    """The same of several, one after the other; who is not known is said. None where nobody is."""
    found = {name: book.person(name) for name in names}
    persons = list({one.name: one for one in found.values() if one is not None}.values())
    so_far = "" if book.is_whole else " so far"
    unknown = [f"nobody, or more than one, is called {name}{so_far}" for name in found if found[name] is None]
    return _described(persons, book, _OF_EACH, "; ".join([*unknown, _NOTE]))


def _described(persons: Sequence[Entity], book: OfItself, k: int, note: str) -> Said | None:
    told = {
        (start, end): None
        for person in persons
        for start, end, _ in sorted(descriptions(book.story, person, k, load_crossencoder()))
    }
    if not told:
        return None
    places = [book.evidence(start, end) for start, end in told]
    return said_at(" … ".join(one.text for one in places), _TELLS, places, note, guessed=True)

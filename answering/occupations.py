"""What somebody does for a living: by which trades are named beside their name, in all of a book."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache

from answering.counted import BESIDE, Signs, counted_person, nearness, told
from answering.fact_questions import TRADES
from answering.mention_questions import is_name
from answering.of_itself import OfItself
from answering.related import related
from answering.related_questions import RelatedQuestion, Relation
from answering.said import Said
from text.bare_questions import bare_question
from text.book_words import THE_BOOK
from text.named_entities import Entity

_WORK = r"(?:profession|occupation|job|trade|career|line of work|calling)"
_IN = rf"(?: (?:in|of) {THE_BOOK})?"
_ASKED = re.compile(
    rf"what(?:['’]s| is| was) (?P<owner>.+?)['’]s? {_WORK}{_IN}"
    rf"|what(?:['’]s| is| was) the {_WORK} of (?P<of>.+?)"
    r"|what (?:does|did) (?P<living>.+?) do (?:for a living|for work|as a job|professionally)"
    r"|what (?P<does>.+?) (?:does|did) for a living"
    rf"|what (?:is|was) (?P<by>.+?) by {_WORK}"
    r"|(?:as )?what (?:does|did) (?P<as>.+?) work(?: as)?"
    r"|what (?:kind|sort|line) of (?:work|job) (?:does|did) (?P<work>.+?) (?:do|have)"
    r"|how (?:does|did) (?P<earns>.+?) (?:earn (?:his|her|a|their) living|make (?:his|her|a|their) living)",
    re.I,
)
_TRADE = re.compile(rf"({TRADES})s?(?![\w-])", re.I)
_WORD = re.compile(r"(?<![\w-])\w+(?![\w-])")
# "Odo, the ferryman", "Odo was our ferryman": what stands between the name and the trade.
_BEHIND = re.compile(
    r"\s*,?\s*(?:(?:was|is|had\s+been|as|became)\s+)?(?:an?|the|our|my|his|her|their)\s+(?:\w+\s+){0,2}"
)
_BEFORE = re.compile(r",?\s+")
_STATED_BEHIND, _STATED_BEFORE, _WITHIN = 1.5, 1.0, 0.7  # what each such place counts; as a title
_BEARERS = 2  # most named beside a trade; of 67 trades told 9 wrong ones are of others, and 2 right ones
_ANOTHERS = 0.5  # of what stands near where somebody else is named between


def occupation_asked(question: str) -> str | None:
    """Whose occupation a question asks for, by their name; None of other questions."""
    match = _ASKED.fullmatch(bare_question(question))
    whom = next(filter(None, match.groups()), "") if match else ""
    return whom if whom and is_name(whom) else None


def occupation(name: str, book: OfItself) -> Said | None:
    """The trades that are named beside somebody, the likeliest first, where they are.

    None where nobody is called so, or no trade is named there, and of a short story; and where the first is
    nowhere said of them, and is named more beside two others.
    """
    person = counted_person(name, book)
    trades = {} if person is None else trades_beside(person, book)
    said = likeliest(trades, book, name)
    if person is None or said is None:
        return None
    first = said.candidates[0].text
    bearers = related(RelatedQuestion(Relation((first,)), None), book)
    before = [one.text for one in bearers.candidates[:_BEARERS]] if bearers else []
    return said if trades[first].stated or person.name in before else None


def likeliest(found: Mapping[str, Signs], book: OfItself, name: str) -> Said | None:
    """The trades found beside that name, the likeliest first, where they are; None where none were."""
    scored = [(trade, signs.score, signs) for trade, signs in found.items()]
    return told(scored, book, f"the trade named most beside {name}")


def trades_beside(person: Entity, book: OfItself) -> dict[str, Signs]:
    """What speaks for each trade that is named beside somebody.

    ``Signs.near`` is the sum over its places of their nearness to the name, ``stated`` counts those that are
    said of it.
    """
    story, names = book.story, sorted(place for one in book.cast.persons for place in one.places)
    trades = [
        (*match.span(), trade)
        for match in _WORD.finditer(story)
        if (trade := _trade(match[0])) is not None and not _is_in_name(match.start(), names)
    ]
    found: dict[str, Signs] = defaultdict(Signs)
    for first, last in person.places:
        title = _TRADE.match(story, first)
        if title is not None and title.end() < last:  # Inspector Japp
            found[title[1].lower()].add(title.span(), near=0.0, stated=_WITHIN)
        beside = bisect_left(trades, (first - BESIDE,)), bisect_left(trades, (last + BESIDE,))
        for start, end, trade in trades[slice(*beside)]:
            before, behind = (end, first) if end <= first else (last, start)
            pattern, stated = (_BEFORE, _STATED_BEFORE) if end <= first else (_BEHIND, _STATED_BEHIND)
            near = nearness(behind - before)
            if bisect_left(names, (before,)) < bisect_left(names, (behind,)):
                near *= _ANOTHERS
            is_stated = pattern.fullmatch(story, before, behind) is not None
            found[trade].add((start, end), near, stated if is_stated else 0.0)
    return found


@lru_cache(maxsize=1 << 16)
def _trade(word: str) -> str | None:
    """The trade that a word is, in the singular: a book's words are many fewer than its places."""
    match = _TRADE.fullmatch(word)
    return None if match is None else match[1].lower()


def _is_in_name(at: int, names: list[tuple[int, int]]) -> bool:
    last = bisect_left(names, (at + 1,)) - 1
    return last >= 0 and at < names[last][1]

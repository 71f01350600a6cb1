"""Questions about the words of a book, told from those about its story: how often and where it has which."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from answering.chapter_references import of_whole_book
from text.bare_questions import bare_question
from text.book_words import THE_BOOK

Asks = Literal["how often", "where", "how many", "whether"]
By = Literal["place", "chapter", "page"]
"""What a place is told by; "place" is the chapter, or how far into the book."""

_IN = rf"(?: (?:in|throughout|of) {THE_BOOK}| here)"
_WORD = r"(?:the )?(?P<word>words?|phrase|expression|term|name) "
_IS, _DOES = r"(?:['’]?s| is| are| was| were)", r" (?:does|do|did)"
_NAMED = r"(?:mentioned|referred to|spoken of)"
_OCCUR = r"(?:occur|come up|turn up|show up|appear)"
_MENTIONS = r"(?:mentions|occurrences)"
_MEET = r"(?:meet|see|hear of|hear about)"
_TIMES = r"how (?:many times|often)"
_WHERE = r"(?:when|where|(?:(?:in|on) )?(?:what|which) (?P<by>(?:chapter|page)s?)|at (?:what|which) point)"
_SEVERAL = r"(?P<by>chapters|pages)"
_MANY = rf"(?:(?:in|on) )?how many {_SEVERAL}"
_AT = r"(?P<at>first|last)"
_WHAT = r"(?P<what>.+?)"
_QUOTED_WORDS = r"(?P<what>[\"“‘'’«»][^\"“”«»]+[\"”’'«»])"
_NAME = r"(?P<who>(?-i:[^\W\d_a-z])[^\s?]*(?: (?-i:[^\W\d_a-z])[^\s?]*)*)"
_ANYWHERE = r"(?: at all| anywhere| by name)?"
_SOMEBODY = r"(?:a|any|some|an)(?:body|one)?(?: (?:character|person|man|woman|boy|girl))?"

_ASKED: dict[Asks, tuple[str, ...]] = {
    "how often": (
        rf"{_TIMES}{_IS} (?:{_WORD})?{_WHAT} {_NAMED}{_IN}?",
        rf"{_TIMES}{_IS} {_WORD}{_WHAT} used{_IN}?",
        rf"{_TIMES}{_IS} {_NAME} named{_IN}?",
        rf"{_TIMES}{_DOES} {_WORD}{_WHAT} {_OCCUR}{_IN}?",
        rf"{_TIMES}{_DOES} (?P<who>.+?) {_OCCUR}{_IN}",
        rf"{_TIMES}{_DOES} (?:{_QUOTED_WORDS}|{_NAME}) {_OCCUR}",
        rf"{_TIMES}{_DOES} (?:{THE_BOOK}|it) (?:use|mention|say|name) (?:{_WORD})?{_WHAT}",
        rf"how many {_MENTIONS} of (?:{_WORD})?{_WHAT} are there{_IN}?",
        rf"(?:count|(?:what is )?the number of)(?: the| all)? {_MENTIONS} of (?:{_WORD})?{_WHAT}{_IN}?",
    ),
    "where": (
        rf"{_WHERE}{_IS} (?:{_WORD})?{_WHAT}(?: {_AT})? {_NAMED}{_IN}?",
        rf"(?:what|which) (?P<by>(?:chapter|page)s?) (?:mentions?|names?) (?:{_WORD})?{_WHAT}(?: {_AT})?",
        rf"{_WHERE}{_IS} (?P<who>.+?) (?:first )?introduced{_IN}?",
        rf"{_WHERE}{_DOES} {_WORD}{_WHAT} {_AT} {_OCCUR}{_IN}?",
        rf"{_WHERE}{_DOES} (?P<who>.+?) {_AT} (?:{_OCCUR}|come in|enter){_IN}?",
        rf"{_WHERE}{_DOES} (?P<who>.+?) make (?:his|her|its|their) {_AT} appearance{_IN}?",
        rf"{_WHERE}{_DOES} (?P<who>.+?) appear for the {_AT} time{_IN}?",
        rf"{_WHERE}{_DOES} (?:we|you|I|one|the reader) {_AT} {_MEET} (?P<who>.+?){_IN}?",
        rf"(?:{_WHERE}{_IS} )?the {_AT} (?:mention|occurrence) of (?:{_WORD})?{_WHAT}{_IN}?",
        rf"(?:{_WHERE}{_IS} )?the {_AT} appearance of (?P<who>.+?){_IN}?",
        rf"(?:what|which) (?P<by>chapter|page){_IS} (?P<who>.+?) (?:first )?introduced (?:in|on)",
        rf"(?:what|which) (?P<by>(?:chapter|page)s?){_IS} (?:{_WORD})?{_WHAT}(?: {_AT})? {_NAMED} (?:in|on)",
        rf"(?:(?:in|on) )?(?:what|which) {_SEVERAL}{_DOES} (?P<who>.+?) {_OCCUR}(?: in| on)?{_IN}?",
        rf"(?:what|which) {_SEVERAL}{_IS} (?P<who>.+?) (?:in|on)",
        rf"(?:what|which) (?P<by>chapter|page){_DOES} (?P<who>.+?) {_AT} (?:{_OCCUR}|come) (?:in|on)",
    ),
    "how many": (
        rf"{_MANY}{_IS} (?:{_WORD})?{_WHAT} {_NAMED}(?: in| on)?{_IN}?",
        rf"{_MANY}{_DOES} {_WORD}{_WHAT} {_OCCUR}(?: in| on)?{_IN}?",
        rf"{_MANY}{_DOES} (?P<who>.+?) {_OCCUR}(?: in| on)?{_IN}?",
        rf"{_MANY} (?:mention|name) (?:{_WORD})?{_WHAT}",
        rf"{_MANY}{_IS} (?P<who>.+?) (?:in|on)",
    ),
    "whether": (
        rf"(?:is|was) there {_SOMEBODY} (?:called|named|by the name of) (?P<who>.+?){_IN}?",
        rf"(?:is|are|was|were) (?:{_WORD})?{_WHAT} (?:ever )?{_NAMED}{_ANYWHERE}{_IN}?",
        rf"(?:is|was) (?:any|some)(?:body|one) (?:called|named) (?P<who>.+?){_IN}?",
        rf"(?:is|are|was|were) {_WORD}{_WHAT} (?:ever )?used{_ANYWHERE}{_IN}?",
        rf"(?:does|do|did) {_QUOTED_WORDS} (?:ever )?{_OCCUR}{_ANYWHERE}",
        rf"(?:does|do|did) {_WORD}{_WHAT} (?:ever )?{_OCCUR}{_ANYWHERE}{_IN}?",
        rf"(?:does|do|did) (?P<who>.+?) (?:ever )?{_OCCUR}{_ANYWHERE}{_IN}",
        rf"(?:does|did) (?:{THE_BOOK}|it) (?:ever )?(?:mention|name) (?:{_WORD})?{_WHAT}{_ANYWHERE}",
        rf"(?:does|did) (?:{THE_BOOK}|it) (?:ever )?(?:use|contain|have) {_WORD}{_WHAT}{_ANYWHERE}",
        rf"(?:is|was) (?P<who>.+?) (?:a|one of the) (?:character|person)s?{_IN}",
        rf"(?:is|was) (?P<who>.+?){_IN}",
    ),
}
_PATTERNS = [(asks, re.compile(one, re.I)) for asks, patterns in _ASKED.items() for one in patterns]
_QUOTED = re.compile(r"[\"“”'‘’«»](?P<inside>[^\"“”«»]+)[\"“”'‘’«»]")
_OPEN = frozenset({"it", "he", "she", "they", "him", "her", "them", "this", "that", "who", "what", "there"})
_ARTICLE = re.compile(r"\A(?:the|an?) ", re.I)
_WITHIN_NAME = frozenset({"of", "the", "de", "du", "la", "le", "van", "von", "and"})
_LONGEST = 8  # words


@dataclass(frozen=True, slots=True)
class MentionQuestion:
    """How often, where, in how many chapters or whether a book has ``what``: words, or who is so called.

    ``as_words`` where the question says that they are words, a name or a phrase, or quotes them, and
    ``in_person`` where it asks of somebody who is in the story. ``which`` says which places are asked for,
    and ``by`` what they are told by.
    """

    asks: Asks
    what: str
    as_words: bool
    in_person: bool
    which: Literal["first", "last", "all"]
    by: By


def mentions_asked(question: str) -> MentionQuestion | None:
    """What a question asks of the words of a book; None for others."""
    bare = bare_question(question)
    for asks, pattern in _PATTERNS:
        match = pattern.fullmatch(bare)
        if match is None:
            continue
        found = match.groupdict()
        who, what, by = found.get("who"), found.get("what"), (found.get("by") or "").lower()
        said = (who or what or "").strip(" ,")
        quoted = _QUOTED.fullmatch(said)
        plain = quoted["inside"].strip() if quoted else _ARTICLE.sub("", said)
        if not plain or plain.lower() in _OPEN or len(plain.split()) > _LONGEST:
            return None
        return MentionQuestion(
            asks,
            plain,
            as_words=bool(quoted or found.get("word")),
            in_person=who is not None,
            which=_which(found.get("at"), who, by),
            by="chapter" if by.startswith("chapter") else "page" if by else "place",
        )
    return None


def mentions_of_chapter(question: str) -> MentionQuestion | None:
    """How often or whether the chapter at a question's end has what; None for others."""
    whole = of_whole_book(question)
    asked = None if whole is None else mentions_asked(whole)
    return None if asked is None or asked.asks in {"where", "how many"} else asked


def _which(at: str | None, who: str | None, by: str) -> Literal["first", "last", "all"]:
    """Whoever is introduced is so at first; what is mentioned, or who appears, may be in many places."""
    if at is None:
        return "all" if who is None or by.endswith("s") else "first"
    return "last" if at.lower() == "last" else "first"


def is_name(words: str) -> bool:
    """Whether words are a name, each of them with a capital but for such as stand within one."""
    return all(word[:1].isupper() or word in _WITHIN_NAME for word in words.split())

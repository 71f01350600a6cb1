"""Answers to natural questions, judged by rule, and the rule that decided each judgement."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from text.equal_answers import normalised

Verdict = Literal["right", "partly", "wrong", "declined"]


def answer_words(text: str) -> list[str]:
    """The ``normalised`` words of a text, accents, the possessive and what joins two words left out."""
    text = unicodedata.normalize("NFKD", text.replace("\u2019", "'").replace("_", " "))
    text = "".join(c for c in text if not unicodedata.combining(c))
    text = re.sub(r"(?i)'s\b", "", text)
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    return normalised(re.sub(r"[^\w\s']|(?<!\w)'|'(?!\w)", " ", text))


@cache
def _pattern(phrase: str) -> re.Pattern[str]:
    return re.compile("|".join(_alternative(one, phrase) for one in phrase.split("|")))


def _alternative(alternative: str, phrase: str) -> str:
    opens = alternative.strip().startswith("^")
    parts = []
    for token in alternative.replace("^", " ").split():
        words = [re.escape(word) for word in answer_words(token.removesuffix("*"))]
        if words:
            parts.append(r"\ ".join(words) + (r"\S*" if token.endswith("*") else ""))
    if not parts:
        raise ValueError(f"{alternative!r} of {phrase!r} has no words")
    return ("^" if opens else r"(?<!\S)") + r"\ ".join(parts) + r"(?!\S)"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words that stand in an answer side by side; ``"a|b"`` asks for either.

    Words are compared as ``answer_words`` has them, whole, or by their beginning where they end in
    ``*`` (``"marr*"``). After ``^`` they must open the answer.
    """

    text: str

    def __post_init__(self) -> None:
        _pattern(self.text)


@dataclass(frozen=True, slots=True)
class AtLeast:
    """So many of the ``rules`` hold: all of them for a list in the file, ``least`` where that is given."""

    least: int
    rules: tuple[Rule, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.least <= len(self.rules):
            raise ValueError(f"{self.least} of {len(self.rules)} rules are wanted")


Rule = Phrase | AtLeast

# What readers that write their answers say of a question that the book does not answer.
_TELLERS = ("book", "story", "text", "novel", "passage", "passages", "excerpts", "author")
_DENIALS = ("does not", "doesnt", "do not", "dont", "did not", "didnt", "never")
_DENIAL = Phrase(
    "|".join(f"{teller} {denial}" for teller in _TELLERS for denial in _DENIALS)
    + "|not mentioned|not stated|not specified|not told in|not given in|never mentioned|never stated"
    "|no mention|not in book|not in story|not in text|not in novel"
)


@dataclass(frozen=True, slots=True)
class Key:
    """What counts as right, as partly right and, whatever else is in an answer, as wrong.

    An answer of more than ``longest`` words is at most partly right. Where the book does not answer,
    ``right`` are corrections of what the question takes for granted, and may be empty.
    """

    answerable: bool
    right: tuple[Rule, ...]
    partly: tuple[Rule, ...]
    wrong_if: tuple[Rule, ...]
    longest: int

    def __post_init__(self) -> None:
        if self.answerable and not self.right:
            raise ValueError("an answerable question wants strings that are right")
        if not self.answerable and self.partly:
            raise ValueError("where the book does not answer, nothing is partly right")


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict, and the rule that decided it, for a human to check."""

    verdict: Verdict
    reason: str


def judge(key: Key, answer: str, answerable: bool = True) -> Judgement:
    """How an answer is judged; ``answerable`` is what the system says of the question, its answer aside.

    An answer is declined where the system says that the book does not answer, in that field, in words or
    by an empty answer: that is right where the book does not, and ``"declined"`` where it does. To judge
    the best guess all the same, leave ``answerable`` out.
    """
    words = answer_words(answer)
    said = " ".join(words)
    declined = "the book is said not to answer" if not answerable or not answer.strip() else None
    hit = first_holding(key.wrong_if, said)
    if declined is None and hit is not None:
        return Judgement("wrong", f"wrong if: {describe(hit)}")
    hit = None if declined else first_holding(key.right, said)
    if hit is not None:
        if key.answerable and len(words) > key.longest:
            return Judgement("partly", f"right: {describe(hit)}; but {len(words)} words, over {key.longest}")
        return Judgement("right", f"right: {describe(hit)}")
    if declined is None and holds(_DENIAL, said):
        declined = "it says that the book does not answer"
    if declined is not None:
        return Judgement("declined" if key.answerable else "right", declined)
    hit = first_holding(key.partly, said)
    if hit is not None:
        return Judgement("partly", f"partly: {describe(hit)}")
    return Judgement("wrong", "no accepted string" if key.answerable else "the book does not answer")


def holds(rule: Rule, said: str) -> bool:
    """Whether a rule holds for an answer's words, joined by single spaces."""
    if isinstance(rule, Phrase):
        return _pattern(rule.text).search(said) is not None
    return sum(holds(one, said) for one in rule.rules) >= rule.least


def first_holding(rules: tuple[Rule, ...], said: str) -> Rule | None:
    """The first of the rules that holds; any one suffices."""
    return next((rule for rule in rules if holds(rule, said)), None)


def describe(rule: Rule) -> str:
    """A rule in a line, for lists of judgements."""
    if isinstance(rule, Phrase):
        return rule.text
    if rule.least == len(rule.rules):
        return " & ".join(describe(one) for one in rule.rules)
    return f"{rule.least} of ({'; '.join(describe(one) for one in rule.rules)})"


def parse_rule(value: object) -> Rule:
    """A rule from JSON: a string, a list that must hold as a whole, or ``{"at_least": n, "of": [...]}``.

    Raises ``ValueError`` for anything else.
    """
    if isinstance(value, str):
        return Phrase(value)
    if isinstance(value, list):
        return AtLeast(len(value), tuple(map(parse_rule, value)))
    if isinstance(value, Mapping) and set(value) == {"at_least", "of"} and isinstance(value["of"], list):
        least = value["at_least"]
        if isinstance(least, int) and not isinstance(least, bool):
            return AtLeast(least, tuple(map(parse_rule, value["of"])))
    raise ValueError(f'{value!r} is no rule; wanted a string, a list or {{"at_least": n, "of": [...]}}')

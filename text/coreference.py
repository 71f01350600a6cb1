"""Questions that follow others, put by rule so that they can be understood, and searched for, alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Literal

from text.honorifics import TITLES
from text.indirect_questions import question_for
from text.name_signs import COMMON, DATES, HE, NONE, POSSESSIVE, SHE
from text.plain_questions import plain_question
from text.polar_questions import AUXILIARIES
from text.question_kinds import (
    ANOTHER,
    OPENERS,
    PREPOSITIONS,
    Kind,
    describes,
    opens_question,
    question_kind,
)
from text.question_names import names_in
from text.tokens import Token, tokens
from text.words import words

Pronoun = Literal["he", "she"]
Asked = tuple[str, str]
"""A question that was asked before, and its answer."""

TURNS = 3  # of those before, in which what a pronoun stands for is looked for
LONGEST = 6  # words of an answer that can stand in a question
_BEHIND = 80  # characters behind a name, in which a pronoun may stand for it
_MOST_PLACES = 300  # of a name
_FEWEST_PRONOUNS = 3
_GENDERED = 0.65  # share of them that tell by which pronoun somebody is called

_THEY, _IT = frozenset({"they", "them", "their"}), frozenset({"it", "its"})
_OF_SOMEBODY = frozenset({"his", "her", "their", "its"})
_WHERE = frozenset(
    {"in", "at", "on", "by", "near", "under", "behind", "beside", "beyond", "above", "below", "outside"}
    | {"inside", "within", "around", "across", "over", "among", "between", "upon", "beneath", "up", "down"}
)
_WHENCE = frozenset({"to", "from", "for", "of", "until", "into", "towards", "toward", "through"})
_CLAUSES = frozenset({"that", "to", "if", "whether"})  # behind an "it" that stands for nothing
_BARE = re.compile(r"(?:(?:and|but|so|then),? )*(why|how|when|where)", re.I)
_CAPITAL = r"[^\W\d_a-z][\w'’-]*"
# Behind "and" alone a word in lower case may be anything: "And afterwards?"
_WHAT_ABOUT = re.compile(
    rf"(?:(?:[Aa]nd|[Bb]ut|[Ss]o|[Oo]k|[Oo]kay),? )*(?:[Ww]hat|[Hh]ow) about ({ANOTHER})"
    rf"|[Aa]nd ((?:[^\W\d_a-z]\w*\. )?{_CAPITAL}(?: {_CAPITAL})*)"
)
_ADVERBS = frozenset({"why", "how", "when", "where"})
_PRONOUNS = frozenset({"who", "whom", "what", "which"})
_NAME = re.compile(rf"(?:[^\W\d_a-z]\w*\. )?{_CAPITAL}(?: (?:(?:of|de|von|the) )?{_CAPITAL})*")
# A title or an initial whose full stop ends no sentence.
_SHORTENED = re.compile(
    r"\b(?:(?i:mrs?|messrs|ms|mme|mlle|dr|prof|rev|st|capt|col|gen|maj|lt|sgt)\.(?= )"
    r"|[^\W\d_a-z]\.(?= ?[^\W\d_a-z]))"
)
_WHAT_IS = re.compile(
    r"(?:what|where)(?:['’]?s| is| was) (?P<what>(?:the|an?|this|that) [^,;:]+?)(?: now)?", re.I
)
_WHO_IS = re.compile(rf"\b[Ww]ho(?:['’]s| is| was| are| were) (?=(?:[^\W\d_a-z]\w*\. )?{_CAPITAL})")


def leans(question: str) -> bool:
    """Whether there is something in the question that may stand for what was said before."""
    found = list(tokens(question))
    return bool(bare_adverb(question) or _another(question)) or any(
        _is_open(question, found, at) for at in range(len(found))
    )


def put_alone(question: str, turns: Sequence[Asked], text: str = "") -> str:
    """The question with the names, or the words, that its pronouns stand for in the ``turns`` before it.

    A pronoun behind a name of its own question is that one's. "Why?" asks for the reason of what was
    answered last, and "What about Mara?" what was asked last, of Mara; that may itself have followed others.
    By ``text``, as much of the book as may be read, it is told whom it calls he and whom she. What stands for
    nothing that is known stays.
    """
    if not turns:
        return question
    adverb = bare_adverb(question)
    if adverb is not None:
        return _asked_of_answer(adverb, _last_asked(turns, text), turns[-1][1]) or question
    found = list(tokens(question))
    pieces, last, used = [], 0, set[str]()
    for at, token in enumerate(found):
        meant = None if not _is_open(question, found, at) else _meant(token.key, turns, text)
        if meant is None or meant in used:  # named once, it is clear who "he" is from there on
            continue
        used.add(meant)
        following = "".join(one.key for one in found[at + 1 : at + 2])
        owns = token.key in _OF_SOMEBODY and following.isalpha() and following not in PREPOSITIONS
        pieces += [question[last : token.start], f"{meant}'s" if owns else meant]
        last = token.end
    named = "".join([*pieces, question[last:]])
    another = _another(named)
    return named if another is None else _asked_of(another, _last_asked(turns, text)) or named


def _last_asked(turns: Sequence[Asked], text: str) -> str:
    """What was asked last, put alone as well."""
    return put_alone(turns[-1][0], turns[:-1], text)


def bare_adverb(question: str) -> str | None:
    """The adverb that is all of the question, if it is."""
    match = _BARE.fullmatch(question.strip().rstrip("?!. "))
    return match[1].lower() if match else None


def _another(question: str) -> str | None:
    """Of whom or what the same is asked: Mara, of "And Mara?" and "What about Mara?"; None of others."""
    match = _WHAT_ABOUT.fullmatch(question.strip().rstrip("?!. "))
    another = POSSESSIVE.sub("", match[1] or match[2]) if match else ""
    return another if another and another.lower() not in HE | SHE | _THEY | _IT else None


def _asked_of(another: str, asked: str) -> str | None:
    """The question that was asked before, of another than it names; None where it names none or several."""
    asked = plain_question(asked)
    before = _names(asked)
    if len(before) != 1 or another in before:
        return None
    return re.sub(rf"(?<!\w){re.escape(before[0])}(?!\w)", lambda _: another, asked)


def _is_open(question: str, found: Sequence[Token], at: int) -> bool:
    """Whether the token is a pronoun, or "there", that nothing before it in the question is meant by."""
    key = found[at].key
    if key == "there":
        return at > 0 and found[at - 1].key not in AUXILIARIES
    if key not in HE | SHE | _THEY | _IT or key.endswith("self"):
        return False
    if key == "it" and not _CLAUSES.isdisjoint(one.key for one in found[at + 1 :]):
        return False
    return not any(describes(question, found, before) or found[before].key == "?" for before in range(at))


def _meant(key: str, turns: Sequence[Asked], text: str) -> str | None:
    """What a pronoun stands for in the last turns, if that can be told."""
    last = turns[: -TURNS - 1 : -1]
    if key == "there":
        places = (_place(answer) for asked, answer in last if question_kind(asked) == Kind.WHERE)
        return next((one for one in places if one), None)
    if key in _IT:
        things = (_thing(asked, answer, text) for asked, answer in last)
        return next((one for one in things if one and one[0].islower()), None)
    if key in _THEY:
        several = (one for asked, answer in last for one in _several(asked, answer))
        return next(several, None)
    people = list(dict.fromkeys(one for asked, answer in last for one in _people(asked, answer)))
    wanted = "he" if key in HE else "she"
    called = [_called(one, text) for one in people]
    of_that = [one for one, pronoun in zip(people, called, strict=True) if pronoun == wanted]
    unknown = [one for one, pronoun in zip(people, called, strict=True) if pronoun is None]
    # May and Will are somebody where the text calls them he or she.
    return next(iter([*of_that, *(one for one in unknown if one.lower() not in DATES | COMMON)]), None)


def _people(asked: str, answer: str) -> Iterator[str]:
    """Whom a turn is about, those first that "he" or "she" would rather be said of."""
    kind = question_kind(asked)
    phrase = _phrase(answer)
    if _WHO_IS.search(asked):
        yield from _names(asked)
    if kind == Kind.WHO and phrase:
        yield phrase
    elif kind not in {Kind.WHERE, Kind.WHEN, Kind.HOW_MANY}:
        yield from _names(answer)
    yield from _names(asked)


def _thing(asked: str, answer: str, text: str) -> str | None:
    """What of a turn "it" is: the lamp, of "What is the lamp?"; else the thing that was answered.

    What the name, the reason or such is asks of something else.
    """
    match = _WHAT_IS.fullmatch(asked.strip().rstrip("?!. "))
    if match is not None and question_for(match["what"]) is None and _called(match["what"], text) is None:
        return match["what"]
    return _phrase(answer) if question_kind(asked) == Kind.WHAT else None


def _several(asked: str, answer: str) -> Iterator[str]:
    """What of a turn more than one are meant by."""
    phrase = _phrase(answer)
    if question_kind(asked) in {Kind.WHO, Kind.WHAT} and phrase:
        last = phrase.split()[-1]
        if " and " in phrase or (last.islower() and last.endswith("s") and not last.endswith("ss")):
            yield phrase
    names = _names(asked)
    if len(names) > 1:
        yield " and ".join(names)


def _phrase(answer: str) -> str | None:
    """The answer as it can stand within a question; None for a long one or none."""
    said = answer.strip(" \t\n.,;:!?\"“”‘’'—-")
    if not said or len(said.split()) > LONGEST or re.search(r"[.;:!?\"“”\n]", _SHORTENED.sub("", said)):
        return None
    first, *_ = said.split()
    return said[0].lower() + said[1:] if first.lower() in {"the", "a", "an", "in", "at", "on", "to"} else said


def _place(answer: str) -> str | None:
    """The place in an answer, as it can stand for "there": in Kansas, of "from Kansas"; None without one."""
    phrase = _phrase(answer) or ""
    word, _, rest = phrase.partition(" ")
    first = word.lower()
    if first in _WHERE:
        return f"{first} {rest}".rstrip()
    if first in _WHENCE:
        return f"in {rest}" if rest else None
    return f"in {phrase}" if phrase and first not in PREPOSITIONS else None


def _names(text: str) -> list[str]:
    """The names in a question or an answer, each whole."""
    first = {word for word in text.split()[:1] if word.istitle() and not _is_small(word.lower())}
    known = set(names_in(text)) or first
    found = []
    for match in _NAME.finditer(text):
        said = POSSESSIVE.sub("", match[0])
        within = [POSSESSIVE.sub("", word) for word in said.split()]
        while within and within[0] not in known and within[0].rstrip(".").lower() not in TITLES:
            del within[0]  # "Does Phil"
        if not known.isdisjoint(within):
            found.append(" ".join(within))
    return list(dict.fromkeys(found))


def _is_small(key: str) -> bool:
    """Whether a first word is one that anything may begin with: "On the beach", "My uncle"."""
    return opens_question(key) or key in NONE or key in COMMON


def _called(somebody: str, text: str) -> Pronoun | None:
    """By which pronoun the text calls somebody; None where it cannot be told."""
    titled = pronoun_of_title(somebody)
    if titled is not None:
        return titled
    within = somebody.split()
    names = [word for word in within if word[0].isupper()] or within[-1:]
    for said in dict.fromkeys([somebody.removeprefix("the "), *names]):
        places = re.finditer(rf"(?<!\w){re.escape(said)}(?!\w)", text)
        he, she = times_called(text, (place.end() for place in places))
        if he + she >= _FEWEST_PRONOUNS and max(he, she) >= _GENDERED * (he + she):
            return "he" if he > she else "she"
    return None


def pronoun_of_title(name: str) -> Pronoun | None:
    """By which pronoun whoever has such a name is called, by the first title in it; None without one."""
    bearer = next(
        (TITLES[word] for one in name.split() if (word := one.rstrip(".").lower()) in TITLES), "any"
    )
    return None if bearer in ("office", "any") else "he" if bearer == "man" else "she"


def times_called(text: str, ends: Iterable[int]) -> tuple[int, int]:
    """How often the first pronoun behind a name that ends there is he, and she; of the first places alone."""
    he = she = 0
    for end in islice(ends, _MOST_PLACES):
        behind = words(text[end : end + _BEHIND])
        first = next((word for word in behind if word in HE | SHE), None)
        he, she = he + (first in HE), she + (first in SHE)
    return he, she


def _asked_of_answer(adverb: str, asked: str, answer: str) -> str | None:
    """The question for the reason, the way, the time or the place of what was asked and answered.

    None where that cannot be put by these rules.
    """
    found = list(tokens(asked))
    while found and found[0].key in OPENERS:
        del found[0]
    if len(found) < 3 or any(_is_open(asked, found, at) for at in range(len(found))):
        return None  # nothing else is known of "Who wrote it?", either
    first, second = found[0].key, found[1].key
    rest = asked[found[1].start :].rstrip("?!. ")
    phrase = _phrase(answer)
    if first in AUXILIARIES:
        return f"{adverb.capitalize()} {first} {rest}?"
    if first in _ADVERBS and first != adverb and second in AUXILIARIES:
        return f"{adverb.capitalize()} {rest}?"
    if first not in _PRONOUNS or phrase is None:
        return None
    if second in AUXILIARIES:
        return f"{adverb.capitalize()} {rest} {phrase}?"
    return f"{adverb.capitalize()} {phrase} {rest}?" if first == "who" else None

"""The names in a question: those that a text never mentions, and those that it spells otherwise."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial

from text.honorifics import is_title
from text.memo import memoized
from text.name_signs import COMMON, NONE, POSSESSIVE
from text.polar_questions import AUXILIARIES
from text.question_kinds import TELLING_NOTHING, opens_question
from text.tokens import tokens

_WORD = re.compile(r"\w[\w'’-]*\w|\w")
_PART = re.compile(r"\w+")
NEAR = 0.8  # of the letters of a name that is misspelt: Heathclif, Katherine for Catherine
NEARER = 0.85  # of those of a word in lower case
SHORTEST_MISSPELT = 5
MOST_MISSPELT = 5
_IN_MEMORY = 32  # texts of which the vocabulary is kept: it takes a tenth of a second to find a long one's
_NO_NAMES = frozenset({"i", "god", "old"})  # for all their capitals
# A word without a capital, but for what is left of "don't"; "'s" tells that somebody may own something.
_LOWER = re.compile(r"(?<![\w'’-])(?P<word>[^\W\d_]+)(?:(?P<owns>['’]s\b|(?<=s)['’](?!\w))|(?![\w-]|['’]\w))")
# A word that may have a capital, inside a sentence: its first letter is looked for, then what stands before.
_INSIDE = re.compile(r"[^\W\d_a-z](?:(?<=\w\s\w)|(?<=Mr\.\s\w)|(?<=Mrs\.\s\w)|(?<=Dr\.\s\w))[\w'’-]*\w")
_BEFORE_NAME = re.compile(r"(?<![\w'’-])(?P<title>[^\W\d_]+)(?=(?P<name>\.? [^\W\d_a-z]\w*))")
_BEHIND_NAME = re.compile(r"(?P<name>\b[^\W\d_a-z]\w* )(?P<title>[^\W\d_]+)")
_DETERMINER = re.compile(r"\b(?:the|an?|my|your|his|her|its|our|their|this|that)\s+\Z")
# Not "the Pims": they are several.
_OWNER = re.compile(
    r"(?<![\w'’-])(?<!\bthe )(?<!\bThe )(?P<name>[^\W\d_]{2,}[^\W\d_s])s(?= (?P<behind>[^\W\d_]+))"
)
_KIN = (
    r"(?:(?:grand|step|god)?(?:father|mother|parents?|son|daughter|child|children)|brother|sister|siblings?|uncle"
    r"|aunt|cousin|nephew|niece|husband|wife|fianc[eé]e?)"
)
# "James father", whose wife is "the cooks wife"; not "What did the cooks name it?"
_OWNER_IN_S = re.compile(rf"(?<![\w'’-])(?P<name>[^\W\d_]{{2,}}s)(?= {_KIN}s?\b)", re.I)
_OWNER_OF_ONE = re.compile(
    r"(?<![\w'’-])(?P<the>(?:the|his|her|their|my) )(?P<name>[^\W\d_]{2,}[^\W\d_s])s"
    rf"(?= (?:{_KIN}|names?(?! (?:the|an?|it|him|her|his|their|them)\b)|surname|age|job|occupation"
    r"|profession)\b)",
    re.I,
)
# What questions are asked with, which a book need not have: none of it is a name misspelt, however near.
_ASKING = TELLING_NOTHING | frozenset(
    re.findall(
        r"\S+",
        """mention mentions mentioned mentioning appear appears appeared occur occurs occurred called
        named names title titles author authors writer wrote written book books story novel chapter
        chapters page pages scene scenes character characters narrator narrate narrates hero heroine
        villain protagonist person people ending begin begins beginning start starts started finish
        happen happening describe explain father mother brother sister parent parents child children
        daughter uncle cousin nephew niece husband widow marry marries married marriage wedding engaged
        lover loves loved friend friends enemy owner owners owned owning belong belongs master servant
        teacher killer killed kills murder murders murdered murderer thief steal steals stole stolen
        lives lived living house address place places where country street colour color clothes wears
        wearing reason cause meaning means moral theme lesson money price cost costs worth years months
        weeks hours minutes older oldest young younger youngest taller tallest largest biggest smallest
        longest shortest alive dead dying death buried carry carries carried denies denied water waiter
        letter letters first second third fourth fifth final finally whose which there their these those
        would could should about after before during while""",
    )
)
_LONGEST_SMALL = 3  # letters of the words that have no capital in a heading
_SHARE_INSIDE = 0.1  # of a word's places with a capital that are inside sentences, from which it is a name
_TIMES_LOWER = 3  # as often a name has to have a capital as none, to be one that is asked without
_FEWEST_INSIDE, _OF_LOWER = 3, 0.1  # the same before "'s": Will's and Rose's are more likely names


def names_in(question: str) -> list[str]:
    """The words of the question with a capital that are no beginning of it, each once, in order.

    None in a question of capitals alone, or where every word has one: "What Did She Find?" Titles and
    initials are left out, and so are possessives.
    """
    if not any(character.islower() for character in question) or _has_only_capitals(question):
        return []
    found = []
    for number, token in enumerate(tokens(question)):
        word = POSSESSIVE.sub("", question[token.start : token.end]).rstrip(".")
        capital = word[:1].isupper() and len(word) > 1
        named = capital and not is_title(word) and word.lower() not in _NO_NAMES
        if named and (number > 0 or _first_is_name(question, token.key, token.end)):
            found.append(word)
    return list(dict.fromkeys(found))


def _has_only_capitals(question: str) -> bool:
    """Whether the words of a question begin with capitals as those of a heading do."""
    said = _WORD.findall(question)
    small = any(word.lower() in AUXILIARIES and word[0].isupper() for word in said[1:])
    return small and not any(word.islower() and len(word) > _LONGEST_SMALL for word in said)


def _first_is_name(question: str, key: str, end: int) -> bool:
    """Whether the first word is a name: it does not ask, and a capital or a possessive follows it."""
    rest = question[end:].lstrip()
    return not opens_question(key) and (rest[:1].isupper() or rest[:2] in {"'s", "’s"})


def unmentioned(names: list[str], text: str) -> list[str]:
    """The names of which the text has nothing: not in any case, in parts, or nearly so spelled.

    How the text may spell them is looked for of the first ``MOST_MISSPELT``, which takes longest.
    """
    lacking = [name for name in names if not _mentions_part(text, name)]
    spelled = [
        name for name in lacking[:MOST_MISSPELT] if _nearest(name, _vocabulary(text).capitalised, NEAR)
    ]
    return [name for name in lacking if name not in spelled]


def respelled(question: str, text: str) -> str:
    """The question with the names that it misspells as the text spells them.

    That is names of which the text has nothing, but one that is nearly so spelled; in a question without
    capitals any word may be one that questions are not asked with, and has to be nearer, and those that the
    text has get theirs. Of one question the first ``MOST_MISSPELT`` are. One that owns what follows it gets
    its apostrophe.
    """
    is_lower = not names_in(question) and question[1:].islower()
    if is_lower:
        question = capitalised(question, text)
    for pattern, owner in ((_OWNER, _owner), (_OWNER_IN_S, _owner_in_s), (_OWNER_OF_ONE, _owner_of_one)):
        question = pattern.sub(partial(owner, text), question)
    question = _with_titles(question, text)
    names, near = names_in(question), NEAR
    if is_lower:
        words = (question[token.start : token.end] for token in tokens(question))
        names, near = [word for word in words if word not in _ASKING], NEARER
    long = [name for name in dict.fromkeys(names) if len(name) >= SHORTEST_MISSPELT and name.isalpha()]
    for name in [one for one in long if not _mentions(text, one)][:MOST_MISSPELT]:
        spelled = _vocabulary(text).names
        nearest = _nearest(name, spelled, near)
        if nearest is not None and not _mentions(question, nearest):  # "Whom does mary marry?"
            question = re.sub(rf"(?<!\w){name}(?!\w)", spelled[nearest], question)
    return question


def capitalised(question: str, text: str) -> str:
    """What is said with a capital for each name, and for titles beside one that the text has so."""
    vocabulary = _vocabulary(text)

    def named(match: re.Match[str]) -> str:
        word = match["word"]
        spelled = vocabulary.proper.get(word)
        if spelled is None and match["owns"] and not _DETERMINER.search(question[: match.start()]):
            spelled = vocabulary.owners.get(word)
        return f"{spelled or word}{match['owns'] or ''}"

    return _with_titles(_LOWER.sub(named, question), text)


def _with_titles(question: str, text: str) -> str:
    """What is said with a capital for each title beside a name that the text has so."""
    for pattern in (_BEFORE_NAME, _BEHIND_NAME):
        question = pattern.sub(partial(_titled, text), question)
    return question


def _owner(text: str, match: re.Match[str]) -> str:
    """What is matched, with an apostrophe where it is a name of the text with an s: "Pims father"."""
    name, behind = match["name"], match["behind"].lower()
    is_plural = f"{name}s".lower() in _vocabulary(text).words and not _is_last_name(match, text)
    if behind in COMMON or is_plural:
        return match[0]
    spelled = _vocabulary(text).proper.get(name.lower())
    return match[0] if spelled is None else f"{spelled if name.islower() else name}'s"


def _is_last_name(match: re.Match[str], text: str) -> bool:
    """Whether the name stands behind what the text has before it: "Odo Pims father", "Mrs. Pims father"."""
    before = match.string[: match.start()].split()[-1:]
    first = before[0].removesuffix(".") if before else ""
    first = first.capitalize() if is_title(first) else first
    named = first[:1].isupper() and not opens_question(first.lower())
    return named and any(f"{first}{between}{match['name']}" in text for between in (" ", ". "))


def _owner_in_s(text: str, match: re.Match[str]) -> str:
    """What is matched, with an apostrophe where it is a name of the text: "James father"."""
    spelled = _vocabulary(text).proper.get(match["name"].lower())
    return match[0] if spelled is None else f"{spelled if match['name'].islower() else match['name']}'"


def _owner_of_one(text: str, match: re.Match[str]) -> str:
    """What is matched, with an apostrophe where the text has one such: "the captains name"."""
    is_there = match["name"].lower() in _vocabulary(text).words
    return f"{match['the']}{match['name']}'s" if is_there else match[0]


def _titled(text: str, match: re.Match[str]) -> str:
    """What is matched, its title with a capital where the text has it so beside the name."""
    title, name = match["title"].capitalize(), match["name"]
    if not is_title(title):
        return match[0]
    if match.start("title") > match.start("name"):
        return f"{name}{title}" if f"{name}{title}" in text else match[0]
    # What follows is looked at, but not matched.
    if f"{title}.{name}" in text:
        return f"{title}."
    return title if f"{title}{name}" in text or f"{title}{name.removeprefix('.')}" in text else match[0]


def _nearest(name: str, spelled: Collection[str], near: float) -> str | None:
    """The one of the words in lower case that is nearest to a name, where one is near and the name long."""
    if len(name) < SHORTEST_MISSPELT:
        return None
    return next(iter(difflib.get_close_matches(name.lower(), spelled, n=1, cutoff=near)), None)


@dataclass(frozen=True, slots=True)
class _Vocabulary:
    """The words of a text in lower case: ``words`` all, ``capitalised`` those with a capital somewhere.

    ``names`` are those of letters alone that it has oftener with a capital than without, and how it spells
    them. ``proper`` are hardly anything but names, and ``owners`` may be some before "'s": by these words,
    without a capital, somebody may be named. No title is among these two.
    """

    words: frozenset[str]
    capitalised: frozenset[str]
    names: Mapping[str, str]
    proper: Mapping[str, str]
    owners: Mapping[str, str]


@memoized(_IN_MEMORY)
def _vocabulary(text: str) -> _Vocabulary:
    counts, inside = Counter(_WORD.findall(text)), Counter(_INSIDE.findall(text))
    capitals = sorted((word for word in counts if word[0].isupper()), key=counts.__getitem__, reverse=True)
    # The last one of a key is kept, so the commonest has to come last.
    spelled = {word.lower(): word for word in reversed(capitals) if word.isalpha() and not word.isupper()}
    untitled = {lower: word for lower, word in spelled.items() if lower not in NONE and not is_title(lower)}
    not_owners = COMMON - AUXILIARIES
    return _Vocabulary(
        words=frozenset(
            part
            for word in map(str.lower, counts)
            for part in ((word,) if word.isalnum() else _PART.findall(word))
        ),
        capitalised=frozenset(map(str.lower, capitals)),
        names={lower: word for lower, word in spelled.items() if counts[word] > counts[lower]},
        proper={
            lower: word
            for lower, word in untitled.items()
            if lower not in COMMON
            and counts[word] >= max(1, _TIMES_LOWER * counts[lower])
            and inside[word] >= _SHARE_INSIDE * counts[word]
        },
        owners={
            lower: word
            for lower, word in untitled.items()
            if lower not in not_owners and inside[word] >= max(_FEWEST_INSIDE, _OF_LOWER * counts[lower])
        },
    )


def _mentions_part(text: str, name: str) -> bool:
    """Whether the text mentions the name or a part of it, as a hyphen parts them."""
    parts = [part for part in re.split(r"[-'’]", name) if len(part) > 1] or [name]
    return any(_mentions(text, part) for part in parts)


def _mentions(text: str, word: str) -> bool:
    """Whether the text has the word, in any case, a plural of it or what it is a plural of."""
    if _has_word(text, word):  # most are found so, soonest
        return True
    stem = word.lower().removesuffix("s") if len(word) > 3 else word.lower()
    return not _vocabulary(text).words.isdisjoint({stem, f"{stem}s", f"{stem}es"})


def _has_word(text: str, word: str) -> bool:
    """Whether the text has the word just so."""
    at = text.find(word)
    while at >= 0:
        end = at + len(word)
        if not _is_within_word(text[at - 1 : at]) and not _is_within_word(text[end : end + 1]):
            return True
        at = text.find(word, at + 1)
    return False


def _is_within_word(character: str) -> bool:
    return character.isalnum() or character == "_"

"""Proper names by their capitals: the words that have one inside sentences, and what stands beside them.

No model is needed, and strange names are found as well as usual ones. A word is a name's where it has a
capital inside sentences, and in a fair share of all places; what stands beside a name says whether it is
somebody's or a place's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, compress

from text.honorifics import is_title
from text.name_signs import (
    AT,
    COMMON,
    DATES,
    HE,
    HEADING,
    HUMAN,
    NONE,
    POSSESSIVE,
    SAINT,
    SHE,
    SPEECH,
    TOWARDS,
    WITHIN,
)

PERSONAL = ("title", "verb", "said", "called", "speaks")
"""Signs of a person: a title, a verb of people behind, one of speech before, an address, a speaker's line."""

_WORD = re.compile(r"([^\W\d_]+(?:['’-][^\W\d_]+)*)")
_PARTICLES = frozenset(("de", "von", "van", "du", "la", "le", "della", "di", "del", "der", "den", "des"))
_SPACES = frozenset({" ", "\n"})
_BEHIND_TITLE = _SPACES | {". ", ".\n"}
_INSIDE = frozenset({" ", ", ", "; ", "--", "—", "-", " ("})
_FEWEST = 2  # places inside sentences where a name's word has a capital; one is enough in a
_SHORT_TEXT = 5000  # text of so many words
_SHARE = 0.1  # of all its places: Will and Grace are words, too
_OFTEN, _LARGE_SHARE = 10, 0.2  # the same of words as common as Will
_NEXT = 8  # words behind a name in which a pronoun is looked for
_SPEAKER = re.compile(
    r"^[^\S\n]*_?(?P<name>[A-Z][A-Z.'’ -]*[A-Z])(?=_?[.:]_?[ \n\[(]|_?[ ]*[\[(]|_?\n(?=\S))", re.M
)
_FEWEST_SPEECHES = 5


@dataclass(frozen=True, slots=True)
class Mention:
    """``text[start:end]``, a name of these ``words``, without 's, and the ``signs`` that stand by it."""

    start: int
    end: int
    words: tuple[str, ...]
    signs: tuple[str, ...]


def proper_names(text: str) -> list[Mention]:
    """The proper names of a text, in order; titles (Mrs., King) belong to the names behind them.

    ``signs`` are those of ``PERSONAL``; ``in``, ``to`` and ``the`` for what stands before; ``he`` or ``she``
    where that is the next pronoun.
    """
    found = _Words(text)
    mentions = [*found.runs(), *_speakers(text, found)]
    mentions.sort(key=lambda one: (one.start, -one.end))
    apart: list[Mention] = []
    for one in mentions:
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
    return apart


class _Words:
    """The words of a text, and which of them are those of names."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._pieces = _WORD.split(text)  # what stands between words and the words, in turn
        self._ends = [*accumulate(map(len, self._pieces))]
        self.raw = self._pieces[1::2]
        # Of a long text the distinct words are few, and so are those with a capital.
        times = Counter(self.raw)
        plain = {word: POSSESSIVE.sub("", word) for word in times}
        capital = {word: word[0].isupper() and (len(word) == 1 or not word.isupper()) for word in times}
        self.words = [*map(plain.__getitem__, self.raw)]
        self.capital = [*map(capital.__getitem__, self.raw)]
        self.capitals = [*compress(range(len(self.raw)), self.capital)]
        lower: Counter[str] = Counter()
        for word, count in times.items():
            if word[0].islower():
                lower[plain[word]] += count
        self.names = self._names(lower)

    def _names(self, lower: Counter[str]) -> Counter[str]:
        """How often each word that is a name's has a capital inside sentences; ``lower``, how often none."""
        inside: Counter[str] = Counter()
        people: Counter[str] = Counter()  # of dates, that they name somebody
        for i in self.capitals:
            word = self.words[i]
            if self._is_inside(i):
                inside[word] += 1
            if word.lower() in DATES and self._is_somebodys(i):
                people[word] += 1
        fewest = _FEWEST if len(self.words) > _SHORT_TEXT else 1
        return Counter(
            {
                word: count
                for word, count in inside.items()
                if count >= fewest
                and _is_name(word, count, lower[word.lower()])
                and (word.lower() not in DATES or people[word] >= _OFTEN)
            }
        )

    def _is_inside(self, i: int) -> bool:
        """Whether a word stands inside a sentence, where only names have a capital."""
        if not i:
            return False
        gap = self.gap(i)
        if gap in (". ", ".\n"):
            return is_title(self.words[i - 1])
        return gap in _INSIDE and (self.capital[i - 1] or self.raw[i - 1][0].islower())

    def _is_somebodys(self, i: int) -> bool:
        """Whether a title or a verb of speech stands before the word, or such a verb behind it."""
        gap, before = (self.gap(i), self.words[i - 1]) if i else ("", "")
        titled = gap in _BEHIND_TITLE and self.capital[i - 1] and is_title(before)
        said = gap in _SPACES and before in SPEECH
        says = i + 1 < len(self.words) and self.gap(i + 1) in _SPACES and self.words[i + 1] in SPEECH
        return titled or said or says

    def start(self, i: int) -> int:
        """Where a word begins."""
        return self._ends[2 * i]

    def end(self, i: int) -> int:
        """Where a word ends, with its 's."""
        return self._ends[2 * i + 1]

    def gap(self, i: int) -> str:
        """What stands between a word and the one before it."""
        return self._pieces[2 * i]

    def runs(self) -> Iterator[Mention]:
        """The names: words of names one behind another, with the titles before and the initials between."""
        last = -1
        for i in self.capitals:
            if i <= last or not (self.words[i] in self.names or is_title(self.words[i])):
                continue
            members = self._run(i)
            last = members[-1]
            words = tuple(self.words[j] for j in members)
            if not all(is_title(word) for word in words):
                end = self.start(last) + len(words[-1])
                yield Mention(self.start(i), end, words, tuple(self._signs(i, last, words)))

    def _run(self, first: int) -> list[int]:
        members = [first]
        while (last := members[-1]) + 1 < len(self.words):
            if self.raw[last] != self.words[last]:  # 's ends a name
                break
            gap, here = self.gap(last + 1), self.words[last]
            abbreviated = is_title(here) or len(here) == 1
            if gap not in (" ", "\n") and not (abbreviated and gap in (". ", ".\n", ".")):
                break
            if self._goes_on(last + 1):
                members.append(last + 1)
            elif (
                self.words[last + 1] in _PARTICLES
                and last + 2 < len(self.words)
                and self.gap(last + 2) in (" ", "\n")
                and self._goes_on(last + 2)
            ):
                members += [last + 1, last + 2]
            else:
                break
        return members

    def _goes_on(self, i: int) -> bool:
        word = self.words[i]
        is_initial = len(word) == 1 and word not in ("I", "A", "O")
        return self.capital[i] and (word in self.names or is_title(word) or is_initial)

    def _signs(self, first: int, last: int, words: Sequence[str]) -> Iterator[str]:
        before = self.words[first - 1].lower() if first and self.gap(first) in (" ", "\n") else ""
        behind = ""
        if last + 1 < len(self.words) and self.gap(last + 1) in (" ", "\n"):
            behind = self.words[last + 1].lower()
        if is_title(words[0]) and words[0].lower() not in SAINT:
            yield "title"
        if behind in HUMAN or behind.endswith("ed"):
            yield "verb"
        if before in SPEECH:
            yield "said"
        start, end = self.start(first), self.end(last)
        addressed = self.text[max(0, start - 2) : start] == ", "
        if addressed and self.text[end : end + 1] in {",", ".", "!", "?"}:
            yield "called"
        if before in WITHIN:
            yield "in"
        if before in AT:
            yield "at"
        if before in TOWARDS:
            yield "to"
        if before in ("the", "a", "an"):
            yield "the"
        for i in range(last + 1, min(last + 1 + _NEXT, len(self.words))):
            word = self.words[i].lower()
            if word in HE:
                yield "he"
                break
            if word in SHE:
                yield "she"
                break


def _is_name(word: str, inside: int, lower: int) -> bool:
    """Whether a word is a name's that has a capital so often inside sentences, and none so often."""
    plain = re.split("['’]", word.lower())[0]
    if plain in COMMON:
        return word.lower() == plain and inside >= _OFTEN and inside >= _LARGE_SHARE * lower
    return len(word) > 1 and inside >= _SHARE * lower and plain not in NONE


def _speakers(text: str, found: _Words) -> Iterator[Mention]:
    """Who speaks in a play, by lines that begin with a name in capitals; shortened names are made whole."""
    lines = list(_SPEAKER.finditer(text))
    times = Counter(match["name"] for match in lines)
    for match in lines:
        words = tuple(word.capitalize() for word in re.findall(r"[A-Z][A-Z'’-]*", match["name"]))
        if times[match["name"]] < _FEWEST_SPEECHES or any(word.lower() in HEADING for word in words):
            continue
        whole = tuple(_whole(word, found.names) for word in words)
        yield Mention(match.start("name"), match.end("name"), whole, ("speaks",))


def _whole(word: str, names: Counter[str]) -> str:
    if word in names or is_title(word):
        return word
    longer = [name for name in names if name.startswith(word)]
    return max(longer, key=lambda name: names[name], default=word)

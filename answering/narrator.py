"""Who tells a story: somebody in it who gives a name, somebody who is addressed or not, or nobody in it."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence
from dataclasses import dataclass

from indexing.characters import persons
from text.memo import memoized
from text.named_entities import Entity
from text.speech import SPEECH

# Times "I" in 1,000 words that nobody speaks: from so many on somebody in the story tells it, up to so many
# nobody does. Chosen, as what follows, on 55 books, whose six narrators who are called by name are found so.
_FIRST_PERSON, _THIRD_PERSON = 20, 3
_LEAST_SPEECH = 0.1  # of a text's characters: in less, or in a play, nobody can be told from who speaks
# But one without much speech that is no play is told by somebody who says "I" so many times in 1,000 words;
# of 122 books twelve have little speech and often "I", and the only one in prose has 62.
_ALONE = 40
_MOST_SPEAKERS = 0.2  # of a text's paragraphs that begin with a name in capitals, from which on it is a play
_FEWEST, _SHARE = 5, 0.4  # addresses, and of all of somebody's places, of one who tells and is seldom told of
_MOST_NAMED = 25  # persons

# How paragraphs begin with speech: between straight single quotes it is not known, any may be an apostrophe.
_SPEAKER = re.compile(r"(?:\A|\n)[^\S\n]*_?[A-Z][A-Z .'’-]{1,30}(?:[.:]|\n)")
_PARAGRAPH = re.compile(r"\n\s*\n")
_OPENING = re.compile(r"(?:\A|\n\n)[^\S\n]*(['\"“‘])")
_I = re.compile(r"\b(?:I|me|my)\b")
_BEFORE = re.compile(r"[,“\"‘]\s*(?:(?:my|dear|old|poor|good|Mr\.|Mrs\.|Miss|Dr\.|Captain)\s+)*\Z")
_BEHIND = re.compile(r"\s*[,.!?;”\"’—-]")
_REACH = 30  # characters
_IN_MEMORY = 32  # texts: questions about relatives ask for it, each anew
_GIVES_NAME = re.compile(
    r"\b(?:[Mm]y (?:own )?name (?:is|was)|I (?:am|was) (?:called|named|christened)|Call me)\s+"
)


@dataclass(frozen=True, slots=True)
class Narrator:
    """``somebody`` in the story, or not; ``person`` by whose name the others address them, where they do.

    ``says_so`` where whoever tells it gives that name.
    """

    somebody: bool
    person: Entity | None = None
    says_so: bool = False


@memoized(_IN_MEMORY)
def narrator(text: str, named: Sequence[Entity]) -> Narrator | None:
    """Who tells ``text``, which names all of these; None where that cannot be told.

    A story that says "I" outside of speech is told by somebody in it, who says "My name is Odo" there, or is
    addressed in speech and hardly named elsewhere.
    """
    opening = _OPENING.findall(text)
    if 2 * opening.count("'") > len(opening):
        return None
    spoken = [match.span() for match in SPEECH.finditer(text)]
    is_silent = sum(end - start for start, end in spoken) <= _LEAST_SPEECH * len(text)
    between = zip((0, *(end for _, end in spoken)), (*(start for start, _ in spoken), len(text)), strict=True)
    unspoken = " ".join(text[start:end] for start, end in between)
    times = 1000 * len(_I.findall(unspoken)) / max(1, len(unspoken.split()))
    if is_silent and (times < _ALONE or _is_play(text)):
        return None
    if times <= _THIRD_PERSON:
        return Narrator(somebody=False)
    if times < _FIRST_PERSON:
        return None
    itself = _named_by_itself(text, spoken, named)
    if len(itself) == 1:
        return Narrator(True, itself[0], says_so=True)
    addressed = [
        (sum(_is_address(text, *place) and _is_within(place, spoken) for place in one.places), one)
        for one in persons(named)[:_MOST_NAMED]
    ]
    likely = [
        (count / len(one.places), one)
        for count, one in addressed
        if count >= _FEWEST and count >= _SHARE * len(one.places)
    ]
    return Narrator(True, max(likely, key=lambda one: one[0])[1] if likely else None)


def _named_by_itself(text: str, spoken: Sequence[tuple[int, int]], named: Sequence[Entity]) -> list[Entity]:
    """Those by whose names whoever tells the story says to be called, each once; several tell some books."""
    starts = {match.end() for match in _GIVES_NAME.finditer(text) if not _is_within(match.span(), spoken)}
    # Whoever tells a story is seldom named in it, and often has no other sign of a person.
    return [one for one in named if not one.is_place and any(start in starts for start, _ in one.places)]


def _is_play(text: str) -> bool:
    speakers, paragraphs = len(_SPEAKER.findall(text)), 1 + len(_PARAGRAPH.findall(text))
    return speakers > _MOST_SPEAKERS * paragraphs


def _is_within(place: tuple[int, int], spoken: Sequence[tuple[int, int]]) -> bool:
    at = bisect.bisect_right(spoken, place) - 1
    return at >= 0 and place[0] < spoken[at][1]


def _is_address(text: str, start: int, end: int) -> bool:
    """Whether a name stands there as one does that somebody is called by: “Come, my dear Odo!”"""
    before = text[max(0, start - _REACH) : start]
    return _BEFORE.search(before) is not None and _BEHIND.match(text, end) is not None

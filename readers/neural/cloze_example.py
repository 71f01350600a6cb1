"""A cloze as the neural models take it: ids of words, and markers where candidates are hidden."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from readers.cloze import Cloze, Mention
from readers.neural.entities import MARKERS
from readers.neural.vocabulary import FIRST_MARKER, UNKNOWN, Vocabulary
from text.cloze import occurrences

Ids = NDArray[np.int32]
_MARKER = re.compile(r"@entity\d+")
_DRAWN = 16  # markers at least, so that few entities are not always the same ones


@dataclass(frozen=True, slots=True)
class ClozeExample:
    """One cloze by ids of its vocabulary.

    ``context`` and ``query`` are (tokens,), ``passages`` (tokens,) the passage of each token of the context,
    ``blank`` the place of the blank in the query, and ``candidates`` (candidates,) each one's last word.
    ``mentions`` (mentions, 4) have a candidate's number, the first and last token of the context, half-open,
    and the mention's number in ``Cloze.mentions``. ``answer`` is the number of the right candidate, -1 where
    nobody knows, and ``tokens`` (tokens,) have each one's number in ``Cloze.context``. Where ``anonymous``,
    candidates are markers, each mention one token, numbered in the order in which they come in the context:
    draw them anew (``draw_markers``) before they are read.
    """

    context: Ids
    passages: Ids
    query: Ids
    blank: int
    candidates: Ids
    mentions: Ids
    tokens: Ids
    answer: int = -1
    anonymous: bool = False


def encode_cloze(
    cloze: Cloze, vocabulary: Vocabulary, anonymous: bool = False, answer: str | None = None
) -> ClozeExample:
    """The example of a cloze, of which ``answer`` is the right candidate, if that is known."""
    right = -1 if answer is None else cloze.candidates.index(answer)
    if anonymous:
        return _encode_anonymous(cloze, vocabulary, right)
    rows = [(one.candidate, one.first, one.last, n) for n, one in enumerate(cloze.mentions)]
    return ClozeExample(
        _array(vocabulary.ids(cloze.context)),
        _array(cloze.passages),
        _array(vocabulary.ids(cloze.query)),
        cloze.blank,
        _array(vocabulary.ids(keys[-1] if keys else "" for keys in cloze.keys)),
        _array(rows).reshape(-1, 4),
        np.arange(len(cloze.context), dtype=np.int32),
        right,
    )


def draw_markers(ids: Ids, rng: random.Random) -> Ids:
    """The markers among ``ids`` exchanged for others by chance: Hermann et al. 2015, section 2.1.

    They are drawn from no more than are needed: what is learnt of each comes of fewer examples.
    """
    hidden = (ids >= FIRST_MARKER) & (ids < FIRST_MARKER + MARKERS)
    needed = max(_DRAWN, int(ids[hidden].max(initial=0)) - FIRST_MARKER + 1)
    drawn = np.array(rng.sample(range(needed), needed), np.int32) + FIRST_MARKER
    return np.where(hidden, drawn[np.where(hidden, ids - FIRST_MARKER, 0)], ids)


def draw_example(example: ClozeExample, rng: random.Random) -> ClozeExample:
    """The example with its markers drawn anew; as it is where nothing is hidden."""
    if not example.anonymous:
        return example
    parts = [example.context, example.query, example.candidates]
    drawn = np.split(draw_markers(np.concatenate(parts), rng), np.cumsum([len(part) for part in parts])[:-1])
    return replace(example, context=drawn[0], query=drawn[1], candidates=drawn[2])


def nearest(example: ClozeExample, tokens: int) -> ClozeExample | None:
    """The example with the last ``tokens`` of its context alone; None where its answer is not among them."""
    first = max(0, len(example.context) - tokens)
    context = example.context[first:]
    if example.candidates[example.answer] not in context:
        return None
    mentions = example.mentions - np.array([0, first, first, 0], np.int32)
    return replace(
        example,
        context=context,
        passages=example.passages[first:],
        mentions=mentions[mentions[:, 1] >= 0],
        tokens=example.tokens[first:],
    )


def read_example(cloze: Cloze, vocabulary: Vocabulary, anonymous: bool) -> ClozeExample:
    """The example of a cloze that is read: its markers are drawn, in the same way for the same text."""
    example = encode_cloze(cloze, vocabulary, anonymous)
    chance = crc32(example.context.tobytes(), crc32(example.query.tobytes()))
    return draw_example(example, random.Random(chance))


def _encode_anonymous(cloze: Cloze, vocabulary: Vocabulary, right: int) -> ClozeExample:
    kept = _apart(cloze.mentions)
    asked = _apart(_spelled_in(cloze.query, cloze.keys))
    appearing = [one.candidate for _, one in (*kept, *asked)]
    order = dict.fromkeys((*appearing, *range(len(cloze.candidates))))
    marker = {
        candidate: FIRST_MARKER + number if number < MARKERS else UNKNOWN
        for number, candidate in enumerate(order)
    }
    others = _other_markers(cloze, len(order))
    context, starts = _collapse(_ids(cloze.context, vocabulary, others), kept, marker)
    query, _ = _collapse(_ids(cloze.query, vocabulary, others), asked, marker)
    removed = sum(one.last - one.first - 1 for _, one in asked if one.last <= cloze.blank)
    rows = [(one.candidate, at, at + 1, n) for (n, one), at in zip(kept, starts, strict=True)]
    inside = [at for _, one in kept for at in range(one.first + 1, one.last)]
    tokens = np.delete(np.arange(len(cloze.context), dtype=np.int32), inside)
    return ClozeExample(
        context,
        _array(cloze.passages)[tokens],
        query,
        cloze.blank - removed,
        _array([marker[candidate] for candidate in range(len(cloze.candidates))]),
        _array(rows).reshape(-1, 4),
        tokens,
        right,
        anonymous=True,
    )


def _other_markers(cloze: Cloze, first: int) -> dict[str, int]:
    """Ids for the entities that are named but no candidates, numbered on from ``first`` as they come."""
    known = {key for keys in cloze.keys for key in keys}
    named = (key for key in (*cloze.context, *cloze.query) if _MARKER.fullmatch(key) and key not in known)
    return {
        key: FIRST_MARKER + number if number < MARKERS else UNKNOWN
        for number, key in enumerate(dict.fromkeys(named), first)
    }


def _ids(keys: Sequence[str], vocabulary: Vocabulary, others: Mapping[str, int]) -> list[int]:
    return [others.get(key, id) for key, id in zip(keys, vocabulary.ids(keys), strict=True)]


def _apart(mentions: Sequence[Mention]) -> list[tuple[int, Mention]]:
    """The mentions that do not overlap, with their numbers: the earlier, and of these the longer ones."""
    found: list[tuple[int, Mention]] = []
    end = 0
    for number, one in sorted(enumerate(mentions), key=lambda pair: (pair[1].first, -pair[1].last)):
        if one.first >= end:
            found.append((number, one))
            end = one.last
    return found


def _spelled_in(tokens: Sequence[str], keys: Sequence[Sequence[str]]) -> list[Mention]:
    return [
        Mention(number, first, first + len(of_one))
        for number, of_one in enumerate(keys)
        for first in occurrences(tokens, of_one)
    ]


def _collapse(
    ids: Sequence[int], mentions: Sequence[tuple[int, Mention]], marker: Mapping[int, int]
) -> tuple[Ids, list[int]]:
    """The ids with one marker for each mention, and where these stand."""
    found: list[int] = []
    starts = []
    end = 0
    for _, one in mentions:
        found += ids[end : one.first]
        starts.append(len(found))
        found.append(marker[one.candidate])
        end = one.last
    return _array([*found, *ids[end:]]), starts


def _array(numbers: Sequence[int] | Sequence[Sequence[int]]) -> Ids:
    return np.array(numbers, np.int32)

"""A cloze as the readers that fill blanks take it: its tokens, its blank, and what mentions a candidate."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from readers.reading import Named, Reading, Span
from text.cloze import BLANK, NotACloze, cloze_tokens, find_blank
from text.tokens import Token


@dataclass(frozen=True)
class Mention:
    """A place of the context that spells a candidate: its tokens ``first`` to ``last``, half-open."""

    candidate: int
    first: int
    last: int


@dataclass(frozen=True)
class Cloze:
    """A reading whose question has one blank, by its tokens (``text.cloze``).

    ``context`` has the lower-cased keys of all passages, ``passages`` the number of the passage that each of
    these tokens is in, and ``places`` its offsets there. ``query`` has the keys of the question, ``BLANK`` at
    ``blank``. ``spelled`` and ``query_spelled`` are the same tokens as they stand in the text, for models of
    cased text. ``candidates`` are what to choose from.

    Where the reading says which entities it names, a name is one token, whose key is the entity's marker
    (``@entity3``) in context and query; ``markers`` are those of the candidates. Their numbers mean nothing:
    ``anonymise`` draws others.
    """

    reading: Reading
    context: tuple[str, ...]
    spelled: tuple[str, ...]
    passages: tuple[int, ...]
    places: tuple[tuple[int, int], ...]
    query: tuple[str, ...]
    query_spelled: tuple[str, ...]
    blank: int
    candidates: tuple[str, ...]
    markers: tuple[str, ...] = ()

    @cached_property
    def keys(self) -> tuple[tuple[str, ...], ...]:
        """The tokens' keys of each candidate."""
        if self.markers:
            return tuple((marker,) for marker in self.markers)
        return tuple(tuple(token.key for token in cloze_tokens(one)) for one in self.candidates)

    @cached_property
    def mentions(self) -> tuple[Mention, ...]:
        """Where the context spells a candidate, in story order; in one passage each, whatever its case."""
        starting: dict[str, list[int]] = defaultdict(list)
        for number, keys in enumerate(self.keys):
            if keys:
                starting[keys[0]].append(number)
        found = []
        for first, key in enumerate(self.context):
            for number in starting.get(key, ()):
                last = first + len(self.keys[number])
                same = self.context[first:last] == self.keys[number]
                if same and self.passages[first] == self.passages[last - 1]:
                    found.append(Mention(number, first, last))
        return tuple(found)

    def span(self, mention: Mention) -> Span:
        """The place of a mention in the reading."""
        start, end = self.places[mention.first][0], self.places[mention.last - 1][1]
        return Span(self.passages[mention.first], start, end)


def parse_cloze(reading: Reading, candidates: Sequence[str]) -> Cloze:
    """The cloze that a reading is; raises ``NotACloze`` where its question has no blank, or several."""
    if find_blank(reading.question) is None:
        raise NotACloze(
            f"the question has no blank ({reading.question[:60]!r}); wanted one XXXXX, @placeholder or ____"
        )
    named: dict[int, list[Named]] = defaultdict(list)
    for one in reading.named:
        named[one.passage].append(one)
    query = _tokens(reading.question, named[-1])
    found = [(n, text, _tokens(text, named[n])) for n, text in enumerate(reading.passages)]
    numbers = {text: number for number, text in reversed(list(enumerate(reading.candidates)))}
    marked = reading.named and all(one in numbers for one in candidates)
    return Cloze(
        reading,
        context=tuple(key for _, _, tokens in found for key, _, _ in tokens),
        spelled=tuple(text[start:end] for _, text, tokens in found for _, start, end in tokens),
        passages=tuple(n for n, _, tokens in found for _ in tokens),
        places=tuple((start, end) for _, _, tokens in found for _, start, end in tokens),
        query=tuple(token.key for token in query),
        query_spelled=tuple(reading.question[start:end] for _, start, end in query),
        blank=next(i for i, token in enumerate(query) if token.key == BLANK),
        candidates=tuple(candidates),
        markers=tuple(_marker(numbers[one]) for one in candidates) if marked else (),
    )


def anonymise(cloze: Cloze, rng: random.Random, markers: int = 600) -> Cloze:
    """The cloze with the markers of its entities drawn anew from ``markers`` numbers, or more if it has more.

    Hermann et al. 2015, section 2.1: drawn whenever a question is loaded, in training and in testing, so
    that no marker means anything beyond its question. A cloze without entities is returned as it is.
    """
    old = list(dict.fromkeys((*cloze.markers, *(_marker(one.entity) for one in cloze.reading.named))))
    drawn = rng.sample(range(max(markers, len(old))), len(old))
    new = {marker: _marker(number) for marker, number in zip(old, drawn, strict=True)}
    return replace(
        cloze,
        context=tuple(new.get(key, key) for key in cloze.context),
        query=tuple(new.get(key, key) for key in cloze.query),
        markers=tuple(new[marker] for marker in cloze.markers),
    )


def _marker(entity: int) -> str:
    return f"@entity{entity}"


def _tokens(text: str, named: Sequence[Named]) -> Sequence[Token]:
    """The tokens of a text, each name of an entity in it as one."""
    return list(_marked(_all_tokens(text), deque(named))) if named else _all_tokens(text)


@lru_cache(maxsize=1_024)  # questions about one book share their sentences
def _all_tokens(text: str) -> tuple[Token, ...]:
    return tuple(cloze_tokens(text))


def _marked(tokens: Sequence[Token], named: deque[Named]) -> Iterator[Token]:
    given = None  # the name whose marker has been given: it stands for all tokens of the name
    for token in tokens:
        while named and named[0].end <= token.start:
            named.popleft()
        if not named or token.end <= named[0].start:
            yield token
        elif named[0] is not given:
            given = named[0]
            yield Token(_marker(given.entity), given.start, given.end)

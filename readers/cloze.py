"""A cloze as the readers that fill blanks take it, and what they have in common."""

from __future__ import annotations

import math
import random
import re
from abc import abstractmethod
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import blake2b

from readers.reading import Answer, Named, Ranker, Reading, Span, merged, overlap
from text.cloze import BLANK, NotACloze, cloze_tokens, find_blank
from text.tokens import Token

_MARKER = re.compile(r"@entity\d+\b")


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


@dataclass(frozen=True, slots=True)
class Judged:
    """What a system makes of one cloze: per candidate a score, and per mention of it how much it says for it.

    ``scores`` are larger for better candidates; where ``probable``, logarithms of what is proportional to
    probabilities, so that their softmax is a confidence. ``weights`` are () where no mention plays a part:
    then a candidate's first mention in the context is cited.
    """

    scores: Sequence[float]
    weights: Sequence[float] = ()
    probable: bool = False


class ClozeReader(Ranker):
    """Fills the blank with one of the candidates, and cites the mention that says most for it.

    A subclass says in ``judge`` what each candidate scores. Candidates that score the same come in an order
    drawn by chance, the same one whenever the same reading is read.
    """

    @abstractmethod
    def judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        """What each candidate of each cloze scores; every cloze has a context and candidates."""

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; raises ``NotACloze`` where a question has no blank, or several."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        answers: list[list[Answer]] = [[] for _ in readings]
        clozes = {}
        for i, reading in enumerate(readings):
            cloze = parse_cloze(reading, reading.candidates)
            if cloze.context and cloze.candidates:
                clozes[i] = cloze
        for (i, cloze), judged in zip(clozes.items(), self.judge(list(clozes.values())), strict=True):
            answers[i] = _answers(cloze, judged, n_best)
        return answers

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``; 0 for each where there is nothing to read."""
        cloze = parse_cloze(reading, candidates)
        if not cloze.context or not candidates:
            return [0.0] * len(candidates)
        [judged] = self.judge([cloze])
        return list(judged.scores)


def _answers(cloze: Cloze, judged: Judged, n_best: int) -> list[Answer]:
    chance = _chance(cloze)
    order = sorted(range(len(cloze.candidates)), key=lambda i: (-judged.scores[i], chance[i]))
    shares = _shares(judged)
    return cited_once(
        cloze.reading,
        [(cloze.candidates[i], float(judged.scores[i]), shares[i], _cited(cloze, judged, i)) for i in order],
        n_best,
    )


def cited_once(
    reading: Reading, chosen: Iterable[tuple[str, float, float, Span | None]], n_best: int
) -> list[Answer]:
    """The first ``n_best`` of the candidates that differ, of text, score, confidence and place, as answers.

    A place that spells the text as it is is its span; one that spells it otherwise, or lies in the span of a
    better answer ("Ann" in "Ann Lee"), supports it.
    """
    found: list[Answer] = []
    for text, score, confidence, place in chosen:
        if not text.strip():
            continue
        span = place
        if place is not None and reading.passages[place.passage][place.start : place.end] != text:
            span = None
        if span is not None and any(one.span and overlap(one.span, span) for one in found):
            span = None
        found.append(Answer(text, score, confidence, span, None if span else place))
    return merged(found, n_best)


def _chance(cloze: Cloze) -> list[bytes]:
    """Per candidate what decides ties: its text and the reading's, markers by their order, not by number."""
    order: dict[str, str] = {}

    def renumbered(text: str) -> bytes:
        found = _MARKER.sub(lambda match: order.setdefault(match[0], f"@entity{len(order)}"), text)
        return found.encode("utf-8", "surrogatepass")

    read = blake2b(renumbered("\n".join((cloze.reading.question, *cloze.reading.passages))), digest_size=8)
    chance = []
    for candidate in cloze.candidates:
        digest = read.copy()
        digest.update(renumbered(f"\n{candidate}"))
        chance.append(digest.digest())
    return chance


def _cited(cloze: Cloze, judged: Judged, candidate: int) -> Span | None:
    """The mention of most weight; of equals the first that spells the candidate as it is, or the first."""
    best, cited = (-math.inf, False), None
    weights = judged.weights or [0.0] * len(cloze.mentions)
    for mention, weight in zip(cloze.mentions, weights, strict=True):
        if mention.candidate == candidate and (weight, True) > best:
            span = cloze.span(mention)
            text = cloze.reading.passages[span.passage][span.start : span.end]
            found = (weight, text == cloze.candidates[candidate])
            if found > best:
                best, cited = found, span
    return cited


def _shares(judged: Judged) -> list[float]:
    """Per candidate its share of all: a probability, or for other scores one among the equal and better."""
    if judged.probable:
        top = max(judged.scores)
        parts = [math.exp(score - top) for score in judged.scores]
        return [part / math.fsum(parts) for part in parts]
    return [1 / sum(other >= score for other in judged.scores) for score in judged.scores]

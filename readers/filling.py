"""What readers that fill blanks have in common: candidates judged, chance between equals, places cited."""

from __future__ import annotations

import math
import re
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from readers.cloze import Cloze, parse_cloze
from readers.reading import Answer, Ranker, Reading, Span, merged, overlap

_MARKER = re.compile(r"@entity\d+\b")


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

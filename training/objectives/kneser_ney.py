"""Modified Kneser-Ney: an n-gram model estimated from the training books' text, and the weight of its cache.

Chen and Goodman 1998, with the counts and the unknown word of KenLM's estimation (Heafield et al. 2013).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from readers.baselines.ngram import BEGIN, END, MARKS, UNKNOWN, NgramModel, token_probabilities
from readers.cloze import Cloze

if TYPE_CHECKING:
    from numpy.typing import NDArray

ORDER = 5
NEVER = -99.0  # log10 of the probability of <s>, as ARPA files have it
_FALLBACK = (0.5, 1.0, 1.5)  # discounts of texts too small to have any, as lmplz --discount_fallback
_WEIGHTS = tuple(step / 50 for step in range(1, 31))  # of the cache, to choose from
_TOGETHER = 256  # clozes


@dataclass(frozen=True)
class _Counts:
    """The n-grams of one length, in the order of their keys.

    ``prefix`` and ``suffix`` are the numbers of all but the last and all but the first word. ``count`` is
    adjusted: how many different words stand before it; for the longest, and those that begin a sentence, how
    often it stands in the text.
    """

    keys: NDArray[np.int64]
    prefix: NDArray[np.int64]
    suffix: NDArray[np.int64]
    count: NDArray[np.int64]


def estimate(
    sentences: Iterable[Sequence[str]], order: int = ORDER, trained_on: str = "nothing"
) -> NgramModel:
    """The interpolated model of the sentences, given as words (``language_words``); nothing is pruned.

    For the n-grams of each length D(1), D(2) and D(3) are what counts of 1, 2 and more lose; then
    p(w | h) = (count(h w) - D(count)) / Σ count(h ·) + gamma(h) p(w | h without its first word), where
    gamma(h) = Σ D(count) / Σ count(h ·), and before the first word there is 1 / words. Raises ``ValueError``
    where there is no sentence.
    """
    words, stream = _number(sentences)
    counted = _count(stream, len(words), order)
    log10, backoffs = [], []
    uniform = 1 / (len(words) - 1)  # <s> is never the next word
    below = np.full(1, uniform)
    for level, counts in enumerate(counted):
        contexts = 1 if level == 0 else len(counted[level - 1].count)
        lost = _discounts(counts.count)[np.minimum(counts.count, 3)]
        total = np.bincount(counts.prefix, counts.count, contexts)
        seen = np.where(total > 0, total, 1)
        weight = np.bincount(counts.prefix, lost, contexts) / seen  # gamma(h)
        own = (counts.count - lost) / seen[counts.prefix]
        below = own + weight[counts.prefix] * below[counts.suffix]
        if level == 0:
            below[BEGIN] = 0.0
        else:
            backoffs.append(_log10(np.where(total > 0, weight, 1.0)))
        log10.append(_log10(below))
    return NgramModel(words, [counts.keys for counts in counted[1:]], log10, backoffs, trained_on)


def _log10(values: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.log10(values, where=values > 0, out=np.full(len(values), NEVER)).astype(np.float32)


def _number(sentences: Iterable[Sequence[str]]) -> tuple[list[str], NDArray[np.int64]]:
    """The words in order of the alphabet, behind the marks, and the sentences as their numbers in one row."""
    first_seen = {mark: number for number, mark in enumerate(MARKS)}
    row: list[int] = []
    for sentence in sentences:
        row.append(BEGIN)
        # A mark that a text itself spells is no word that anything is known of.
        row += (
            UNKNOWN if word in MARKS else first_seen.setdefault(word, len(first_seen)) for word in sentence
        )
        row.append(END)
    if not row:
        raise ValueError("no sentences to estimate n-grams from")
    words = [*MARKS, *sorted(list(first_seen)[len(MARKS) :])]
    order = np.array([first_seen[word] for word in words])
    renumbered = np.empty(len(words), dtype=np.int64)
    renumbered[order] = np.arange(len(words))
    return words, renumbered[np.array(row)]


def _count(stream: NDArray[np.int64], words: int, order: int) -> list[_Counts]:
    """The n-grams of 1 to ``order`` words that lie in one sentence each."""
    starts = np.flatnonzero(stream == BEGIN)
    lengths = np.diff([*starts, len(stream)])
    place = np.arange(len(stream)) - np.repeat(starts, lengths)  # in its sentence
    number = stream  # of the n-gram that ends there
    raw = np.bincount(stream, minlength=words)
    raw[[UNKNOWN, BEGIN]] = 0  # nothing is counted of them
    one = np.zeros(words, dtype=np.int64)
    counted = [_Counts(np.arange(words), one, one, raw)]
    begins = np.zeros(words, dtype=bool)
    for level in range(1, order):
        ends = np.flatnonzero(place >= level)
        longer = number[ends - 1] * words + stream[ends]
        keys, first, inverse, raw = np.unique(longer, True, True, True)
        first = ends[first]
        counted.append(_Counts(keys, keys // words, number[first], raw))
        _adjust(counted, level - 1, begins)
        begins = place[first] == level
        number = np.full(len(stream), -1)
        number[ends] = inverse
    return counted


def _adjust(counted: list[_Counts], level: int, begins: NDArray[np.bool_]) -> None:
    """Count before how many words the n-grams of a level stand, unless they begin a sentence."""
    counts, longer = counted[level], counted[level + 1]
    before = np.bincount(longer.suffix, minlength=len(counts.count))
    counted[level] = replace(counts, count=np.where(begins, counts.count, before))


def _discounts(count: NDArray[np.int64]) -> NDArray[np.float64]:
    """D(0) to D(3), of counts of 0, 1, 2 and more (Chen and Goodman 1998, equation 26)."""
    n = [int((count == times).sum()) for times in range(5)]
    if min(n[1:]) == 0:
        return np.array([0.0, *_FALLBACK])
    y = n[1] / (n[1] + 2 * n[2])
    found = [times - (times + 1) * y * n[times + 1] / n[times] for times in (1, 2, 3)]
    sound = all(0 < lost < times for times, lost in enumerate(found, 1))
    return np.array([0.0, *(found if sound else _FALLBACK)])


def tune_cache(model: NgramModel, clozes: Sequence[Cloze], right: Sequence[str]) -> tuple[NgramModel, float]:
    """The model with the weight of the context's words that fills most of these clozes, and how many of all.

    The smallest weight of equally good ones; ``right`` has each cloze's answer.
    """
    hits: Counter[float] = Counter()
    for start in range(0, len(clozes), _TOGETHER):
        some = clozes[start : start + _TOGETHER]
        tokens = token_probabilities(model, some)
        answers = [
            cloze.candidates.index(answer)
            for cloze, answer in zip(some, right[start : start + _TOGETHER], strict=True)
        ]
        for weight in _WEIGHTS:
            sums = tokens.log_sums(weight, some)
            hits[weight] += sum(max(s) == s[answer] for s, answer in zip(sums, answers, strict=True))
    best = max(_WEIGHTS, key=lambda weight: hits[weight])
    return replace(model, cache=best), hits[best] / len(clozes)

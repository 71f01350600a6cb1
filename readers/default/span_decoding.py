"""From start and end scores to answers: candidate spans over all windows, then the least risk."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.windows import Window
from readers.reading import Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORD = re.compile(r"\w+")
# A start and an end are scored apart, so that the start of one answer goes well with the end of another, far
# behind it. Chosen on held-out FairytaleQA train stories and on SQuAD train.
WORD_COST = 0.05
SENTENCE_COST = 2.0


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span with its unnormalised log-probability, start score + end score."""

    span: Span
    score: float


def window_candidates(
    window: Window, start: NDArray[np.float32], end: NDArray[np.float32], longest: int, keep: int
) -> list[Candidate]:
    """The ``keep`` best spans of one window by start[i] + end[j] with i <= j < i + ``longest``.

    ``start`` and ``end`` are scores of shape (context tokens,). Spans begin and end with whole words;
    each word costs ``WORD_COST``, and running on into another sentence ``SENTENCE_COST``. Decoding
    rule otherwise: Chen et al. 2017, section 3.2, over the ``keep`` best starts and ends.
    """
    import numpy as np

    words = np.asarray(window.words)
    begins = np.flatnonzero(np.r_[True, words[1:] != words[:-1]])
    ends = np.flatnonzero(np.r_[words[1:] != words[:-1], True])
    i = begins[np.argsort(-start[begins], kind="stable")[:keep]]
    j = ends[np.argsort(-end[ends], kind="stable")[:keep]]
    scores = start[i][:, None] + end[j][None, :]  # (starts, ends)
    valid = (i[:, None] <= j[None, :]) & (j[None, :] < i[:, None] + longest)
    offsets = np.asarray(window.offsets)
    spaced = np.cumsum(np.r_[False, offsets[1:, 0] > offsets[:-1, 1]])  # words before, as spaces part them
    sentences = np.asarray(window.sentences)
    scores = scores - WORD_COST * (spaced[j][None, :] - spaced[i][:, None] + 1)
    scores = scores - SENTENCE_COST * (sentences[j][None, :] != sentences[i][:, None])
    scores = np.where(valid, scores, -np.inf)
    best = np.argsort(-scores, axis=None, kind="stable")[: min(keep, int(valid.sum()))]
    rows, columns = np.unravel_index(best, scores.shape)
    return [
        Candidate(
            Span(window.passage, window.offsets[i[row]][0], window.offsets[j[column]][1]),
            float(scores[row, column]),
        )
        for row, column in zip(rows, columns, strict=True)
    ]


def pool(candidates: Sequence[Candidate], keep: int) -> list[Candidate]:
    """The ``keep`` best candidates; a span seen from two overlapping windows counts once."""
    best: dict[Span, Candidate] = {}
    for candidate in candidates:
        known = best.get(candidate.span)
        if known is None or candidate.score > known.score:
            best[candidate.span] = candidate
    return sorted(best.values(), key=_place)[:keep]


def _place(candidate: Candidate) -> tuple[float, int, int, int]:
    span = candidate.span
    return -candidate.score, span.passage, span.start, span.end


def probabilities(candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Probabilities of shape (candidates,), normalised over all windows of all passages at once.

    Shared normalisation (Clark and Gardner 2018, section 3.3) is what makes spans of different
    passages comparable; the model was trained so.
    """
    import numpy as np

    scores = np.array([candidate.score for candidate in candidates])
    weights = np.exp(scores - scores.max())
    return np.asarray(weights / weights.sum())


def expected_f1(
    texts: Sequence[str], references: Sequence[str], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The word F1 that each text is expected to score, of shape (texts,).

    ``references`` are what the answer may be, with probabilities ``weights``. Choosing the text
    that maximises it is minimum Bayes risk decoding (Kumar and Byrne 2004, section 2).
    """
    import numpy as np

    bags = [[w.lower() for w in WORD.findall(text)] or [text.strip()] for text in (*texts, *references)]
    vocabulary = {word: n for n, word in enumerate(dict.fromkeys(word for bag in bags for word in bag))}
    counts = np.zeros((len(bags), len(vocabulary)), dtype=np.int32)
    for row, bag in enumerate(bags):
        for word in bag:
            counts[row, vocabulary[word]] += 1
    ours, theirs = counts[: len(texts)], counts[len(texts) :]
    shared = np.minimum(ours[:, None, :], theirs[None, :, :]).sum(-1)  # (texts, references)
    f1 = 2 * shared / (ours.sum(-1)[:, None] + theirs.sum(-1)[None, :])
    return np.asarray(f1 @ weights)


def without_overlaps(order: Sequence[int], spans: Sequence[Span], n_best: int) -> list[int]:
    """The first ``n_best`` positions of ``order`` whose spans share no character with an earlier one."""
    chosen: list[int] = []
    for i in order:
        span = spans[i]
        if all(
            span.passage != other.passage or span.end <= other.start or other.end <= span.start
            for other in (spans[c] for c in chosen)
        ):
            chosen.append(i)
        if len(chosen) == n_best:
            break
    return chosen

"""The spans to learn from: where in its passages an answer stands, or what comes closest to it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # type: ignore[import-untyped]

WORD = re.compile(r"\w+")
BETA = 1.2  # weight of recall in the COCO caption scorer's ROUGE-L
LEAST_ROUGE_L = 0.35  # below this the closest span says something else
NEAR = 0.9  # of the best ROUGE-L


def content_words(text: str) -> frozenset[str]:
    """The words of a text in lower case, without stop words."""
    return frozenset(m.group().lower() for m in WORD.finditer(text)).difference(ENGLISH_STOP_WORDS)


@dataclass(frozen=True, slots=True)
class Target:
    """A span to learn from, ``texts[text][start:end]`` in code points, and how right it is, in (0, 1]."""

    text: int
    start: int
    end: int
    weight: float


def target_spans(texts: Sequence[str], answers: Sequence[str]) -> list[Target]:
    """The spans to learn from, in order; may be empty.

    Every verbatim occurrence of any answer (case and punctuation aside), with weight 1. Only where no
    answer stands anywhere, the spans that come within ``NEAR`` of the best ROUGE-L with one of them, if
    that is at least ``LEAST_ROUGE_L`` and they share more than stop words with it; a span's weight
    is its share of the best ROUGE-L, squared so that the best count most.
    """
    wanted = [words for answer in answers if (words := [m.group().lower() for m in WORD.finditer(answer)])]
    verbatim: set[tuple[int, int, int]] = set()
    near: dict[tuple[int, int, int], float] = {}
    for number, text in enumerate(texts):
        places = [(m.group().lower(), m.start(), m.end()) for m in WORD.finditer(text)]
        tokens = [token for token, _, _ in places]
        for words in wanted:
            verbatim.update((number, places[i][1], places[j - 1][2]) for i, j in _occurrences(tokens, words))
            if not verbatim:
                for (i, j), rouge_l in _closest(tokens, words).items():
                    span = (number, places[i][1], places[j - 1][2])
                    near[span] = max(rouge_l, near.get(span, 0.0))
    if verbatim:
        return [Target(*span, 1.0) for span in sorted(verbatim)]
    best = max(near.values(), default=0.0)
    return [
        Target(*span, (rouge_l / best) ** 2)
        for span, rouge_l in sorted(near.items())
        if rouge_l >= NEAR * best
    ]


def _occurrences(tokens: list[str], wanted: list[str]) -> list[tuple[int, int]]:
    n = len(wanted)
    return [(i, i + n) for i in range(len(tokens) - n + 1) if tokens[i : i + n] == wanted]


def _closest(tokens: list[str], wanted: list[str]) -> dict[tuple[int, int], float]:
    """The ROUGE-L of the spans, as word bounds, that come within ``NEAR`` of the best.

    They begin and end with a word of the answer; there are none below ``LEAST_ROUGE_L``.
    """
    known = set(wanted)
    content = known - ENGLISH_STOP_WORDS
    told = np.concatenate([[0], np.cumsum([token in content for token in tokens])])  # content words before
    hits = np.array([token in known for token in tokens])
    starts = np.flatnonzero(hits)
    if not starts.size:
        return {}
    longest = 2 * len(wanted) + 2
    same = np.array([[token == word for word in wanted] for token in tokens])  # (tokens, wanted)
    lcs = np.zeros((len(starts), len(wanted) + 1))  # of the span so far with wanted[:column]
    best = LEAST_ROUGE_L
    spans: dict[tuple[int, int], float] = {}
    for length in range(1, longest + 1):
        ends = starts + length
        inside = ends <= len(tokens)
        last = np.minimum(ends - 1, len(tokens) - 1)
        grown = lcs.copy()
        for column in range(1, len(wanted) + 1):
            diagonal = lcs[:, column - 1] + same[last, column - 1]
            grown[:, column] = np.maximum(np.maximum(diagonal, lcs[:, column]), grown[:, column - 1])
        lcs = grown
        common = lcs[:, -1]
        precision, recall = common / length, common / len(wanted)
        rouge_l = (1 + BETA**2) * precision * recall / np.maximum(recall + BETA**2 * precision, 1e-9)
        rouge_l = np.where(inside & hits[last] & (told[last + 1] > told[starts]), rouge_l, 0.0)
        best = max(best, float(rouge_l.max()))
        for i in np.flatnonzero(rouge_l >= NEAR * best).tolist():
            spans[int(starts[i]), int(ends[i])] = float(rouge_l[i])
    return {span: rouge_l for span, rouge_l in spans.items() if rouge_l >= NEAR * best}

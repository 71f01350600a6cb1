"""Distant labels: where in its passages an answer stands, or the spans that come closest to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # type: ignore[import-untyped]

WORD = re.compile(r"\w+")
BETA = 1.2  # weight of recall in the COCO caption scorer's ROUGE-L
LEAST_ROUGE_L = 0.35  # below this the closest span says something else


def target_spans(texts: Sequence[str], answers: Sequence[str]) -> list[tuple[int, int, int]]:
    """The spans to learn from as (text, start, end) in code points, in order; may be empty.

    Every verbatim occurrence of any answer (case and punctuation aside). Only where no answer stands
    anywhere, the shortest spans of the best ROUGE-L with one of them, if that is at least
    ``LEAST_ROUGE_L`` and they share more than stop words with it.
    """
    wanted = [words for answer in answers if (words := [m.group().lower() for m in WORD.finditer(answer)])]
    verbatim: set[tuple[int, int, int]] = set()
    closest: set[tuple[int, int, int]] = set()
    best = LEAST_ROUGE_L
    for number, text in enumerate(texts):
        places = [(m.group().lower(), m.start(), m.end()) for m in WORD.finditer(text)]
        tokens = [token for token, _, _ in places]
        for words in wanted:
            spans = _occurrences(tokens, words)
            verbatim.update((number, places[i][1], places[j - 1][2]) for i, j in spans)
            if not verbatim:
                rouge_l, spans = _closest(tokens, words)
                if rouge_l > best:
                    best = rouge_l
                    closest.clear()
                if rouge_l == best:
                    closest.update((number, places[i][1], places[j - 1][2]) for i, j in spans)
    return sorted(verbatim or closest)


def _occurrences(tokens: list[str], wanted: list[str]) -> list[tuple[int, int]]:
    n = len(wanted)
    return [(i, i + n) for i in range(len(tokens) - n + 1) if tokens[i : i + n] == wanted]


def _closest(tokens: list[str], wanted: list[str]) -> tuple[float, list[tuple[int, int]]]:
    """The best ROUGE-L of a span, and the shortest spans that have it, as word bounds.

    They begin and end with a word of the answer; there are none below ``LEAST_ROUGE_L``.
    """
    known = set(wanted)
    content = known - ENGLISH_STOP_WORDS
    told = np.concatenate([[0], np.cumsum([token in content for token in tokens])])  # content words before
    hits = np.array([token in known for token in tokens])
    starts = np.flatnonzero(hits)
    if not starts.size:
        return 0.0, []
    longest = 2 * len(wanted) + 2
    same = np.array([[token == word for word in wanted] for token in tokens])  # (tokens, wanted)
    lcs = np.zeros((len(starts), len(wanted) + 1))  # of the span so far with wanted[:column]
    best = LEAST_ROUGE_L
    spans: list[tuple[int, int]] = []
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
        top = float(rouge_l.max())
        if top > best + 1e-9:
            best = top
            spans = [(int(starts[i]), int(ends[i])) for i in np.flatnonzero(rouge_l >= top - 1e-9)]
    return best, spans

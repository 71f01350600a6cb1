"""Distant labels: where in a text an answer stands, or the spans that come closest to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS  # type: ignore[import-untyped]

WORD = re.compile(r"\w+")
BETA = 1.2  # weight of recall in the COCO caption scorer's ROUGE-L
LEAST_ROUGE_L = 0.35  # below this the closest span says something else


def target_spans(text: str, answers: Sequence[str]) -> list[tuple[int, int]]:
    """Code-point bounds of the spans of ``text`` to learn from, in text order; may be empty.

    Every verbatim occurrence of an answer (case and punctuation aside); for an answer that stands
    nowhere, all spans that tie for the best ROUGE-L with it, if that is at least ``LEAST_ROUGE_L``
    and they share more than stop words with it.
    """
    places = [(m.group().lower(), m.start(), m.end()) for m in WORD.finditer(text)]
    tokens = [token for token, _, _ in places]
    found: set[tuple[int, int]] = set()
    for answer in answers:
        wanted = [m.group().lower() for m in WORD.finditer(answer)]
        if not wanted or not tokens:
            continue
        spans = _occurrences(tokens, wanted) or _closest(tokens, wanted)
        found.update((places[i][1], places[j - 1][2]) for i, j in spans)
    return sorted(found)


def _occurrences(tokens: list[str], wanted: list[str]) -> list[tuple[int, int]]:
    n = len(wanted)
    return [(i, i + n) for i in range(len(tokens) - n + 1) if tokens[i : i + n] == wanted]


def _closest(tokens: list[str], wanted: list[str]) -> list[tuple[int, int]]:
    """Word bounds of the spans with the best ROUGE-L; they begin and end with a word of the answer."""
    known = set(wanted)
    content = known - ENGLISH_STOP_WORDS
    told = np.concatenate([[0], np.cumsum([token in content for token in tokens])])  # content words before
    hits = np.array([token in known for token in tokens])
    starts = np.flatnonzero(hits)
    if not starts.size:
        return []
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
        top = rouge_l.max()
        if top > best + 1e-9:
            best, spans = top, []
        if top >= best - 1e-9:
            spans += [(int(starts[i]), int(ends[i])) for i in np.flatnonzero(rouge_l >= best - 1e-9)]
    return spans

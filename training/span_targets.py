"""The spans to learn from: where in its passages an answer stands, or what comes closest to it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from text.closest_spans import best_spans
from text.spans import TokenText
from text.stop_words import STOP_WORDS
from text.tokens import Token

WORD = re.compile(r"\w+")
LEAST_ROUGE_L = 0.35  # below this the closest span says something else
NEAR = 0.9  # of the best ROUGE-L


def content_words(text: str) -> frozenset[str]:
    """The words of a text in lower case, without stop words."""
    return frozenset(m.group().lower() for m in WORD.finditer(text)).difference(STOP_WORDS)


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
    wanted = [keys for answer in answers if (keys := [word.key for word in _words(answer)])]
    verbatim: set[tuple[int, int, int]] = set()
    for number, text in enumerate(texts):
        words = list(_words(text))
        keys = [word.key for word in words]
        for answer in wanted:
            verbatim.update((number, words[i].start, words[j - 1].end) for i, j in _occurrences(keys, answer))
    if verbatim:
        return [Target(*span, 1.0) for span in sorted(verbatim)]
    near: dict[tuple[int, int, int], float] = {}
    together = TokenText(texts, split=_words)
    for answer in wanted:
        found = best_spans(
            together,
            answer,
            near=NEAR,
            least=LEAST_ROUGE_L,
            longest=2 * len(answer) + 2,
            holding=set(answer) - STOP_WORDS,
        )
        for begin, end, rouge_l in zip(found.begin, found.end, found.scores.tolist(), strict=True):
            span = together.place(int(begin), int(end))
            near[span] = max(rouge_l, near.get(span, 0.0))
    best = max(near.values(), default=0.0)
    return [
        Target(*span, (rouge_l / best) ** 2)
        for span, rouge_l in sorted(near.items())
        if rouge_l >= NEAR * best
    ]


def _words(text: str) -> Iterator[Token]:
    """The words of a text, without its punctuation."""
    return (Token(m.group().lower(), m.start(), m.end()) for m in WORD.finditer(text))


def _occurrences(tokens: list[str], wanted: list[str]) -> list[tuple[int, int]]:
    n = len(wanted)
    return [(i, i + n) for i in range(len(tokens) - n + 1) if tokens[i : i + n] == wanted]

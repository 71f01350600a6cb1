"""Distant supervision: which passages of a long story answer a question whose place nobody marked."""

from __future__ import annotations

from training.corpora.corpus import Document, LabelledQuestion
from training.span_targets import content_words

LOOKED_AT = 20


def distant_gold(document: Document, question: LabelledQuestion, most: int = 2) -> list[int]:
    """The passages that probably answer the question, the likeliest first; none where nothing tells.

    They hold at least half of the content words of a reference, and are the best by BM25 for question
    and answer together (distant supervision: Chen et al. 2017, section 4.2).
    """
    wanted = [content_words(answer) for answer in question.answers]
    found = []
    for number in document.best(" ".join((question.text, *question.answers)), LOOKED_AT):
        held = content_words(document.texts[number])
        if any(words and 2 * len(words & held) >= len(words) for words in wanted):
            found.append(number)
    return found[:most]


def gold_passages(document: Document, question: LabelledQuestion) -> list[int]:
    """The passages with the answer that the data set marks; where it marks none, see ``distant_gold``."""
    return document.answering(question) if question.exact else distant_gold(document, question)

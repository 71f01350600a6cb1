"""What has happened so far: the most telling sentences of each chapter up to a limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from answering.quotes import SHORTEST_LEAD, Quote, is_whole, quote, story_text
from answering.readable_chapters import chapters_until
from indexing.index import BookIndex
from retrieval.centrality import lexrank, tfidf
from retrieval.diversity import maximal_marginal_relevance, word_similarity
from retrieval.hits import Readable
from text.sentences import sentence_spans
from text.stop_words import STOP_WORDS
from text.words import words

SENTENCES = 2
MOST_SENTENCES = 10
_CANDIDATES = 30  # of a stretch, that those which are unlike each other are chosen from
LONGEST_STRETCH = 30_000  # characters: a longer chapter, or a book without any, is retold in parts
_FEWEST_WORDS, _MOST_WORDS = 6, 60
_SPEECH = re.compile(r"[\"“”«»]|(?:^|\s)['‘]|^[—–-]")
_NAME = re.compile(r"\s[\"“‘(]?[^\W\d_a-z]\w")  # a capital within the sentence
NAMELESS = 0.5  # what a sentence that names nobody is worth


@dataclass(frozen=True, slots=True)
class ChapterRecap:
    """A chapter, or a part of one, in its most telling ``sentences``, in story order.

    ``book.text[start:end]`` is what they were chosen from, and ``chapter`` its title, None where none
    is marked.
    """

    chapter: str | None
    start: int
    end: int
    sentences: tuple[Quote, ...]


def recap(index: BookIndex, before: int | None, sentences: int = SENTENCES) -> list[ChapterRecap]:
    """Each chapter of the text before the character ``before`` in its ``sentences`` most central ones.

    They are central among the sentences of their chapter up to there (``retrieval.centrality``), and unlike
    each other; nothing else is counted. Words that are spoken are none of them: they tell of what happens
    by halves, and a speech has more words in common with itself than with the story. A sentence that names
    nobody is worth ``NAMELESS``.
    """
    limit = Readable(index, before).end
    text = story_text(index, limit)
    found = []
    for title, start, end in _stretches(index, text):
        told = tuple(
            quote(index, first, last, limit, score)
            for first, last, score in sorted(telling_sentences(text[:end], start, sentences))
        )
        if told:
            found.append(ChapterRecap(title, start, end, told))
    return found


def telling_sentences(text: str, start: int, k: int) -> list[tuple[int, int, float]]:
    """The bounds of the ``k`` most telling sentences of ``text[start:]``, and how telling, the best first.

    ``text`` may end in the middle of a sentence, which is then none of them.
    """
    import numpy as np

    spans = [
        (start + first, start + last)
        for first, last in sentence_spans(text[start:])
        if is_whole(text, start + first, start + last)
    ]
    said = [text[first:last] for first, last in spans]
    bags = [[word for word in words(one) if word not in STOP_WORDS] for one in said]
    worth = lexrank(tfidf(bags)) * np.array([_worth(one) for one in said])
    best = [int(i) for i in np.argsort(-worth, kind="stable")[:_CANDIDATES] if worth[i] > 0]
    chosen = maximal_marginal_relevance(
        [float(worth[i]) for i in best], word_similarity([bags[i] for i in best]), k
    )
    return [(*spans[best[i]], len(spans) * float(worth[best[i]])) for i in chosen]


def _worth(sentence: str) -> float:
    """What the rank of a sentence is multiplied by; 0 where it is none to be quoted."""
    if not _FEWEST_WORDS <= len(sentence.split()) <= _MOST_WORDS or _SPEECH.search(sentence):
        return 0.0
    if not sentence.rstrip(")_*’'").endswith((".", "!", "?", "…")) or sentence[0].islower():
        return 0.0  # a heading, or half a sentence
    return 1.0 if _NAME.search(sentence) else NAMELESS


def _stretches(index: BookIndex, text: str) -> Iterator[tuple[str | None, int, int]]:
    """The chapters of ``text``, as far as it goes, with their titles; those that are long in parts."""
    marked = {one.start: one.title for one in chapters_until(index, len(text))}
    starts = sorted(marked)
    if not starts or starts[0] >= SHORTEST_LEAD:
        starts = [0, *starts]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        first = start
        while end - first > LONGEST_STRETCH:
            blank = text.find("\n\n", first + LONGEST_STRETCH, end)
            if blank < 0:
                break
            yield marked.get(start), first, blank
            first = blank + 2
        yield marked.get(start), first, end

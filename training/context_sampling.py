"""What the reading models are shown: a question with passages that answer it, seem to, or do not."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.systems import overlaps
from training.corpora.corpus import ARTICLES, FAIRYTALES, SUMMARIES, Asked, Work
from training.distant_supervision import distant_gold
from training.span_targets import Target, target_spans

MISTAKEN = 8  # passages that BM25 finds best, among which are those it mistakes
UNANSWERABLE_SHARE = 0.08
GIVEN_SHARE = 0.6  # of the questions about fairy tales are shown with their sections alone


@dataclass(frozen=True, slots=True)
class Example:
    """A question, passages in story order, which of them answer it, and the spans that do.

    ``right`` are positions in ``passages``, none where no passage answers; ``targets`` lie in right
    passages and may be none, where the answer is inferred; ``answers`` are the references.
    """

    question: str
    passages: tuple[str, ...]
    right: tuple[int, ...]
    targets: tuple[Target, ...]
    answers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Showing:
    """How many passages an example has: with ``distractors`` False, those that answer alone.

    With ``marginal`` False one span is right, the first of the best; else all that come close.
    """

    distractors: bool = True
    marginal: bool = True


def show(work: Work, one: Asked, showing: Showing, rng: random.Random) -> Example | None:
    """An example of a question, or None where nothing could be learnt from it."""
    if work.kind == FAIRYTALES:
        return _of_tale(work, one, showing, rng)
    if work.kind == SUMMARIES:
        return _example(one, [work.text], [0], showing)
    if work.kind == ARTICLES:
        right = [n for n, place in enumerate(work.passages) if overlaps(place, one.gold)][:1]
        others = _mistaken(work, one, right, rng) if showing.distractors and rng.random() < 0.35 else []
        return _of_passages(work, one, right, others[:1], showing)
    right = distant_gold(work, one)
    others = _mistaken(work, one, right, rng)[:2] if showing.distractors else []
    return _of_passages(work, one, right, others, showing) if right else None


def _of_tale(work: Work, one: Asked, showing: Showing, rng: random.Random) -> Example | None:
    chance = rng.random()
    if not showing.distractors or chance < GIVEN_SHARE:
        texts = [work.text[start:end] for start, end in one.gold]
        return _example(one, texts, list(range(len(texts))), showing)
    right = [n for n, place in enumerate(work.passages) if overlaps(place, one.gold)]
    others = _mistaken(work, one, right, rng)
    if chance > 1 - UNANSWERABLE_SHARE and len(others) > 1:
        return Example(one.question, tuple(work.texts[n] for n in sorted(others[:2])), (), (), one.answers)
    return _of_passages(work, one, right[:3], others[: max(1, 3 - len(right))], showing)


def _of_passages(
    work: Work, one: Asked, right: Sequence[int], others: Sequence[int], showing: Showing
) -> Example | None:
    shown = sorted({*right, *others})
    places = [n for n, number in enumerate(shown) if number in right]
    exact = []
    if one.exact:
        for n in places:
            start, end = work.passages[shown[n]]
            exact += [Target(n, s - start, e - start, 1.0) for s, e in one.gold if start <= s and e <= end]
    return _example(one, [work.texts[number] for number in shown], places, showing, exact)


def _example(
    one: Asked,
    texts: Sequence[str],
    right: Sequence[int],
    showing: Showing,
    exact: Sequence[Target] = (),
) -> Example | None:
    targets = list(exact)
    if not targets:
        found = target_spans([texts[n] for n in right], one.answers)
        targets = [Target(right[t.text], t.start, t.end, t.weight) for t in found]
    if not showing.marginal and targets:
        targets = [max(targets, key=lambda target: target.weight)]
    return Example(one.question, tuple(texts), tuple(right), tuple(targets), one.answers)


def _mistaken(work: Work, one: Asked, right: Sequence[int], rng: random.Random) -> list[int]:
    """Passages that BM25 finds for the question and that do not answer it, in random order."""
    best = np.argsort(-work.sparse.bm25(one.question), kind="stable")[: MISTAKEN + len(right)].tolist()
    others = [number for number in best if number not in right]
    rng.shuffle(others)
    return others


def everything(works: Sequence[Work]) -> Iterator[tuple[Work, Asked]]:
    """All questions of the works, each with its work."""
    for work in works:
        for one in work.asked:
            yield work, one

"""Training of ``babi-svm``: margins against the most violating triple of facts, and against other answers.

Crammer et al. 2006, PA-I: each step moves the weights no farther than the violated margin wants, and by no
more than C of what differs; their average over all steps is kept. A triple's loss is the number of its facts
that are wrong.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from readers.baselines.array_file import SUFFIX
from readers.baselines.babi_svm import NAME, SupportSvm
from readers.baselines.support_search import (
    BUCKETS,
    MOST,
    Asked,
    Triple,
    answer_features,
    asked,
    best_triple,
    features,
    score_of,
    scores,
)
from training.corpora.babi import Example, examples, words_of
from training.objectives.babi_systems import BabiRun

_C = 0.05
_EPOCHS = 1  # one pass comes nearest to the paper's row, of mean 79; ten passes are five points above one


def learn(run: BabiRun) -> Path:
    """Train to the end, and write the model into the folder of ``run``."""
    found = [one for stories in run.stories.values() for one in examples(stories)]
    answers = sorted({one.answers for one in found})
    numbers = {answer: number for number, answer in enumerate(answers)}
    questions = [asked(one.told) for one in found]
    triples = [triple_of(one) for one in found]
    epochs = run.epochs or _EPOCHS
    theta = fit_support(questions, triples, epochs, run.seed)
    rows = [answer_features(one, triple) for one, triple in zip(questions, triples, strict=True)]
    weights = fit_answers(rows, [numbers[one.answers] for one in found], len(answers), epochs, run.seed)
    theta_at, weights_at = np.flatnonzero(theta), np.flatnonzero(weights.any(1))
    model = SupportSvm(
        words_of(found),
        answers,
        theta_at.astype(np.int32),
        theta[theta_at],
        weights_at.astype(np.int32),
        weights[weights_at],
        run.trained_on,
    )
    return model.as_file().save(run.out / f"{NAME}{SUFFIX}")


def triple_of(one: Example) -> Triple:
    """The first three facts of the support, as they are found, the empty fact in place of those missing."""
    empty = len(one.told.facts)
    first, second, third = (*one.support[:MOST], *[empty] * MOST)[:MOST]
    return first, second, third


def fit_support(
    questions: Sequence[Asked], wanted: Sequence[Triple], epochs: int, seed: int
) -> NDArray[np.float32]:
    """θ, (buckets,), by loss-augmented search."""
    theta, drift = np.zeros(BUCKETS, dtype=np.float32), np.zeros(BUCKETS)
    steps = 0
    for steps, number in enumerate(_order(len(questions), epochs, seed)):
        one, right = questions[number], wanted[number]
        found = scores(theta, one)
        rival = best_triple(one, found, right)
        loss = sum(i != j for i, j in zip(rival, right, strict=True))
        violation = loss + score_of(found, rival) - score_of(found, right)
        if rival == right or violation <= 0:
            continue
        plus, minus = features(one, right), features(one, rival)
        at, place = np.unique(np.concatenate([plus, minus]), return_inverse=True)
        signs = np.repeat([1.0, -1.0], [len(plus), len(minus)])
        change = np.bincount(place, signs).astype(np.float64)
        change *= min(_C, violation / max(float(change @ change), 1.0))
        theta[at] += change
        drift[at] += steps * change
    return (theta - drift / (steps + 1)).astype(np.float32)


def fit_answers(
    rows: Sequence[NDArray[np.int32]], wanted: Sequence[int], answers: int, epochs: int, seed: int
) -> NDArray[np.float32]:
    """The weights (buckets, answers) of features that are ``rows`` of buckets, none twice in one row."""
    weights = np.zeros((BUCKETS, answers), dtype=np.float32)
    drift = np.zeros((BUCKETS, answers))
    steps = 0
    for steps, number in enumerate(_order(len(rows), epochs, seed)):
        row, right = rows[number], wanted[number]
        margins = weights[row].sum(0) + 1
        margins[right] -= 1
        rival = int(margins.argmax())
        violation = float(margins[rival] - margins[right])
        if rival == right or violation <= 0:
            continue
        change = min(_C, violation / (2 * len(row)))
        for answer, step in ((right, change), (rival, -change)):
            weights[row, answer] += step
            drift[row, answer] += steps * step
    return (weights - drift / (steps + 1)).astype(np.float32)


def _order(count: int, epochs: int, seed: int) -> Iterator[int]:
    rng = random.Random(seed)
    numbers = list(range(count))
    for _ in range(epochs):
        rng.shuffle(numbers)
        yield from numbers

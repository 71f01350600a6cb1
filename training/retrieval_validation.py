"""How well the retriever's encoder finds what answers the held-out questions: what it is chosen by."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaluation.systems import overlaps
from retrieval.hybrid import z_scores
from training.contrastive_batches import windows_of
from training.corpora.corpus import Work, sparse_index

WEIGHTS = (1.0, 0.5, 0.3)  # of the dense scores
Encode = Callable[[Sequence[str]], NDArray[Any]]


def retrieval_scores(
    works: Sequence[Work], encode: Encode, weights: Sequence[float] = WEIGHTS
) -> dict[str, float]:
    """Recall at 1 and 5 and MRR of z-scored sums of BM25 and dense scores, by the weight of the latter.

    ``encode`` takes texts to unit vectors (texts, width). The works are searched as one book.
    """
    texts = [text for work in works for text in work.texts]
    places = [(work.name, place) for work in works for place in work.passages]
    windows = [window for work in works for window in windows_of(work)]
    # A passage begins wherever a window is the first of its passage.
    begins = [i for i, window in enumerate(windows) if window.first]
    vectors = encode([window.text for window in windows])
    sparse = sparse_index(texts)
    asked = [(work.name, one) for work in works for one in work.asked]
    similarity = encode([one.question for _, one in asked]) @ vectors.T
    dense = np.maximum.reduceat(similarity, begins, axis=1)
    scores: dict[str, float] = {}
    for weight in weights:
        ranks = []
        for (name, one), row in zip(asked, dense, strict=True):
            fused = (1 - weight) * z_scores(sparse.bm25(one.question)) + weight * z_scores(row)
            order = np.argsort(-fused, kind="stable").tolist()
            gold = {i for i in order if places[i][0] == name and overlaps(places[i][1], one.gold)}
            ranks.append(next((rank for rank, i in enumerate(order, 1) if i in gold), 0))
        found = np.array(ranks, dtype=float)
        label = f"dense_{weight:.1f}"
        scores[f"{label}_recall_at_1"] = float((found == 1).mean())
        scores[f"{label}_recall_at_5"] = float(((found >= 1) & (found <= 5)).mean())
        scores[f"{label}_mrr"] = float(np.where(found > 0, 1 / np.maximum(found, 1), 0).mean())
    return scores

"""How good the reading models are on the held-out questions: what models are chosen by."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from encoders.cross_encoder import CrossEncoder
from evaluation.metrics.overlap import rouge_l
from evaluation.systems import overlaps
from readers.default.generate import GenerateReader
from readers.default.span import SpanReader
from readers.reading import Reading
from training.context_sampling import everything
from training.corpora.corpus import FAIRYTALES, SUMMARIES, Asked, Work

if TYPE_CHECKING:
    from readers.default.pointer_generator import PointerDecoder

SECTIONS, WHOLE, RANKED = 240, 120, 60  # questions of each kind that are asked
CANDIDATES = 8  # passages that BM25 finds, to be put in order


def reading_scores(
    encoder: CrossEncoder, decoder: PointerDecoder | None, held_out: Sequence[Work]
) -> dict[str, float]:
    """ROUGE-L of spans and of generated answers, and how often the right passage is ranked first.

    On a fixed sample of the held-out questions: FairytaleQA's with their sections, NarrativeQA's with
    their summaries; ``relevance`` orders the passages that BM25 finds in the question's story.
    """
    span = SpanReader(encoder)
    readers: dict[str, SpanReader | GenerateReader] = {"span": span}
    if decoder is not None:
        readers["generate"] = GenerateReader(encoder, decoder)
    found: dict[str, float] = {}
    tales = _sample(held_out, FAIRYTALES, SECTIONS)
    summaries = _sample(held_out, SUMMARIES, WHOLE)
    shown: dict[str, list[tuple[Asked, tuple[str, ...]]]] = {
        "sections": [(o, tuple(w.text[s:e] for s, e in o.gold)) for w, o in tales],
        "summaries": [(o, (w.text,)) for w, o in summaries],
    }
    for where, questions in shown.items():
        readings = [Reading(one.question, passages) for one, passages in questions]
        for name, reader in readers.items() if readings else ():
            answers = reader.read(readings)
            scores = [
                rouge_l(best[0].text, one.answers) if best else 0.0
                for best, (one, _) in zip(answers, questions, strict=True)
            ]
            found[f"{name}_{where}"] = sum(scores) / len(scores)
    ranked = tales[:RANKED]
    if ranked:
        found["relevance"] = sum(_first_is_right(encoder, *pair) for pair in ranked) / len(ranked)
    return found


def _sample(works: Sequence[Work], kind: str, most: int) -> list[tuple[Work, Asked]]:
    every = list(everything([work for work in works if work.kind == kind]))
    return random.Random(0).sample(every, min(most, len(every)))


def _first_is_right(encoder: CrossEncoder, work: Work, one: Asked) -> bool:
    best = np.argsort(-work.sparse.bm25(one.question), kind="stable")[:CANDIDATES].tolist()
    [encoded] = encoder.encode([(one.question, [work.texts[number] for number in best])])
    first = best[int(np.argmax([passage.relevance for passage in encoded]))]
    return overlaps(work.passages[first], one.gold)

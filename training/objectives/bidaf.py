"""BiDAF: the span that is marked, or the oracle's, of best ROUGE-L with a reference."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
import typer

from readers.neural.bidaf import Bidaf, BidafReader, encode_batch, span_loss
from readers.neural.example import encode_example
from readers.neural.vocabulary import Vocabulary
from text.closest_spans import best_spans
from text.spans import TokenText
from text.tokens import tokens
from training.context_sampling import NeuralExample
from training.export import Trained
from training.invocation import Invocation
from training.objectives.from_scratch import (
    Around,
    Articles,
    Chunks,
    NeuralSettings,
    Sample,
    VocabularySize,
    train_from_scratch,
)
from training.span_targets import Target


@dataclass(frozen=True, slots=True)
class BidafSettings(NeuralSettings):
    """See ``NeuralSettings``."""

    words: VocabularySize = 10_000
    width: Annotated[int, typer.Option(min=1, help="Of the word vectors and LSTMs.")] = 64
    articles: Articles = 10_000
    chunks: Chunks = 0
    around: Around = 0


class BidafObjective:
    """-log p1(first) - log p2(last) of one span, Kočiský et al. 2018, section 4.2."""

    reader = BidafReader

    def sample(self, example: NeuralExample, vocabulary: Vocabulary, rng: random.Random) -> Sample | None:
        """See ``NeuralObjective.sample``."""
        text = TokenText(example.passages)
        span = _marked(text, example.marked) if example.marked else _oracle(text, example)
        if span is None:
            return None
        encoded = encode_example(example.question, text, rng)
        first, last = (int(encoded.position_of[token]) for token in span)
        return Sample(encoded, (first, last), len(encoded.context))

    def loss(
        self, model: Bidaf, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """See ``NeuralObjective.loss``."""
        log_p1, log_p2 = model(encode_batch([sample.example for sample in samples], vocabulary, device))
        first, last = torch.tensor([sample.target for sample in samples], device=device).unbind(1)
        return span_loss(log_p1, log_p2, first, last)


def _marked(text: TokenText, target: Target) -> tuple[int, int] | None:
    """The first and last token that the target touches."""
    low, high = text.first[target.text : target.text + 2].tolist()
    touched = (text.ends[low:high] > target.start) & (text.starts[low:high] < target.end)
    found = np.flatnonzero(touched)
    return (low + int(found[0]), low + int(found[-1])) if len(found) else None


def _oracle(text: TokenText, example: NeuralExample) -> tuple[int, int] | None:
    """The first and last token of the earliest of the best spans, in passages that are known to answer."""
    found = [best_spans(text, [t.key for t in tokens(answer)], example.right) for answer in example.answers]
    best = max(found, key=lambda one: one.rouge_l)  # the first reference wins a tie
    return (int(best.begin[0]), int(best.end[0]) - 1) if len(best.begin) else None


def train(run: Invocation, settings: BidafSettings) -> Trained:
    """See ``storyqa train bidaf``."""
    return train_from_scratch(BidafObjective(), run, settings)

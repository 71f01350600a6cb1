"""AS Reader: a reference's words, those in the context, and the end."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from readers.neural.attention_sum import AttentionSumReader, Pointed, encoded
from readers.neural.attention_sum_net import AttentionSum, probabilities
from readers.neural.example import keys_of, see
from readers.neural.layers import inside, padded
from readers.neural.vocabulary import Vocabulary
from text.spans import TokenText
from training.context_sampling import NeuralExample
from training.export import Trained
from training.invocation import Invocation
from training.objectives.from_scratch import (
    LONGEST,
    Around,
    Articles,
    Chunks,
    Hidden,
    NeuralSettings,
    Sample,
    train_from_scratch,
)


@dataclass(frozen=True, slots=True)
class AttentionSumSettings(NeuralSettings):
    """See ``NeuralSettings``."""

    articles: Articles = 10_000
    chunks: Chunks = 0
    around: Around = 0
    hidden: Hidden = 64

    SIZES: ClassVar[Mapping[str, str]] = {"width": "d", "hidden": "hidden"}


class AttentionSumObjective:
    """-log P(y_t), mean over words, Kočiský et al. 2018, section 4.2."""

    reader = AttentionSumReader

    def sample(self, example: NeuralExample, vocabulary: Vocabulary, rng: random.Random) -> Sample | None:
        """See ``NeuralObjective.sample``."""
        read = see(example.question, TokenText(example.passages), rng)
        pointed = Pointed(read, vocabulary)
        keys = keys_of(rng.choice(example.answers), read.entities)
        held = [key for key in keys if key in pointed.keys][:LONGEST]
        if not held:
            return None
        return Sample(pointed, tuple(pointed.of(held)), len(read.context))

    def loss(
        self, model: AttentionSum, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """See ``NeuralObjective.loss``."""
        document = encoded(model, [sample.example for sample in samples], device)
        targets, lengths = padded([sample.target for sample in samples], device)
        words, _ = padded([[one.example.words[n] for n in one.target] for one in samples], device)
        s = model.trace(targets, words, document)
        real = inside(lengths, targets.shape[1])
        log_p = probabilities(s, targets, document).clamp_min(1e-12).log()
        loss: torch.Tensor = -(log_p * real).sum() / real.sum()
        return loss


def train(run: Invocation, settings: AttentionSumSettings) -> Trained:
    """See ``storyqa train attention-sum``."""
    return train_from_scratch(AttentionSumObjective(), run, settings)

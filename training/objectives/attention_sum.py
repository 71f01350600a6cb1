"""AS Reader: a reference's words, those in the context, and the end."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from readers.neural.attention_sum import (
    AttentionSum,
    AttentionSumReader,
    TypedContext,
    encode_documents,
    target_probabilities,
)
from readers.neural.example import encode_answer, encode_example
from readers.neural.layers import pad_sequences, sequence_mask
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
        read = encode_example(example.question, TokenText(example.passages), rng)
        pointed = TypedContext(read, vocabulary)
        keys = encode_answer(rng.choice(example.answers), read.entities)
        held = [key for key in keys if key in pointed.type_of][:LONGEST]
        if not held:
            return None
        return Sample(pointed, tuple(pointed.targets(held)), len(read.context))

    def loss(
        self, model: AttentionSum, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """See ``NeuralObjective.loss``."""
        document = encode_documents(model, [sample.example for sample in samples], device)
        targets, lengths = pad_sequences([sample.target for sample in samples], device)
        words, _ = pad_sequences([[one.example.words[n] for n in one.target] for one in samples], device)
        s = model.attention(targets, words, document)
        real = sequence_mask(lengths, targets.shape[1])
        log_p = target_probabilities(s, targets, document).clamp_min(1e-12).log()
        loss: torch.Tensor = -(log_p * real).sum() / real.sum()
        return loss


def train(run: Invocation, settings: AttentionSumSettings) -> Trained:
    """See ``storyqa train attention-sum``."""
    return train_from_scratch(AttentionSumObjective(), run, settings)

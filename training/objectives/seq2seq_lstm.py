"""Seq2Seq: a reference's words and the end, from the question alone."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from readers.neural.example import encode_answer, encode_example
from readers.neural.layers import pad_sequences, sequence_mask
from readers.neural.seq2seq_lstm import Seq2SeqLstm, Seq2SeqLstmReader, shift_right
from readers.neural.vocabulary import END, Vocabulary
from text.spans import TokenText
from training.context_sampling import NeuralExample
from training.export import Trained
from training.invocation import Invocation
from training.objectives.from_scratch import (
    LONGEST,
    Epochs,
    Hidden,
    NeuralSettings,
    Sample,
    VocabularySize,
    train_from_scratch,
)


@dataclass(frozen=True, slots=True)
class Seq2SeqLstmSettings(NeuralSettings):
    """See ``NeuralSettings``."""

    epochs: Epochs = 8
    words: VocabularySize = 4_000
    rate: float = 2e-3
    # Questions alone are short: as many tokens as the others' batches have would be hundreds of them.
    batch: int = 1_000
    hidden: Hidden = 64

    SIZES: ClassVar[Mapping[str, str]] = {"width": "d", "hidden": "hidden"}


class Seq2SeqLstmObjective:
    """-log p(y_t), mean over words, Kočiský et al. 2018, section 4.2."""

    reader = Seq2SeqLstmReader

    def sample(self, example: NeuralExample, vocabulary: Vocabulary, rng: random.Random) -> Sample | None:
        """See ``NeuralObjective.sample``."""
        read = encode_example(example.question, TokenText(example.passages), rng)
        keys = encode_answer(rng.choice(example.answers), read.entities)[:LONGEST]
        question = tuple(vocabulary.ids(read.question))
        return Sample(question, (*vocabulary.ids(keys), END), len(question) + len(keys))

    def loss(
        self, model: Seq2SeqLstm, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """See ``NeuralObjective.loss``."""
        targets, lengths = pad_sequences([sample.target for sample in samples], device)
        questions = pad_sequences([sample.example for sample in samples], device)
        log_p, _ = model(shift_right(targets), model.encode(*questions))
        chosen = log_p.gather(2, targets[:, :, None])[:, :, 0]
        real = sequence_mask(lengths, targets.shape[1])
        loss: torch.Tensor = -(chosen * real).sum() / real.sum()
        return loss


def train(run: Invocation, settings: Seq2SeqLstmSettings) -> Trained:
    """See ``storyqa train seq2seq-lstm``."""
    return train_from_scratch(Seq2SeqLstmObjective(), run, settings)

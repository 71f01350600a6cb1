"""What each of the NarrativeQA paper's three models learns from an example, and its loss."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch

from readers.neural.attention_sum import (
    AttentionSum,
    AttentionSumReader,
    TypedContext,
    encode_documents,
    target_probabilities,
)
from readers.neural.bidaf import Bidaf, BidafReader, encode_batch, span_loss
from readers.neural.example import encode_answer, encode_example
from readers.neural.layers import pad_sequences, sequence_mask
from readers.neural.reader import NeuralReader
from readers.neural.seq2seq_lstm import Seq2SeqLstm, Seq2SeqLstmReader, shift_right
from readers.neural.vocabulary import END, Vocabulary
from text.closest_spans import best_spans
from text.spans import TokenText
from text.tokens import tokens
from training.span_targets import Target

LONGEST = 30  # words of an answer that are learnt


@dataclass(frozen=True, slots=True)
class Shown:
    """A question, its passages, which of them answer it, its references, and its span where it is marked."""

    question: str
    passages: tuple[str, ...]
    right: tuple[int, ...]
    answers: tuple[str, ...]
    marked: Target | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """An example, what is learnt from it, where a span begins and ends or an answer's words, and its size."""

    example: Any
    target: tuple[int, ...]
    size: int


class Lesson(Protocol):
    """One model's way to learn."""

    @property
    def reader(self) -> type[NeuralReader]:
        """The reader that the model is for."""
        ...

    def sample(self, shown: Shown, vocabulary: Vocabulary, rng: random.Random) -> Sample | None:
        """What is learnt from what is shown, markers drawn anew by ``rng``; None where nothing can be."""
        ...

    def loss(
        self, model: Any, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """The mean loss of a batch, a scalar."""
        ...


class SpanLesson:
    """BiDAF: the span that is marked, or the oracle's: of best ROUGE-L with a reference (section 4.2)."""

    reader = BidafReader

    def sample(self, shown: Shown, vocabulary: Vocabulary, rng: random.Random) -> Sample | None:
        """See ``Lesson.sample``."""
        text = TokenText(shown.passages)
        span = _marked(text, shown.marked) if shown.marked else _oracle(text, shown)
        if span is None:
            return None
        example = encode_example(shown.question, text, rng)
        first, last = (int(example.position_of[token]) for token in span)
        return Sample(example, (first, last), len(example.context))

    def loss(
        self, model: Bidaf, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """See ``Lesson.loss``."""
        log_p1, log_p2 = model(encode_batch([one.example for one in samples], vocabulary, device))
        first, last = torch.tensor([one.target for one in samples], device=device).unbind(1)
        return span_loss(log_p1, log_p2, first, last)


def _marked(text: TokenText, target: Target) -> tuple[int, int] | None:
    """The first and last token that the target touches."""
    low, high = text.first[target.text : target.text + 2].tolist()
    touched = (text.ends[low:high] > target.start) & (text.starts[low:high] < target.end)
    found = np.flatnonzero(touched)
    return (low + int(found[0]), low + int(found[-1])) if len(found) else None


def _oracle(text: TokenText, shown: Shown) -> tuple[int, int] | None:
    """The first and last token of the earliest of the best spans, in passages that are known to answer."""
    found = [best_spans(text, [t.key for t in tokens(answer)], shown.right) for answer in shown.answers]
    best = max(found, key=lambda one: one.rouge_l)  # the first reference wins a tie
    return (int(best.begin[0]), int(best.end[0]) - 1) if len(best.begin) else None


class PointingLesson:
    """AS Reader: a reference's words, those in the context, and the end; -log P(y_t), mean over words."""

    reader = AttentionSumReader

    def sample(self, shown: Shown, vocabulary: Vocabulary, rng: random.Random) -> Sample | None:
        """See ``Lesson.sample``."""
        example = encode_example(shown.question, TokenText(shown.passages), rng)
        pointed = TypedContext(example, vocabulary)
        keys = encode_answer(rng.choice(shown.answers), example.entities)
        held = [key for key in keys if key in pointed.type_of][:LONGEST]
        if not held:
            return None
        return Sample(pointed, tuple(pointed.targets(held)), len(example.context))

    def loss(
        self, model: AttentionSum, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """See ``Lesson.loss``."""
        document = encode_documents(model, [one.example for one in samples], device)
        targets, lengths = pad_sequences([one.target for one in samples], device)
        words, _ = pad_sequences([[one.example.words[n] for n in one.target] for one in samples], device)
        s = model.attention(targets, words, document)
        real = sequence_mask(lengths, targets.shape[1])
        log_p = target_probabilities(s, targets, document).clamp_min(1e-12).log()
        loss: torch.Tensor = -(log_p * real).sum() / real.sum()
        return loss


class WritingLesson:
    """Seq2Seq: a reference's words and the end; -log p(y_t), mean over words."""

    reader = Seq2SeqLstmReader

    def sample(self, shown: Shown, vocabulary: Vocabulary, rng: random.Random) -> Sample | None:
        """See ``Lesson.sample``."""
        example = encode_example(shown.question, TokenText(shown.passages), rng)
        keys = encode_answer(rng.choice(shown.answers), example.entities)[:LONGEST]
        question = tuple(vocabulary.ids(example.question))
        return Sample(question, (*vocabulary.ids(keys), END), len(question) + len(keys))

    def loss(
        self, model: Seq2SeqLstm, vocabulary: Vocabulary, samples: Sequence[Sample], device: torch.device
    ) -> torch.Tensor:
        """See ``Lesson.loss``."""
        targets, lengths = pad_sequences([one.target for one in samples], device)
        log_p, _ = model(
            shift_right(targets), model.encode(*pad_sequences([one.example for one in samples], device))
        )
        chosen = log_p.gather(2, targets[:, :, None])[:, :, 0]
        real = sequence_mask(lengths, targets.shape[1])
        loss: torch.Tensor = -(chosen * real).sum() / real.sum()
        return loss


LESSONS: dict[str, Lesson] = {
    "seq2seq-lstm": WritingLesson(),
    "attention-sum": PointingLesson(),
    "bidaf": SpanLesson(),
}

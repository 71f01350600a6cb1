"""What the readers of WikiReading have in common that choose among the values they have seen.

P(i | document, property) is proportional to exp(y . a_i + b_i), Hewlett et al. 2016, section 3.1.2, (1). Each
reader is a way to make y, a vector of the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch.nn import Module

from readers.neural.checkpoint import Checkpoint
from readers.neural.document_reader import DocumentBatch
from readers.neural.layers import pad_sequences
from readers.neural.property_example import PropertyExample
from readers.neural.property_reader import PropertyReader
from readers.neural.vocabulary import UNKNOWN, Vocabulary
from readers.reading import Answer, Span

VALUES = "values"  # of a checkpoint's sizes: so many of its last words are values


class ValueClassifierReader(PropertyReader):
    """Gives the likeliest values; one that the document has is quoted where it first stands."""

    model: ClassVar[Any]

    def __init__(self, weights: Checkpoint) -> None:
        super().__init__(weights)
        self._vocabulary, self._values = part_values(weights.vocabulary, weights.sizes[VALUES])

    @classmethod
    def net(cls, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``PropertyReader.net``; ``words`` are those of the checkpoint, values among them."""
        net: Module = cls.model(words - sizes[VALUES], **sizes)
        return net

    def _answer(self, examples: Sequence[PropertyExample], n_best: int) -> list[list[Answer]]:
        logits: torch.Tensor = self._net(value_batch(examples, self._vocabulary, self._device))
        p, best = logits.float().softmax(1).topk(min(n_best, logits.shape[1]))
        return [
            [_answer(example, self._values[i], x) for x, i in zip(*row, strict=True)]
            for example, row in zip(examples, zip(p.tolist(), best.tolist(), strict=True), strict=True)
        ]


def _answer(example: PropertyExample, value: str, p: float) -> Answer:
    start = example.document.find(value)
    span = Span(0, start, start + len(value)) if start >= 0 else None
    return Answer(value, p, p, span)


def part_values(vocabulary: Vocabulary, values: int) -> tuple[Vocabulary, tuple[str, ...]]:
    """The words that a network knows, and the values, which a checkpoint keeps behind them."""
    words = vocabulary.words
    return Vocabulary(words[: len(words) - values]), words[len(words) - values :]


def value_batch(
    examples: Sequence[PropertyExample], vocabulary: Vocabulary, device: torch.device
) -> DocumentBatch:
    """Documents and properties by ids; a property of no word is one unknown word."""
    document = pad_sequences([vocabulary.ids(one.words) for one in examples], device)
    query = pad_sequences([vocabulary.ids(one.property) or [UNKNOWN] for one in examples], device)
    return DocumentBatch(*document, *query)

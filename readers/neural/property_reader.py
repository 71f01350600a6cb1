"""What the readers of WikiReading have in common: each passage is a document, the question a property of it.

Hewlett et al. 2016, "WikiReading". Where there are several passages, the best answers of all of them count.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import torch

from encoders.batches import batches
from encoders.device import pick_device
from encoders.errors import ModelError
from readers.neural import checkpoint
from readers.neural.checkpoint import Checkpoint
from readers.neural.property_example import PropertyExample, encode_property
from readers.reading import Answer, Reader, Reading, Span, merged, overlap

BATCH_WORDS = 16_384  # of the documents read together, padding included


class PropertyReader(Reader):
    """Says what value a property has; ``name`` is the reader's, ``shipped`` where weights come with it."""

    name: ClassVar[str]
    shipped: ClassVar[bool] = False

    def __init__(self, weights: Checkpoint) -> None:
        self._device = pick_device()
        self.trained_on, self.version = weights.trained_on, weights.version
        self._vocabulary = weights.vocabulary
        net = type(self).net(len(weights.vocabulary), weights.sizes)
        weights.load_into(net)
        self._net: Any = net.to(self._device).eval()

    @classmethod
    @abstractmethod
    def net(cls, words: int, sizes: Mapping[str, int]) -> torch.nn.Module:
        """The network that knows so many words."""

    @classmethod
    def load(cls, argument: str | None = None) -> Self:
        """The shipped model, or that of a folder where ``storyqa train`` left it; raises ModelError."""
        if argument is None and not cls.shipped:
            raise ModelError(
                f"the reader {cls.name!r} needs a folder: write {cls.name}:DIR, or train it: "
                f"storyqa train {cls.name} --data DATA --out DIR"
            )
        return cls(checkpoint.load(cls.name, argument))

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        found: list[list[Answer]] = [[] for _ in readings]
        asked = [
            (number, passage, encode_property(reading.question, text))
            for number, reading in enumerate(readings)
            for passage, text in enumerate(reading.passages)
        ]
        asked = [one for one in asked if one[2].words]
        for batch in batches([len(example.words) for _, _, example in asked], BATCH_WORDS):
            members = [asked[i] for i in batch]
            with torch.inference_mode():
                answers = self._answer([example for _, _, example in members], n_best)
            for (number, passage, _), of_one in zip(members, answers, strict=True):
                found[number] += (_moved(answer, passage) for answer in of_one)
        ranked = (sorted(of_one, key=lambda one: -one.score) for of_one in found)
        return [merged(apart(of_one), n_best) for of_one in ranked]

    @abstractmethod
    def _answer(self, examples: Sequence[PropertyExample], n_best: int) -> list[list[Answer]]:
        """The answers to each example, best first, with places in passage 0."""


def apart(answers: Iterable[Answer]) -> Iterator[Answer]:
    """The answers; one whose place an earlier one has a part of rests on it, and is not quoted there."""
    taken: list[Span] = []
    for answer in answers:
        if answer.span is not None and any(overlap(answer.span, place) for place in taken):
            yield replace(answer, span=None, support=answer.span)
            continue
        taken += [answer.span] if answer.span is not None else []
        yield answer


def _moved(answer: Answer, passage: int) -> Answer:
    """The answer with its places in another passage."""
    span, support = (
        None if place is None else Span(passage, place.start, place.end)
        for place in (answer.span, answer.support)
    )
    return replace(answer, span=span, support=support)

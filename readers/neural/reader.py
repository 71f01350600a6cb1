"""What all neural readers have in common: weights to answer and to rank with, encoding and batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Self

import torch

from encoders.batches import batches
from encoders.device import pick_device
from readers.neural import checkpoint
from readers.neural.checkpoint import RANKING_SUFFIX, SUFFIX, Checkpoint
from readers.neural.example import Example, encode_reading
from readers.neural.vocabulary import Vocabulary
from readers.reading import Answer, Ranker, Reading
from text.spans import TokenText

BATCH_POSITIONS = 8_192  # of the contexts read together, padding included


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model in memory, in evaluation mode, with its vocabulary and where it runs."""

    net: Any
    vocabulary: Vocabulary
    device: torch.device


class NeuralReader(Ranker):
    """A model that learns everything from its training data, with no backbone.

    A subclass names itself and its ``model``, which is made of the number of words and the checkpoint's
    ``sizes``. ``trained_on`` says on what, ``version`` tells its weights apart. Weights are chosen twice,
    as Kočiský et al. did: those in ``ranking`` rank, where others do it better than those that answer.
    """

    name: ClassVar[str]
    model: ClassVar[Callable[..., torch.nn.Module]]

    def __init__(self, answering: Checkpoint, ranking: Checkpoint | None = None) -> None:
        self._device = pick_device()
        self.trained_on, self.version = answering.trained_on, answering.version
        self._answer_model = self._load_model(answering)
        self._rank_model = self._answer_model if ranking is None else self._load_model(ranking)
        # The same passages are read for an answer, for a ranking, and for the next question.
        self._text = lru_cache(maxsize=64)(TokenText)

    @classmethod
    def load(cls, argument: str | None) -> Self:
        """The shipped model, or that of a folder where ``storyqa train`` left it; raises ModelError."""
        answering = checkpoint.load(cls.name, argument)
        if argument is None or not (Path(argument) / f"{cls.name}{RANKING_SUFFIX}{SUFFIX}").is_file():
            return cls(answering)
        return cls(answering, checkpoint.load(cls.name + RANKING_SUFFIX, argument))

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        answers: list[list[Answer]] = [[] for _ in readings]
        for members, examples in self._batches(readings):
            found = self._answer([readings[i] for i in members], examples, n_best)
            for i, best in zip(members, found, strict=True):
                answers[i] = best
        return answers

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``; 0 for each where there is nothing to read."""
        example = self._encode(reading)
        if not len(example.text.ids) or not candidates:
            return [0.0] * len(candidates)
        return self._rank(example, candidates)

    @abstractmethod
    def _answer(
        self, readings: Sequence[Reading], examples: Sequence[Example], n_best: int
    ) -> list[list[Answer]]:
        """The answers to a batch of readings, none of them empty."""

    @abstractmethod
    def _rank(self, example: Example, candidates: Sequence[str]) -> list[float]:
        """One score per candidate, larger is better."""

    def _load_model(self, weights: Checkpoint) -> LoadedModel:
        net = type(self).model(len(weights.vocabulary), **weights.sizes)
        weights.load_into(net)
        return LoadedModel(net.to(self._device).eval(), weights.vocabulary, self._device)

    def _encode(self, reading: Reading) -> Example:
        return encode_reading(reading, self._text(reading.passages))

    def _batches(self, readings: Sequence[Reading]) -> Iterator[tuple[list[int], list[Example]]]:
        """The readings that have anything to read, by their numbers, and their examples."""
        examples = [self._encode(reading) for reading in readings]
        asked = [i for i, example in enumerate(examples) if len(example.text.ids)]
        for batch in batches([len(examples[i].context) for i in asked], BATCH_POSITIONS):
            members = [asked[n] for n in batch]
            yield members, [examples[i] for i in members]

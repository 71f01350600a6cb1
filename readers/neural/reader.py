"""What the paper's three neural readers have in common: weights to answer and to rank with, and batches."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from encoders.batches import batches
from encoders.device import pick_device
from readers.neural import checkpoint as stored
from readers.neural.checkpoint import Weights
from readers.neural.example import Example, see_reading
from readers.neural.vocabulary import Vocabulary
from readers.reading import Answer, Ranker, Reading
from text.spans import TokenText

if TYPE_CHECKING:
    import torch

POSITIONS = 8_192  # of the contexts read together, padding included
RANKING = "-mrr"  # what the file of the weights that rank is called besides


@dataclass(frozen=True, slots=True)
class Known:
    """A model in memory, ready to be asked, the words that it knows, and where it runs."""

    model: Any
    vocabulary: Vocabulary
    device: torch.device


class NeuralReader(Ranker):
    """A model of the paper. ``trained_on`` says on what, ``version`` tells its weights apart.

    Weights are chosen twice, as the paper did: ``ranking`` are those that rank, where others do it
    better than those that answer.
    """

    name: ClassVar[str]
    model: ClassVar[Callable[..., Any]]

    def __init__(self, weights: Weights, ranking: Weights | None = None) -> None:
        self._device = pick_device()
        self.trained_on, self.version = weights.trained_on, weights.version
        self._answering = self._made(weights)
        self._ranking = self._answering if ranking is None else self._made(ranking)
        # The same passages are read for an answer, for a ranking, and for the next question.
        self._text = lru_cache(maxsize=64)(TokenText)

    @classmethod
    def load(cls, argument: str | None) -> Self:
        """The shipped model, or that of a folder where ``storyqa train`` left it; raises ModelError."""
        weights = stored.load(cls.name, argument)
        if argument is None or not (Path(argument) / f"{cls.name}{RANKING}{stored.SUFFIX}").is_file():
            return cls(weights)
        return cls(weights, stored.load(cls.name + RANKING, argument))

    @abstractmethod
    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``."""

    @abstractmethod
    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``."""

    def _made(self, weights: Weights) -> Known:
        model = type(self).model(len(weights.vocabulary), **weights.sizes)
        weights.into(model)
        return Known(model.to(self._device).eval(), weights.vocabulary, self._device)

    def _see(self, reading: Reading) -> Example:
        return see_reading(reading, self._text(reading.passages))

    def _batches(self, readings: Sequence[Reading]) -> Iterator[tuple[list[int], list[Example]]]:
        """The readings that have anything to read, by their numbers, and their examples."""
        examples = [self._see(reading) for reading in readings]
        asked = [i for i, example in enumerate(examples) if len(example.text.ids)]
        for batch in batches([len(examples[i].context) for i in asked], POSITIONS):
            members = [asked[n] for n in batch]
            yield members, [examples[i] for i in members]

"""The reader ``babi-ngram``: a linear classifier over n-grams of facts that share a word with the question.

Weston et al. 2015, section 5: it knows neither which facts support an answer nor in which order they were
told. An answer of several words is one class.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from encoders.errors import ModelError
from readers.baselines.array_file import ArrayFile, load
from readers.facts import FactReader, Inferred, Told

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "babi-ngram"
LONGEST = 3  # words of an n-gram


def ngrams(told: Told) -> Iterator[str]:
    """The 1- to 3-grams of each fact that has a word of the question, words joined by spaces."""
    asked = set(told.question)
    for fact in told.facts:
        if asked.isdisjoint(fact.words):
            continue
        for n in range(1, LONGEST + 1):
            for start in range(len(fact.words) - n + 1):
                yield " ".join(fact.words[start : start + n])


@dataclass(frozen=True)
class NgramClassifier:
    """An answer's margin is its bias and, each time that an n-gram stands there, the n-gram's weight for it.

    ``weights`` have the shape (grams, answers), ``bias`` (answers,); ``known`` are all words of training.
    """

    known: Sequence[str]
    grams: Sequence[str]
    answers: Sequence[tuple[str, ...]]
    weights: NDArray[np.float32]
    bias: NDArray[np.float32]
    trained_on: str
    version: str | None = None

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """The number of each n-gram."""
        return {gram: number for number, gram in enumerate(self.grams)}

    def margins(self, told: Told) -> NDArray[np.float32]:
        """How far each answer is on the right side, (answers,)."""
        found = [self.numbers[gram] for gram in ngrams(told) if gram in self.numbers]
        margins: NDArray[np.float32] = self.weights[found].sum(0) + self.bias
        return margins

    def as_file(self) -> ArrayFile:
        """What ``storyqa train babi`` writes."""
        settings = {"known": list(self.known), "answers": list(self.answers)}
        arrays = {"weights": self.weights, "bias": self.bias}
        return ArrayFile(arrays, self.grams, self.trained_on, settings)

    @classmethod
    def from_file(cls, file: ArrayFile) -> Self:
        """The classifier that was written; raises ``ModelError`` for a file of something else."""
        try:
            answers = [tuple(answer) for answer in file.settings["answers"]]
            weights, bias = file.arrays["weights"], file.arrays["bias"]
            if weights.shape != (len(file.words), len(answers)) or bias.shape != (len(answers),):
                raise ValueError(f"weights of shape {weights.shape}")
            return cls(
                file.settings["known"], file.words, answers, weights, bias, file.trained_on, file.version
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"no n-grams in the file ({error!r}); train {NAME} again") from error


class BabiNgramReader(FactReader):
    """Answers with the class of the largest margin; its confidence is a softmax over the margins."""

    def __init__(self, classifier: NgramClassifier) -> None:
        self._classifier = classifier
        self._known = frozenset(classifier.known)
        self.version, self.trained_on = classifier.version, classifier.trained_on

    @classmethod
    def load(cls, argument: str | None = None) -> Self:
        """The classifier of a folder where ``storyqa train babi`` left it; raises ModelError."""
        return cls(NgramClassifier.from_file(load(NAME, argument, "babi")))

    @property
    def known(self) -> Collection[str]:
        """See ``FactReader.known``."""
        return self._known

    def infer(self, told: Sequence[Told]) -> list[Inferred]:
        """See ``FactReader.infer``."""
        return [likeliest(self._classifier.answers, self._classifier.margins(one)) for one in told]


def likeliest(
    answers: Sequence[tuple[str, ...]], margins: NDArray[Any], chain: tuple[int, ...] = ()
) -> Inferred:
    """The answer of the largest margin, with its share of a softmax as confidence."""
    import numpy as np

    best = int(margins.argmax())
    return Inferred(answers[best], float(1 / np.exp(margins.astype(np.float64) - margins[best]).sum()), chain)

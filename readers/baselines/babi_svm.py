"""The reader ``babi-svm``: a structured SVM finds the facts, and a second one says what follows from them.

Weston et al. 2015, section 5 and appendix B. The paper's models for coreference (Stanford's) and semantic
roles (SENNA's) are replaced by the rules of ``readers.baselines.shallow_roles``. An answer of several words
is one class, and no more than three facts are found.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

from encoders.errors import ModelError
from readers.baselines.array_file import ArrayFile, load
from readers.baselines.babi_ngram import likeliest
from readers.facts import FactReader, Inferred, Told

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "babi-svm"


@dataclass(frozen=True)
class SupportSvm:
    """``theta`` weighs the features of a triple; those of the answers have ``weights`` (buckets, answers).

    Only buckets that are not 0 are kept: ``theta_at`` and ``weights_at`` say which, in order. ``known`` are
    all words of training.
    """

    known: Sequence[str]
    answers: Sequence[tuple[str, ...]]
    theta_at: NDArray[np.int32]
    theta: NDArray[np.float32]
    weights_at: NDArray[np.int32]
    weights: NDArray[np.float32]
    trained_on: str
    version: str | None = None

    @cached_property
    def all_theta(self) -> NDArray[np.float32]:
        """The weight of every bucket, (buckets,)."""
        import numpy as np

        from readers.baselines.support_search import BUCKETS

        found = np.zeros(BUCKETS, dtype=np.float32)
        found[self.theta_at] = self.theta
        return found

    def margins(self, buckets: NDArray[np.int32]) -> NDArray[np.float32]:
        """The score of each answer by its features, (answers,)."""
        import numpy as np

        place = np.searchsorted(self.weights_at, buckets)
        place[place == len(self.weights_at)] = 0
        found: NDArray[np.float32] = self.weights[place[self.weights_at[place] == buckets]].sum(0)
        return found

    def as_file(self) -> ArrayFile:
        """What ``storyqa train babi`` writes."""
        arrays = {name: getattr(self, name) for name in ("theta_at", "theta", "weights_at", "weights")}
        return ArrayFile(arrays, self.known, self.trained_on, {"answers": list(self.answers)})

    @classmethod
    def from_file(cls, file: ArrayFile) -> Self:
        """The model that was written; raises ``ModelError`` for a file of something else."""
        try:
            answers = [tuple(answer) for answer in file.settings["answers"]]
            arrays = file.arrays
            if arrays["theta"].shape != arrays["theta_at"].shape:
                raise ValueError(f"theta of shape {arrays['theta'].shape}")
            if arrays["weights"].shape != (len(arrays["weights_at"]), len(answers)):
                raise ValueError(f"weights of shape {arrays['weights'].shape}")
            return cls(
                file.words,
                answers,
                arrays["theta_at"],
                arrays["theta"],
                arrays["weights_at"],
                arrays["weights"],
                file.trained_on,
                file.version,
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"no weights of facts in the file ({error!r}); train {NAME} again") from error


class BabiSvmReader(FactReader):
    """Answers from the best triple of facts, its ``chain``; its confidence is a softmax over the margins."""

    def __init__(self, model: SupportSvm) -> None:
        self._model = model
        self._known = frozenset(model.known)
        self.version, self.trained_on = model.version, model.trained_on

    @classmethod
    def load(cls, argument: str | None = None) -> Self:
        """The model of a folder where ``storyqa train babi`` left it; raises ModelError."""
        return cls(SupportSvm.from_file(load(NAME, argument, "babi")))

    @property
    def known(self) -> Container[str]:
        """See ``FactReader.known``."""
        return self._known

    def infer(self, told: Sequence[Told]) -> list[Inferred]:
        """See ``FactReader.infer``."""
        return [self._infer(one) for one in told]

    def _infer(self, told: Told) -> Inferred:
        from readers.baselines.support_search import answer_features, asked, best_triple, scores

        one = asked(told)
        triple = best_triple(one, scores(self._model.all_theta, one))
        chain = tuple(i for i in triple if i < one.facts)
        return likeliest(self._model.answers, self._model.margins(answer_features(one, triple)), chain)

"""What somebody feels, in a word: a story shows it oftener than it says it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.adapters import file_hash
from encoders.cross_encoder import CrossEncoder
from encoders.errors import ModelError
from encoders.runtime import as_array
from encoders.sizes import weights_folder
from readers.default.span import Believed
from readers.reading import Reading
from text.question_kinds import asks_feeling

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from encoders.cross_encoder import EncodedWindow

WEIGHTS = "feelings.safetensors"
# Of belief; spans know how likely each is beside others, not how often none of them is right. Chosen on
# FairytaleQA train and its held-out stories, for both sizes.
SPANS_SHARE = 0.3


@dataclass(frozen=True, slots=True, eq=False)
class Feelings:
    """A linear model of which of some ``words`` a question about a feeling is answered with.

    ``weight`` (words, 2 width) and ``bias`` (words,) map ``felt_state`` to unnormalised log-probabilities.
    """

    words: tuple[str, ...]
    weight: NDArray[np.float32]
    bias: NDArray[np.float32]
    version: str

    @classmethod
    def load(cls, argument: str | None, encoder: CrossEncoder) -> Feelings | None:
        """The shipped ones, small or ``LARGE``, or those of a run's folder; None where it has none.

        Raises ModelError where they cannot be read or belong to another encoder than this.
        """
        path = weights_folder("readers.weights", argument) / WEIGHTS
        if not path.is_file():
            return None
        from safetensors import SafetensorError, safe_open

        again = "fit it again: storyqa train feelings --start DIR"
        try:
            with safe_open(path, "np") as file:
                known = file.metadata() or {}
                tensors = {name: file.get_tensor(name).astype("float32") for name in ("weight", "bias")}
            words = tuple(json.loads(known["words"]))
        except (OSError, SafetensorError, KeyError, ValueError) as error:
            raise ModelError(f"{path} cannot be read ({error}); {again}") from error
        if known.get("encoder") != encoder.version:
            raise ModelError(
                f"{path} reads the states of the encoder {known.get('encoder')}, and the one beside it is "
                f"{encoder.version}; {again}"
            )
        return cls(words, tensors["weight"], tensors["bias"], file_hash(path)[:12])

    def chances(self, window: EncodedWindow) -> NDArray[np.float64]:
        """The probability of each of the words, (words,)."""
        import numpy as np

        scores = (self.weight @ felt_state(window) + self.bias).astype(np.float64)
        weights = np.exp(scores - scores.max())
        return np.asarray(weights / weights.sum())

    def beside(self, spans: Believed, reading: Reading) -> Believed:
        """The spans alone, or, of a prepared reading that asks how somebody feels, with these words."""
        import numpy as np

        window = most_relevant(reading) if asks_feeling(reading.question) else None
        if window is None:
            return spans
        share = SPANS_SHARE if spans.texts else 0.0
        return Believed(
            [*spans.texts, *self.words],
            np.concatenate([share * spans.chances, (1 - share) * self.chances(window)]),
            [*spans.spans, *[None] * len(self.words)],
        )


def most_relevant(reading: Reading) -> EncodedWindow | None:
    """Of a prepared reading the window that most likely answers; None where it has none."""
    windows = [window for passage in reading.encoded if passage is not None for window in passage.windows]
    return max(windows, key=lambda window: window.relevance, default=None)


def felt_state(window: EncodedWindow) -> NDArray[np.float32]:
    """(2 width,): the state of the first token, and the mean of the passage's by where answers start."""
    import numpy as np

    states = as_array(window.states).astype(np.float32)
    first = window.window.first
    starts = np.exp(window.start - window.start.max())
    passage = states[first : first + len(window.window.offsets)]
    return np.concatenate([states[0], (starts / starts.sum()) @ passage]).astype(np.float32)

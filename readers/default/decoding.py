"""What a runtime does for the generating reader: keep what is read, search for answers, weigh given ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from encoders.backbone import MINILM, load_tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from readers.default.beam_search import Written
    from readers.default.wording import Wording

WIDTH = MINILM.width
HEADS = 12
INNER = 1536
LONGEST = 40  # tokens of an answer, its end included


def answer_tokens(text: str) -> list[int]:
    """The tokens of a text as an answer: at most ``LONGEST``, the last of them the end."""
    # What stands before an answer begins is [CLS]: it is no token of it, the [SEP] at the end is.
    ids: list[int] = load_tokenizer().encode(text).ids[1:]
    return [*ids[:-1][: LONGEST - 1], ids[-1]]


@dataclass(frozen=True, slots=True)
class Read:
    """A reading as the decoder takes it: each window's states (tokens, width), as the encoder gave them, and
    of all their tokens, end to end, the ids and whether they may be copied."""

    states: Sequence[Any]
    ids: Sequence[int]
    copied: Sequence[bool]


@dataclass(frozen=True, slots=True)
class Said:
    """What a decoder says of a given answer: of each of its tokens the copy attention (tokens, memory), and
    log p_copy and its log P (tokens,)."""

    attention: NDArray[np.float32]
    log_copies: NDArray[np.float32]
    log_probability: NDArray[np.float32]


class Decoding(Protocol):
    """A pointer-generator in a runtime; ``memory`` is what ``read`` gave, for all its readings."""

    def mask(self, of_words: NDArray[np.bool_]) -> Any:
        """A mask (vocabulary,) as ``Wording`` has it for this runtime."""
        ...

    def read(self, readings: Sequence[Read]) -> Any:
        """The memory of readings, which are not changed."""
        ...

    def search(
        self, memory: Any, wording: Sequence[Wording], begin: int, end: int, beams: int
    ) -> list[list[Written]]:
        """See ``beam_search.grow``; ``wording`` is what may be written of each reading."""
        ...

    def say(self, memory: Any, row: int, begin: int, answers: Sequence[Sequence[int]]) -> list[Said]:
        """What is said of given answers to the reading ``row``."""
        ...

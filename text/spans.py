"""All spans of a text at once: tokens as numbers, and spans as where they begin and end among them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from text.sentences import sentence_spans
from text.tokens import Token, tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Spans:
    """Spans of one text: tokens ``begin[i]`` to ``end[i]``, half-open; both of shape (spans,)."""

    begin: NDArray[np.int32]
    end: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.begin)

    @cached_property
    def lengths(self) -> NDArray[np.int32]:
        """How many tokens each has."""
        return self.end - self.begin

    @cached_property
    def longest_first(self) -> NDArray[np.int64]:
        """The numbers of the spans, from the longest to the shortest."""
        import numpy as np

        return np.argsort(-self.lengths, kind="stable")


class TokenText:
    """The tokens of some passages; no span crosses from one passage into the next.

    ``ids`` has shape (tokens,) and numbers the token's key by ``vocabulary``; ``starts`` and ``ends``
    are the token's place in its passage, in code points. Passage p has the tokens ``first[p]`` to
    ``first[p + 1]``. With ``ending``, that key follows the last token, and covers nothing of the text.
    ``split`` finds the tokens of a passage.
    """

    def __init__(
        self,
        passages: Sequence[str],
        ending: str | None = None,
        split: Callable[[str], Iterable[Token]] = tokens,
    ) -> None:
        import numpy as np

        self.passages = tuple(passages)
        self.vocabulary: dict[str, int] = {}
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        first = [0]
        for passage in self.passages:
            for key, start, end in split(passage):
                ids.append(self.vocabulary.setdefault(key, len(self.vocabulary)))
                starts.append(start)
                ends.append(end)
            first.append(len(ids))
        if ending is not None and ids:
            ids.append(self.vocabulary.setdefault(ending, len(self.vocabulary)))
            starts.append(ends[-1])
            ends.append(ends[-1])
            first = [one if one < first[-1] else len(ids) for one in first]
        self.ids = np.array(ids, np.int64)
        self.starts = np.array(starts, np.int64)
        self.ends = np.array(ends, np.int64)
        self.first = np.array(first, np.int64)

    def windows(self, length: int) -> Spans:
        """Every run of ``length`` tokens, in story order; a passage with fewer is one span itself."""
        import numpy as np

        counts = np.diff(self.first)
        of_passage = np.where(counts, np.maximum(counts - length, 0) + 1, 0)
        passage = np.repeat(np.arange(len(counts)), of_passage)
        number = np.arange(len(passage)) - np.repeat(np.cumsum(of_passage) - of_passage, of_passage)
        begin = self.first[passage] + number
        return _spans(begin, np.minimum(begin + length, self.first[passage + 1]))

    def sentences(self) -> Spans:
        """Every sentence that has a token, in story order."""
        import numpy as np

        found = []
        for number, text in enumerate(self.passages):
            low, high = self.first[number : number + 2].tolist()
            bounds = np.array(sentence_spans(text), np.int64).reshape(-1, 2)
            found.append(low + np.searchsorted(self.starts[low:high], bounds))
        both = np.concatenate([np.zeros((0, 2), np.int64), *found])
        return _spans(*both[both[:, 0] < both[:, 1]].T)

    def whole(self) -> Spans:
        """Each passage as one span, those without a token too."""
        return _spans(self.first[:-1], self.first[1:])

    def numbers(self, query: Sequence[str]) -> NDArray[np.int64]:
        """The first position in ``query`` of each entry of the vocabulary, or -1; (vocabulary,)."""
        import numpy as np

        found = np.full(len(self.vocabulary), -1, np.int64)
        for position, key in reversed(list(enumerate(query))):
            if key in self.vocabulary:
                found[self.vocabulary[key]] = position
        return found

    def passage_of(self, spans: Spans) -> NDArray[np.int64]:
        """The number of the passage that each span lies in, which must have a token; (spans,)."""
        import numpy as np

        return np.searchsorted(self.first, spans.begin, side="right") - 1

    def place(self, begin: int, end: int) -> tuple[int, int, int]:
        """``(passage, start, end)``, in code points, of the tokens ``begin`` to ``end``, one or more."""
        import numpy as np

        passage = int(np.searchsorted(self.first, begin, side="right")) - 1
        return passage, int(self.starts[begin]), int(self.ends[end - 1])


def _spans(begin: NDArray[np.int64], end: NDArray[np.int64]) -> Spans:
    import numpy as np

    return Spans(begin.astype(np.int32), end.astype(np.int32))


def overlaps(place: tuple[int, int], others: Sequence[tuple[int, int]]) -> bool:
    """Whether a place, as half-open code points of a text, has a character in common with another."""
    return any(place[0] < end and start < place[1] for start, end in others)

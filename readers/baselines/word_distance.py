"""The word distance: how far the question's words are, its blank laid on a mention of the candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from encoders.errors import ModelError
from readers.cloze import Cloze
from readers.filling import ClozeReader, Judged
from readers.options import split_options

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NAME = "cloze-distance"
FARTHEST = 8  # the best on CNN for Hermann et al.; on children's books Hill et al. found 5
MOST = 100


class WordDistanceReader(ClozeReader):
    """Lays the question on the context, its blank on each mention, and adds up how far its words are off.

    Each word of the question costs its distance to the nearest equal word, ``farthest`` at most, and the
    mention with the least sum wins. Equal words are looked for in the whole context, "in d" (Hermann et al.
    2015, section 3.1), or with ``within`` only in the stretch s that the question lies over:
    P = min(min over j = 1 to |s| of {|i - j| : s_j = q_i}, m), Hill et al. 2016, section 4.1, not numbered.

    Where entities are markers or one name each, equal words are coreferent ones; there is no other
    knowledge of coreference. A candidate scores minus the sum of its best mention, one without a mention
    less than any other.
    """

    def __init__(self, farthest: int = FARTHEST, within: bool = False) -> None:
        self._farthest = farthest
        self._within = within

    @classmethod
    def load(cls, argument: str | None) -> WordDistanceReader:
        """``argument`` is ``@m=5``, ``@within``, both or None; raises ``ModelError`` for others."""
        form = f"{NAME}@m={FARTHEST}"
        _, given = split_options(NAME, argument, form, flags=("within",), valued=("m",))
        m = given.get("m", str(FARTHEST))
        if not (m.isascii() and m.isdigit() and 1 <= int(m) <= MOST):
            raise ModelError(f"m={m} for {NAME!r}; wanted the farthest distance that counts, 1 to {MOST}")
        return cls(int(m), "within" in given)

    def judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        """See ``ClozeReader.judge``."""
        return [self._judge(cloze) for cloze in clozes]

    def _judge(self, cloze: Cloze) -> Judged:
        penalties = self._penalties(cloze).tolist()
        worst = self._farthest * (len(cloze.query) - 1) + 1
        scores = [-float(worst)] * len(cloze.candidates)
        for mention, penalty in zip(cloze.mentions, penalties, strict=True):
            scores[mention.candidate] = max(scores[mention.candidate], float(-penalty))
        return Judged(scores, [float(-penalty) for penalty in penalties])

    def _penalties(self, cloze: Cloze) -> NDArray[np.int64]:
        """Per mention the sum of the distances, shape (mentions,)."""
        import numpy as np

        words = [i for i in range(len(cloze.query)) if i != cloze.blank]
        if not words or not cloze.mentions:
            return np.zeros(len(cloze.mentions), np.int64)
        numbers = {key: number for number, key in enumerate({cloze.query[i] for i in words})}
        # Only distances below the farthest matter, so a frame of absent words stands for the text beyond, and
        # no word that matters is farther than its width from the mention.
        frame = len(cloze.query) + self._farthest
        context = np.full(len(cloze.context) + 2 * frame, -1)
        context[frame:-frame] = [numbers.get(key, -1) for key in cloze.context]
        asked = np.array([numbers[cloze.query[i]] for i in words])  # (words,)
        offset = np.array([i - cloze.blank for i in words])
        first = np.array([mention.first for mention in cloze.mentions])[:, None]
        last = np.array([mention.last - 1 for mention in cloze.mentions])[:, None]
        places = frame + offset + np.where(offset < 0, first, last)  # (mentions, words)
        reach = (cloze.blank, len(cloze.query) - cloze.blank - 1) if self._within else (frame, frame)
        start, end = frame + first - reach[0], frame + last + reach[1]  # (mentions, 1), inclusive
        distances = np.full(places.shape, self._farthest)
        for away in range(self._farthest - 1, -1, -1):  # nearer ones last, to stand
            before, after = places - away, places + away
            near = (context[before] == asked) & (before >= start)
            near |= (context[after] == asked) & (after <= end)
            distances[near] = away
        return np.asarray(distances.sum(axis=1), dtype=np.int64)

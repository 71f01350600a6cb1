"""The sliding window of MCTest: the candidate that with the question overlaps some stretch of the context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from readers.cloze import Cloze
from readers.filling import ClozeReader, Judged
from readers.options import split_options
from text.cloze import BLANK

NAME = "cloze-sliding"
_DECIMALS = 9  # differences of running sums are not exact, and equal windows must tie


class SlidingWindowReader(ClozeReader):
    """Slides a window as long as the question over the context, one token at a time.

    A window is worth the sum of log(1 + 1 / count in the context) over its tokens that the question or the
    candidate has, and a candidate its best window (Richardson et al. 2013, section 5; Hill et al. 2016,
    section 4.1). A mention says as much for it as the best window that covers the mention.
    """

    @classmethod
    def load(cls, argument: str | None) -> SlidingWindowReader:
        """Raises ``ModelError`` for any argument: there is no model to name."""
        split_options(NAME, argument, NAME)
        return cls()

    def judge(self, clozes: Sequence[Cloze]) -> list[Judged]:
        """See ``ClozeReader.judge``."""
        return [_judge(cloze) for cloze in clozes]


def _judge(cloze: Cloze) -> Judged:
    import numpy as np

    counts = Counter(cloze.context)
    weights = np.log1p([1 / counts[key] for key in cloze.context])  # (tokens,)
    asked = {key for key in cloze.query if key != BLANK}
    shared = np.array([key in asked for key in cloze.context])
    places: dict[str, list[int]] = {}
    for i, key in enumerate(cloze.context):
        places.setdefault(key, []).append(i)
    width = min(len(cloze.query), len(cloze.context))
    windows = np.empty((len(cloze.candidates), len(cloze.context) - width + 1))
    for number, keys in enumerate(cloze.keys):
        inside = shared.copy()
        for key in keys:
            inside[places.get(key, [])] = True
        running = np.concatenate([[0.0], np.cumsum(np.where(inside, weights, 0.0))])
        windows[number] = np.round(running[width:] - running[:-width], _DECIMALS)
    mentions = [
        float(windows[one.candidate, max(0, one.first - width + 1) : one.first + 1].max())
        for one in cloze.mentions
    ]
    return Judged(windows.max(axis=1).tolist(), mentions)

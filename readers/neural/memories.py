"""The memories of a cloze: windows round the mentions of its candidates and round the blank, or sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import Embedding, Linear, Module, Parameter
from torch.nn.functional import embedding_bag

from readers.neural.cloze_example import ClozeExample, Ids
from readers.neural.vocabulary import END

WINDOW = 5  # b, the words of a window
TIME = 0.1  # what the index of a memory is scaled by


@dataclass(frozen=True, slots=True)
class MemoryExample:
    """``memories`` (memories, b) and the candidate of each, (memories,), -1 for those of other words.

    ``mentions`` (memories,) has each one's number in ``Cloze.mentions``, -1 as above. ``query`` (b,)
    is the window of the blank, and ``candidates`` and ``answer`` are those of the example. Sentences are
    memories of nobody, b the words of the longest, -1 after the ends of others.
    """

    memories: Ids
    owners: Ids
    mentions: Ids
    query: Ids
    candidates: Ids
    answer: int


def window_example(example: ClozeExample, every_word: bool = False, b: int = WINDOW) -> MemoryExample:
    """The windows of the candidates' mentions, with ``every_word`` of all other words, in story order."""
    spans = example.mentions
    if every_word:
        covered = np.zeros(len(example.context), bool)
        for _, first, last, _ in spans.tolist():
            covered[first:last] = True
        others = np.flatnonzero(~covered).astype(np.int32)
        rest = np.stack([np.full_like(others, -1), others, others + 1, np.full_like(others, -1)], 1)
        spans = np.concatenate([spans, rest])
        spans = spans[np.argsort(spans[:, 1], kind="stable")]
    return MemoryExample(
        windows_at(example.context, spans[:, 1], spans[:, 2], b),
        spans[:, 0],
        spans[:, 3],
        windows_at(example.query, np.array([example.blank]), np.array([example.blank + 1]), b)[0],
        example.candidates,
        example.answer,
    )


def windows_at(ids: Ids, first: NDArray[Any], last: NDArray[Any], b: int = WINDOW) -> Ids:
    """(mentions, b): the last word of each mention, as many words before the mention and after it.

    ``END`` stands where the text has no more words.
    """
    reach = (b - 1) // 2
    before = first[:, None] + np.arange(-reach, 0)
    after = last[:, None] + np.arange(reach)
    at = np.concatenate([before, last[:, None] - 1, after], 1)
    inside = (at >= 0) & (at < len(ids))
    return np.where(inside, ids[np.where(inside, at, 0)], END).astype(np.int32) if len(ids) else at


def sentence_example(example: ClozeExample) -> MemoryExample:
    """The sentences of the context, one passage each, and the whole query."""
    ends = np.flatnonzero(np.diff(example.passages)) + 1
    sentences = np.split(example.context, ends)
    memories = _stacked([sentence[None] for sentence in sentences])
    nobody = np.full(len(memories), -1, np.int32)
    return MemoryExample(memories, nobody, nobody, example.query, example.candidates, example.answer)


def _stacked(parts: Sequence[Ids]) -> Ids:
    """Rows of several widths as one array, -1 after the ends of the narrower ones."""
    widest = max((part.shape[1] for part in parts), default=0)
    padded = [np.pad(p, ((0, 0), (0, widest - p.shape[1])), constant_values=-1) for p in parts]
    return np.concatenate(padded) if padded else np.zeros((0, 0), np.int32)


@dataclass(frozen=True, slots=True)
class MemoryBatch:
    """Several examples' memories in a row.

    ``memories`` (memories, b), ``time`` (memories,) the index of each memory in its example, from 1,
    ``example`` (memories,) the number of its example, ``owner`` (memories,) the place of its candidate among
    all candidates of the batch, -1 for other words, ``queries`` (examples, b), ``candidates`` (all,) their
    words, ``of_candidate`` (all,) the example of each, ``answers`` (examples,) places among these, -1 where
    nobody knows.
    """

    memories: torch.Tensor
    time: torch.Tensor
    example: torch.Tensor
    owner: torch.Tensor
    queries: torch.Tensor
    candidates: torch.Tensor
    of_candidate: torch.Tensor
    answers: torch.Tensor


def memory_batch(examples: Sequence[MemoryExample], device: torch.device) -> MemoryBatch:
    """The examples together."""
    memories = [len(one.memories) for one in examples]
    counts = [len(one.candidates) for one in examples]
    first = np.cumsum([0, *counts[:-1]])
    owners = np.concatenate([one.owners for one in examples])
    shifted = np.where(owners >= 0, owners + np.repeat(first, memories), -1)
    answers = [at + one.answer if one.answer >= 0 else -1 for at, one in zip(first, examples, strict=True)]
    numbers = np.arange(len(examples))

    def tensor(array: Any) -> torch.Tensor:
        return torch.from_numpy(np.asarray(array, np.int64)).to(device)

    return MemoryBatch(
        tensor(_stacked([one.memories for one in examples])),
        tensor(np.concatenate([np.arange(1, size + 1) for size in memories])),
        tensor(np.repeat(numbers, memories)),
        tensor(shifted),
        tensor(_stacked([one.query[None] for one in examples])),
        tensor(np.concatenate([one.candidates for one in examples])),
        tensor(np.repeat(numbers, counts)),
        tensor(answers),
    )


class WindowEmbedding(Module):
    """A φ(s) of windows, A with a dictionary per place in the window, and the scaled time of a memory.

    A φ(s_i) = sum over j of A_j[w_j] + a_t ``TIME`` i
    """

    def __init__(self, words: int, p: int, b: int = WINDOW, time: bool = True) -> None:
        super().__init__()
        self.table = Embedding(words * b, p, sparse=True)
        torch.nn.init.normal_(self.table.weight, std=0.1)
        self.time = Parameter(torch.zeros(p)) if time else None
        self._words = words

    def forward(self, windows: torch.Tensor, time: torch.Tensor | None = None) -> torch.Tensor:
        """(memories, p) of ``windows`` (memories, b); ``time`` (memories,) is None for queries."""
        places = torch.arange(windows.shape[1], device=windows.device) * self._words
        found = embedding_bag(windows + places, self.table.weight, mode="sum", sparse=True)
        if time is not None and self.time is not None:
            found = found + TIME * time[:, None] * self.time
        return found


def output_layer(p: int, words: int) -> Linear:
    """U, which has a row per word."""
    layer = Linear(p, words, bias=False)
    torch.nn.init.normal_(layer.weight, std=0.1)
    return layer


def softmax_by(scores: torch.Tensor, groups: torch.Tensor, count: int) -> torch.Tensor:
    """The softmax of ``scores`` (all,) among those of the same group, which ``groups`` (all,) numbers."""
    powers = (scores - group_max(scores, groups, count)[groups]).exp()
    sums = torch.zeros(count, dtype=scores.dtype, device=scores.device).index_add(0, groups, powers)
    return powers / sums[groups]


def group_max(scores: torch.Tensor, groups: torch.Tensor, count: int) -> torch.Tensor:
    """The highest of each group's scores, (count,); ``-inf`` for a group that has none."""
    lowest = torch.full((count,), -torch.inf, dtype=scores.dtype, device=scores.device)
    return lowest.scatter_reduce(0, groups, scores.detach(), "amax")

"""What the models are built of: word embeddings, a bidirectional LSTM, and padding that changes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import LSTM, AdaptiveLogSoftmaxWithLoss, Dropout, Embedding, Module

MASKED = -1e9  # the score of what is padding, before a softmax


class WordEmbedding(Module):
    """Learnt word vectors: w in {0 .. words - 1} to x in R^d, with dropout in training.

    They begin as normal noise with the standard deviation ``std``, by default that of vectors of length 1.
    """

    def __init__(self, words: int, d: int, dropout: float, std: float | None = None) -> None:
        super().__init__()
        self.table = Embedding(words, d)
        torch.nn.init.normal_(self.table.weight, std=d**-0.5 if std is None else std)
        self.dropout = Dropout(dropout)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """(..., d) of ``ids`` (...)."""
        vectors: torch.Tensor = self.dropout(self.table(ids))
        return vectors


class BiLstm(Module):
    """Two LSTMs (Hochreiter and Schmidhuber 1997), one forwards and one backwards, side by side.

    i, f, o = sigmoid(W x_t + R h_{t-1} + b), each with its own W, R and b
    c_t = f * c_{t-1} + i * tanh(W_c x_t + R_c h_{t-1} + b_c),  h_t = o * tanh(c_t)

    The one that runs backwards begins at each row's own last token: padding is never read.
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.forwards = LSTM(inputs, hidden, batch_first=True)
        self.backwards = LSTM(inputs, hidden, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """(rows, tokens, 2 hidden) of ``x`` (rows, tokens, inputs); rows have ``lengths`` (rows,) tokens."""
        along, _ = self.forwards(x)
        back, _ = self.backwards(reverse_sequences(x, lengths))
        return torch.cat([along, reverse_sequences(back, lengths)], 2)


def reverse_sequences(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Each row's first ``lengths`` entries the other way round, the padding where it was."""
    place = torch.arange(x.shape[1], device=x.device).expand(x.shape[:2])
    mirrored = lengths[:, None] - 1 - place
    index = torch.where(mirrored >= 0, mirrored, place)
    return x.gather(1, index[:, :, None].expand_as(x))


def final_states(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The final state of both LSTMs: of the forward one at the last token, of the other at the first.

    (rows, 2 hidden) of ``states`` (rows, tokens, 2 hidden).
    """
    hidden = states.shape[2] // 2
    rows = torch.arange(len(states), device=states.device)
    return torch.cat([states[rows, lengths - 1, :hidden], states[:, 0, hidden:]], 1)


def pad_sequences(rows: Sequence[Sequence[int]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    """``rows`` as one tensor (rows, longest), 0 after their ends, and their lengths (rows,)."""
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = torch.tensor(row)
    return ids.to(device), lengths.to(device)


def sequence_mask(lengths: torch.Tensor, longest: int) -> torch.Tensor:
    """(rows, longest), True where a row has a token."""
    return torch.arange(longest, device=lengths.device) < lengths[:, None]


def adaptive_softmax(inputs: int, words: int) -> AdaptiveLogSoftmaxWithLoss:
    """log softmax over ids of which the smaller are the more frequent words (Grave et al. 2017, section 4).

    Rarer words share clusters, and are told apart by fewer dimensions each.
    """
    cutoffs = [cut for cut in (2_000, 10_000) if cut < words - 1] or [max(1, words // 2)]
    return AdaptiveLogSoftmaxWithLoss(inputs, words, cutoffs, div_value=2.0)

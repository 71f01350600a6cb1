"""Lexical memories of ``memn2n``: the words before the one that is predicted, each in a slot of its own.

Hill et al. 2016, sections 3.1 and 3.2; the code of Sukhbaatar et al. 2015, section 5, for language models.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch.nn import AdaptiveLogSoftmaxWithLoss, Embedding, Linear, Module, Parameter
from torch.nn.functional import pad, relu

from readers.neural.layers import adaptive_softmax
from readers.neural.running_text import Continuation, padded_options, sums_by_length
from readers.neural.vocabulary import END

MEMORIES = 200  # n, the words before
QUERY = 0.1  # every number of the first q


class LexicalMemory(Module):
    """Predicts each word of a text from the n before it.

    c_i = A w_i + T_A[i],  m_i = B w_i + T_B[i],  q = .1
    o = sum of softmax(c_i . q) m_i,  q' = H q + o, ReLU on half of its units, K times
    p(w) = softmax(U q), adaptive (Grave et al. 2017), so that rare words cost little
    """

    def __init__(self, words: int, p: int, hops: int = 7, n: int = MEMORIES) -> None:
        super().__init__()
        self.a, self.b = Embedding(words, p), Embedding(words, p)
        self.time_a, self.time_b = Parameter(torch.empty(n, p)), Parameter(torch.empty(n, p))
        self.h = Linear(p, p, bias=False)
        self.u: AdaptiveLogSoftmaxWithLoss = adaptive_softmax(p, words)
        for weight in (self.a.weight, self.b.weight, self.time_a, self.time_b, self.h.weight):
            torch.nn.init.normal_(weight, std=0.05)
        self.hops, self.n = hops, n

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        """q after the last hop of each word but the first n, (rows, words - n, p), of ``text`` (rows, words).

        The memories of neighbours are the same but for one: all are multiplied at once, and of each product
        the band that is the word's own is kept.
        """
        rows, steps = text.shape[0], text.shape[1] - self.n
        c, m = self.a(text[:, :-1]), self.b(text[:, :-1])  # (rows, steps + n - 1, p)
        q = torch.full((rows, steps, c.shape[2]), QUERY, dtype=c.dtype, device=c.device)
        for _ in range(self.hops):
            scores = _band(q @ c.transpose(1, 2), self.n) + q @ self.time_a.T  # (rows, steps, n)
            alpha = scores.softmax(2)
            o = _unband(alpha) @ m + alpha @ self.time_b
            q = self.h(q) + o
            half = q.shape[2] // 2
            q = torch.cat([q[:, :, :half], relu(q[:, :, half:])], 2)
        return q


def _band(x: torch.Tensor, n: int) -> torch.Tensor:
    """(rows, steps, n): of each step l of ``x`` (rows, steps, steps + n - 1) the columns l to l + n."""
    rows, steps, width = x.shape
    flat = pad(x.reshape(rows, steps * width), (0, steps))
    return flat.reshape(rows, steps, width + 1)[:, :, :n]


def _unband(x: torch.Tensor) -> torch.Tensor:
    """The inverse of ``_band``, 0 outside of the band."""
    rows, steps, n = x.shape
    width = steps + n - 1
    flat = pad(x, (0, width + 1 - n)).reshape(rows, steps * (width + 1))
    return flat[:, : steps * width].reshape(rows, steps, width)


def lexical_scores(
    net: LexicalMemory, continuations: Sequence[Continuation], device: torch.device
) -> torch.Tensor:
    """log p of each candidate and of the words after it, (all candidates,): Hill et al. 2016, section 3.2."""
    ids, lengths, of = padded_options(continuations, device)
    before = [([END] * net.n + one.context + one.before)[-net.n :] for one in continuations]
    text = torch.cat([torch.tensor(before, device=device)[of], ids], 1)
    q = net(text)
    log_p = net.u(q.flatten(0, 1), ids.flatten()).output.view_as(ids)
    return sums_by_length(log_p, lengths)

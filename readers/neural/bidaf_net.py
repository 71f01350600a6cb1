"""BiDAF (Seo et al. 2016) as section 4.2 simplifies it: words alone, and one layer of modelling.

The symbols are those of Seo et al., section 2: d word and LSTM dimensions, T context words, J query words.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch.nn import Dropout, Linear, Module

from readers.neural.layers import NOWHERE, BiLstm, Words, inside


class Question(NamedTuple):
    """A batch: ``context`` (rows, T) and ``query`` (rows, J) as numbers of words, and their lengths.

    ``answerable`` (rows, T) is True at what an answer can begin and end with.
    """

    context: torch.Tensor
    contexts: torch.Tensor
    query: torch.Tensor
    queries: torch.Tensor
    answerable: torch.Tensor


class Highway(Module):
    """y = g * relu(W_H x) + (1 - g) * x with g = sigmoid(W_T x): Srivastava et al. 2015, equation 3.

    The gate's bias begins at -2, so that x is mostly passed on at first (their section 2.2).
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.change, self.gate = Linear(d, d), Linear(d, d)
        torch.nn.init.constant_(self.gate.bias, -2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.gate(x).sigmoid()
        y: torch.Tensor = gate * self.change(x).relu() + (1 - gate) * x
        return y


class AttentionFlow(Module):
    """Attention in both directions, Seo et al. 2016, section 2, layer 4.

    S_tj = w_S . [h_t; u_j; h_t * u_j]                                   (1)
    a_t = softmax(S_t:),        u~_t = sum_j a_tj u_j                    context to query
    b = softmax(max_col(S)),    h~ = sum_t b_t h_t                       query to context
    g_t = beta(h_t, u~_t, h~) = [h_t; u~_t; h_t * u~_t; h_t * h~]        (2)
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.w_h, self.w_u = Linear(width, 1, bias=False), Linear(width, 1, bias=False)
        self.w_hu = torch.nn.Parameter(torch.ones(width))  # at first S is the likeness of h_t and u_j

    def forward(
        self, h: torch.Tensor, u: torch.Tensor, in_context: torch.Tensor, in_query: torch.Tensor
    ) -> torch.Tensor:
        """G, (rows, T, 4 width), of ``h`` (rows, T, width) and ``u`` (rows, J, width)."""
        s = self.w_h(h) + self.w_u(u).transpose(1, 2) + (h * self.w_hu) @ u.transpose(1, 2)  # (rows, T, J)
        s = s.masked_fill(~in_query[:, None, :], NOWHERE)
        attended = s.softmax(2) @ u  # u~, (rows, T, width)
        b = s.amax(2).masked_fill(~in_context, NOWHERE).softmax(1)
        summary = (b[:, None, :] @ h).expand_as(h)  # h~, T times
        return torch.cat([h, attended, h * attended, h * summary], 2)


class Bidaf(Module):
    """Which span answers: the probability of every word as its start and, apart from that, as its end.

    X, Q      word vectors, through two highway layers              layers 2 (of 1, the characters, none)
    H, U      = BiLSTM(X), BiLSTM(Q), the same one, in R^{2d}       layer 3
    G         = the attention flow of H and U, in R^{8d}            layer 4
    M         = BiLSTM(G) in R^{2d}: one layer where Seo has two    layer 5
    p1        = softmax(w_p1 . [G; M])                              (3)
    p2        = softmax(w_p2 . [G; M2]),  M2 = BiLSTM(M)            layer 6
    """

    def __init__(self, words: int, d: int, dropout: float = 0.2) -> None:
        super().__init__()
        # With smaller vectors all h are alike at first: a word then finds itself in the query no better than
        # any other, and tens of thousands of examples go by before the attention is of use.
        self.words = Words(words, d, dropout, std=2.0)
        self.highway = torch.nn.Sequential(Highway(d), Highway(d))
        self.contextual = BiLstm(d, d)
        self.flow = AttentionFlow(2 * d)
        self.modelling = BiLstm(8 * d, d)
        self.output = BiLstm(2 * d, d)
        self.w_p1, self.w_p2 = Linear(10 * d, 1), Linear(10 * d, 1)
        self.dropout = Dropout(dropout)

    def forward(self, asked: Question) -> tuple[torch.Tensor, torch.Tensor]:
        """log p1 and log p2, each (rows, T)."""
        x, q = self.highway(self.words(asked.context)), self.highway(self.words(asked.query))
        h, u = self.contextual(x, asked.contexts), self.contextual(q, asked.queries)
        in_context = inside(asked.contexts, x.shape[1])
        g = self.dropout(self.flow(h, self.dropout(u), in_context, inside(asked.queries, q.shape[1])))
        m = self.dropout(self.modelling(g, asked.contexts))
        m2 = self.dropout(self.output(m, asked.contexts))
        return (
            self._log_softmax(self.w_p1(torch.cat([g, m], 2)), asked.answerable),
            self._log_softmax(self.w_p2(torch.cat([g, m2], 2)), asked.answerable),
        )

    @staticmethod
    def _log_softmax(scores: torch.Tensor, answerable: torch.Tensor) -> torch.Tensor:
        return scores.squeeze(2).float().masked_fill(~answerable, NOWHERE).log_softmax(1)


def span_loss(
    log_p1: torch.Tensor, log_p2: torch.Tensor, first: torch.Tensor, last: torch.Tensor
) -> torch.Tensor:
    """L = -(1/N) sum_i log p1_{y1_i} + log p2_{y2_i}: Seo et al. 2016, equation 4."""
    rows = torch.arange(len(first), device=log_p1.device)
    return -(log_p1[rows, first] + log_p2[rows, last]).mean()

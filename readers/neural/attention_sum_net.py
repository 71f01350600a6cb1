"""The Attention Sum Reader (Kadlec et al. 2016) with an LSTM that chooses a word of the context at each step.

The symbols are those of Kadlec et al., section 3: d the document, q the query, f and g their encoders.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch.nn import Dropout, Linear, LSTMCell, Module

from readers.neural.layers import NOWHERE, BiLstm, Words, ends, inside
from readers.neural.vocabulary import BEGIN

BEGIN_TYPE, END_TYPE, APART_TYPE = range(3)  # of every document, before the types of its words


@dataclass(frozen=True, slots=True)
class Document:
    """What is pointed into: ``f`` (readings, positions, 2 hidden) and ``g`` (readings, 2 hidden).

    ``types`` (readings, positions) tell the word at each position, -1 for padding, and ``words``
    (readings, types) the vocabulary's number of each type. The last position of each is the end.
    """

    f: torch.Tensor
    g: torch.Tensor
    types: torch.Tensor
    words: torch.Tensor

    def sums(self, s: torch.Tensor) -> torch.Tensor:
        """P(w) of every type, (answers, types), of ``s`` (answers, positions): Kadlec et al., equation 2.

        P(w | q, d) is the sum of s_i over the positions i in I(w, d) at which w stands.
        """
        types = per_answer(self.types, len(s))
        found = torch.zeros(len(s), self.words.shape[1] + 1, device=s.device)
        return found.scatter_add(1, types + 1, s)[:, 1:]


@dataclass(frozen=True, slots=True)
class State:
    """The decoder's ``h`` and ``c`` (answers, 2 hidden), and where it points, ``s`` (answers, positions)."""

    h: torch.Tensor
    c: torch.Tensor
    s: torch.Tensor

    def keep(self, rows: torch.Tensor) -> State:
        """Go on with these answers, in this order."""
        return replace(self, h=self.h[rows], c=self.c[rows], s=self.s[rows])


def per_answer(of_readings: torch.Tensor, answers: int) -> torch.Tensor:
    """What each answer has of its reading, all answers to a reading in a row."""
    return of_readings.repeat_interleave(answers // len(of_readings), 0)


class AttentionSum(Module):
    """Which word of the context comes next, until the end, which stands last in it.

    f_i(d)  = BiLSTM(d)_i,   g(q) = the ends of BiLSTM(q)                              section 3
    r_t     = sum of s_{t,i} f_i over i in I(y_t, d), over the sum of those s_{t,i}    what y_t was read from
    h_t     = LSTM(h_{t-1}, [x(y_{t-1}); r_{t-1}]),   h_0 = tanh(W_0 g(q))             the decoder
    s_{t,i} = softmax_i(f_i(d) . W_s [h_t; g(q)])                                      equation 1
    P(y_t = w | y_{<t}, q, d) = sum of s_{t,i} over i in I(w, d)                       equation 2

    r is the selective read of Gu et al. 2016 (section 3.3): without it a word that the vocabulary does
    not have would leave no trace in the decoder.
    """

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.2) -> None:
        super().__init__()
        width = 2 * hidden
        self.words = Words(words, d, dropout, std=1.0)  # large, as in Bidaf, and for the same reason
        self.f, self.g = BiLstm(d, hidden), BiLstm(d, hidden)
        self.w_0, self.w_s = Linear(width, width), Linear(2 * width, width)
        self.decoder = LSTMCell(d + width, width)
        self.dropout = Dropout(dropout)

    def encode(
        self,
        context: torch.Tensor,
        contexts: torch.Tensor,
        query: torch.Tensor,
        queries: torch.Tensor,
        types: torch.Tensor,
        words: torch.Tensor,
    ) -> Document:
        """``context`` (readings, positions) and ``query`` are numbers of words, and then their lengths."""
        f = self.f(self.words(context), contexts)
        g = ends(self.g(self.words(query), queries), queries)
        types = types.masked_fill(~inside(contexts, types.shape[1]), -1)
        return Document(self.dropout(f), self.dropout(g), types, words)

    def begin(self, document: Document, answers: int) -> State:
        """The state before ``answers`` answers, as many to each reading."""
        h = per_answer(self.w_0(document.g).tanh(), answers)
        positions = document.types.shape[1]
        return State(h, torch.zeros_like(h), torch.zeros(answers, positions, device=h.device))

    def step(self, y: torch.Tensor, x: torch.Tensor, state: State, document: Document) -> State:
        """The state after the types ``y`` (answers,), in the vocabulary ``x``, and what it points to next."""
        answers = len(y)
        types = per_answer(document.types, answers)
        chosen = state.s * (types == y[:, None])
        chosen = chosen / chosen.sum(1, keepdim=True).clamp_min(1e-9)
        grouped = chosen.view(len(document.f), -1, chosen.shape[1])
        r = (grouped.to(document.f.dtype) @ document.f).flatten(0, 1)
        h, c = self.decoder(torch.cat([self.words(x), r], 1), (state.h, state.c))
        aim = self.w_s(torch.cat([h, per_answer(document.g, answers)], 1))
        aims = aim.view(len(document.f), -1, aim.shape[1])
        scores = (aims @ document.f.transpose(1, 2)).flatten(0, 1).float()
        s = scores.masked_fill(types < 0, NOWHERE).softmax(1)
        return State(h, c, s)

    def trace(self, targets: torch.Tensor, words: torch.Tensor, document: Document) -> torch.Tensor:
        """s of every step, (answers, steps, positions), as ``targets`` (answers, steps) are written.

        These are types, -1 for words that the document does not have, and ``words`` the same words in
        the vocabulary.
        """
        state = self.begin(document, len(targets))
        y, x = torch.full_like(targets[:, 0], BEGIN_TYPE), torch.full_like(words[:, 0], BEGIN)
        found = []
        for t in range(targets.shape[1]):
            state = self.step(y, x, state, document)
            found.append(state.s)
            y, x = targets[:, t], words[:, t]
        return torch.stack(found, 1)


def probabilities(s: torch.Tensor, targets: torch.Tensor, document: Document) -> torch.Tensor:
    """P(y_t) of ``targets`` (answers, steps), 0 for what stands nowhere, of ``s`` as ``trace`` has it."""
    types = per_answer(document.types, len(targets))
    return (s * (types[:, None, :] == targets[:, :, None])).sum(2)

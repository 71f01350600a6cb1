"""Sequence to sequence (Sutskever et al. 2014), encoded both ways: answers from the question alone."""

from __future__ import annotations

import torch
from torch.nn import LSTM, Dropout, Linear, Module, Parameter

from readers.neural.layers import BiLstm, Words, ends

Memory = tuple[torch.Tensor, torch.Tensor]  # h and c of the decoder, each (1, answers, hidden)


class Seq2SeqLstm(Module):
    """Writes y_1 .. y_T' after having read x_1 .. x_T.

    v          = W_v [the ends of BiLSTM(x)], tanh, the state that the decoder begins with
    h_t        = LSTM(h_{t-1}, x(y_{t-1})),  h_0 = v
    p(y_1 .. y_T' | x) = prod_t p(y_t | v, y_1 .. y_{t-1}),  p = softmax(X W_o h_t + b)     (1)

    The equation is that of Sutskever et al., section 2. X are the word vectors, in and out the same, so
    that the model stays small.
    """

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.words = Words(words, d, dropout)
        self.encoder = BiLstm(d, hidden)
        self.w_v = Linear(2 * hidden, 2 * hidden)
        self.decoder = LSTM(d, 2 * hidden, batch_first=True)
        self.w_o = Linear(2 * hidden, d)
        self.b = Parameter(torch.zeros(words))
        self.dropout = Dropout(dropout)

    def encode(self, x: torch.Tensor, lengths: torch.Tensor) -> Memory:
        """What the decoder begins with, of the questions ``x`` (questions, tokens)."""
        v = self.w_v(self.dropout(ends(self.encoder(self.words(x), lengths), lengths))).tanh()
        return v[None], torch.zeros_like(v)[None]

    def forward(self, y: torch.Tensor, memory: Memory) -> tuple[torch.Tensor, Memory]:
        """log p of the word after each of ``y`` (answers, steps), (answers, steps, words), and the state."""
        h, memory = self.decoder(self.words(y), memory)
        o = self.w_o(self.dropout(h))
        return (o @ self.words.table.weight.T + self.b).float().log_softmax(2), memory

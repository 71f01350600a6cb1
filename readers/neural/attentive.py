"""The readers ``attentive`` and ``uniform``: Hermann et al. 2015, section 3.2, the Attentive Reader."""

from __future__ import annotations

import torch
from torch.nn import Dropout, Linear, Module

from readers.neural.document_reader import DocumentBatch, DocumentReader
from readers.neural.layers import MASKED, BiLstm, WordEmbedding, final_states, sequence_mask


class Attentive(Module):
    """Reads the document once, at the tokens that the query points to.

    y_d(t), y_q(t): BiLSTMs;  u = y_q forwards at the last token || y_q backwards at the first
    m(t) = tanh(W_ym y_d(t) + W_um u)
    s(t) = softmax(w_ms . m(t)),  r = sum of s(t) y_d(t)
    g = tanh(W_rg r + W_ug u)

    Its logits W g are of words, or of ``outputs`` of another kind (Hewlett et al. 2016, section 3.1.2).
    """

    def __init__(
        self, words: int, d: int, hidden: int, dropout: float = 0.2, outputs: int | None = None
    ) -> None:
        super().__init__()
        width = 2 * hidden
        self.words = WordEmbedding(words, d, dropout, std=1.0)
        self.d, self.q = BiLstm(d, hidden), BiLstm(d, hidden)
        self.w_ym, self.w_um = Linear(width, width, bias=False), Linear(width, width, bias=False)
        self.w_ms = Linear(width, 1, bias=False)
        self.w_rg, self.w_ug = Linear(width, width, bias=False), Linear(width, width, bias=False)
        self.w = Linear(width, outputs or words, bias=False)
        self.dropout = Dropout(dropout)

    def forward(self, batch: DocumentBatch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See ``DocumentModel``; s is (rows, 1, tokens)."""
        y_d = self.d(self.words(batch.document), batch.documents)
        u = final_states(self.q(self.words(batch.query), batch.queries), batch.queries)
        s = self.s(y_d, u, sequence_mask(batch.documents, y_d.shape[1]))
        r = (s[:, None] @ y_d)[:, 0]
        g = (self.w_rg(r) + self.w_ug(u)).tanh()
        return self.w(self.dropout(g)), s[:, None]

    def s(self, y_d: torch.Tensor, u: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """(rows, tokens) of ``y_d`` (rows, tokens, 2 hidden) and ``u`` (rows, 2 hidden); 0 for padding."""
        m = (self.w_ym(y_d) + self.w_um(u)[:, None]).tanh()
        scores: torch.Tensor = self.w_ms(m).squeeze(2)
        return scores.masked_fill(~real, MASKED).softmax(1)


class Uniform(Attentive):
    """As ``Attentive``, s(t) = 1 / |d|: what attention is worth, section 4."""

    def s(self, y_d: torch.Tensor, u: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
        """See ``Attentive.s``."""
        return real.to(y_d.dtype) / real.sum(1, keepdim=True)


class AttentiveReader(DocumentReader):
    """See ``Attentive``."""

    name = "attentive"
    model = Attentive


class UniformReader(DocumentReader):
    """See ``Uniform``; it attends to nothing, so that it cites a candidate's first mention."""

    name = "uniform"
    model = Uniform

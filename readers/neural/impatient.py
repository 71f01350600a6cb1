"""The reader ``impatient``: Hermann et al. 2015, section 3.2, the Impatient Reader."""

from __future__ import annotations

import torch
from torch.nn import Dropout, Linear, Module, Parameter
from torch.utils.checkpoint import checkpoint

from readers.neural.document_reader import DocumentBatch, DocumentReader
from readers.neural.layers import MASKED, BiLstm, WordEmbedding, final_states, sequence_mask


class Impatient(Module):
    """Reads the document again at each token of the query.

    m(i, t) = tanh(W_rm r(i-1) + W_qm y_q(i) + W_dm y_d(t)),  i = 1 .. |q|
    s(i, t) = softmax over t of w_ms . m(i, t)
    r(0) = r_0, learnt;  r(i) = sum over t of s(i, t) y_d(t) + tanh(W_rr r(i-1))
    g = tanh(W_rg r(|q|) + W_qg u)
    """

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.3) -> None:
        super().__init__()
        width = 2 * hidden
        self.words = WordEmbedding(words, d, dropout, std=1.0)
        self.d, self.q = BiLstm(d, hidden), BiLstm(d, hidden)
        self.r_0 = Parameter(torch.zeros(width))
        self.w_dm, self.w_rm, self.w_qm, self.w_rr, self.w_rg, self.w_qg = (
            Linear(width, width, bias=False) for _ in range(6)
        )
        self.w_ms = Linear(width, 1, bias=False)
        self.w = Linear(width, words, bias=False)
        self.dropout = Dropout(dropout)

    def forward(self, batch: DocumentBatch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See ``DocumentModel``; s is (rows, query tokens, document tokens), 0 after the end of the query."""
        y_d = self.d(self.words(batch.document), batch.documents)
        y_q = self.q(self.words(batch.query), batch.queries)
        padding = ~sequence_mask(batch.documents, y_d.shape[1])
        asked = sequence_mask(batch.queries, y_q.shape[1])
        from_d, r = self.w_dm(y_d), self.r_0.expand(len(y_d), -1)
        attended = []
        for i in range(y_q.shape[1]):
            more = self.w_rm(r) + self.w_qm(y_q[:, i])
            if torch.is_grad_enabled():  # m of every query token would take gigabytes
                s = checkpoint(self._s, from_d, more, padding, use_reentrant=False)
            else:
                s = self._s(from_d, more, padding)
            new = (s[:, None] @ y_d)[:, 0] + self.w_rr(r).tanh()
            r = torch.where(asked[:, i, None], new, r)
            attended.append(s * asked[:, i, None])
        u = final_states(y_q, batch.queries)
        g = (self.w_rg(r) + self.w_qg(u)).tanh()
        return self.w(self.dropout(g)), torch.stack(attended, 1)

    def _s(self, from_d: torch.Tensor, more: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        """s(i, .), (rows, document tokens)."""
        scores: torch.Tensor = self.w_ms((from_d + more[:, None]).tanh()).squeeze(2)
        return scores.masked_fill(padding, MASKED).softmax(1)


class ImpatientReader(DocumentReader):
    """See ``Impatient``."""

    name = "impatient"
    model = Impatient

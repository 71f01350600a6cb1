"""The reader ``deep-lstm``: Hermann et al. 2015, section 3.2, the Deep LSTM Reader."""

from __future__ import annotations

import torch
from torch.nn import Dropout, Linear, Module, ModuleList, Parameter

from readers.neural.document_reader import DocumentBatch, DocumentReader
from readers.neural.layers import WordEmbedding
from readers.neural.vocabulary import SEPARATOR


class PeepholeLstm(Module):
    """One layer whose gates see the cell (Graves 2012, section 4.5), each unit its own.

    i = σ(W_xi x' + W_hi h + w_ci * c + b_i),  f alike (the paper prints x for x' there)
    c = f c + i tanh(W_xc x' + W_hc h + b_c)
    o = σ(W_xo x' + W_ho h + w_co * c(t) + b_o),  h = o tanh(c),  y' = W_y h + b_y
    """

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.x = Linear(inputs, 4 * hidden)  # of i, f, the candidate and o, as in torch's LSTM
        self.h = Linear(hidden, 4 * hidden, bias=False)
        self.ci, self.cf, self.co = (Parameter(torch.zeros(hidden)) for _ in range(3))
        self.y = Linear(hidden, hidden)
        with torch.no_grad():  # remember at first: sequences have hundreds of tokens (Gers et al. 2000)
            self.x.bias[hidden : 2 * hidden] = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """y' (rows, tokens, hidden) of x' (rows, tokens, inputs)."""
        known = self.x(x)
        h = c = x.new_zeros(len(x), self.ci.shape[0])
        found = []
        for t in range(x.shape[1]):
            i, f, new, o = (known[:, t] + self.h(h)).chunk(4, 1)
            i, f = torch.sigmoid(i + self.ci * c), torch.sigmoid(f + self.cf * c)
            c = f * c + i * new.tanh()
            h = torch.sigmoid(o + self.co * c) * c.tanh()
            found.append(h)
        y: torch.Tensor = self.y(torch.stack(found, 1))
        return y


class DeepLstm(Module):
    """Reads query and document as one sequence, by layers that all see the words.

    x(t): the words of q ||| d, or of d ||| q where not ``query_first``
    x'(t, k) = x(t) || y'(t, k-1),  y(t) = y'(t, 1) || .. || y'(t, K)
    g = y at the last token
    """

    def __init__(
        self, words: int, d: int, hidden: int, depth: int = 2, query_first: int = 1, dropout: float = 0.1
    ) -> None:
        super().__init__()
        self.words = WordEmbedding(words, d, dropout, std=1.0)
        self.layers = ModuleList(PeepholeLstm(d + (k > 0) * hidden, hidden) for k in range(depth))
        self.w = Linear(depth * hidden, words, bias=False)
        self.dropout = Dropout(dropout)
        self.query_first = bool(query_first)

    def forward(self, batch: DocumentBatch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """See ``DocumentModel``; there is no attention."""
        query, document = (batch.query, batch.queries), (batch.document, batch.documents)
        one, other = (query, document) if self.query_first else (document, query)
        x = self.words(_joined(one[0], one[1], other[0], other[1]))
        outputs: list[torch.Tensor] = []
        for layer in self.layers:
            outputs.append(layer(torch.cat([x, *(self.dropout(y) for y in outputs[-1:])], 2)))
        last = batch.queries + batch.documents
        g = torch.cat(outputs, 2)[torch.arange(len(x), device=x.device), last]
        return self.w(self.dropout(g)), None


def _joined(one: torch.Tensor, ones: torch.Tensor, other: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """Each row of ``one``, the delimiter and the row of ``other``, padding after both."""
    rows = [
        torch.cat([a[:m], a.new_tensor([SEPARATOR]), b[:n]])
        for a, m, b, n in zip(one, ones.tolist(), other, others.tolist(), strict=True)
    ]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)


class DeepLstmReader(DocumentReader):
    """See ``DeepLstm``."""

    name = "deep-lstm"
    model = DeepLstm

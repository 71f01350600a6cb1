"""The readers ``wr-lstm`` and ``wr-attentive``: a document read word by word for a property.

Hewlett et al. 2016, section 3.1.2.
"""

from __future__ import annotations

import torch
from torch.nn import LSTM, Dropout, Linear, Module

from readers.neural.attentive import Attentive
from readers.neural.document_reader import DocumentBatch
from readers.neural.layers import WordEmbedding
from readers.neural.value_classifier import ValueClassifierReader


class LstmReader(Module):
    """y is the last state of an LSTM over the property and then the document."""

    def __init__(self, words: int, values: int, d: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = WordEmbedding(words, d, dropout, std=0.1)
        self.lstm = LSTM(d, hidden, batch_first=True)
        with torch.no_grad():  # remember at first: documents have hundreds of words (Gers et al. 2000)
            self.lstm.get_parameter("bias_ih_l0")[hidden : 2 * hidden] = 1.0
        self.a = Linear(hidden, values)
        self.dropout = Dropout(dropout)

    def forward(self, batch: DocumentBatch) -> torch.Tensor:
        """The logits, (rows, values)."""
        joined, lengths = one_after_another(batch)
        z, _ = self.lstm(self.words(joined))
        y = z[torch.arange(len(z), device=z.device), lengths - 1]
        logits: torch.Tensor = self.a(self.dropout(y))
        return logits


def one_after_another(batch: DocumentBatch) -> tuple[torch.Tensor, torch.Tensor]:
    """The ids of each property and its document in one row, padding after both, and their lengths."""
    rows = [
        torch.cat([q[:m], d[:n]])
        for q, m, d, n in zip(
            batch.query, batch.queries.tolist(), batch.document, batch.documents.tolist(), strict=True
        )
    ]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), batch.queries + batch.documents


class AttentiveValues(Module):
    """y is g of the Attentive Reader, both ways where the paper's reads forwards."""

    def __init__(self, words: int, values: int, d: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.reader = Attentive(words, d, hidden, dropout, outputs=values)

    def forward(self, batch: DocumentBatch) -> torch.Tensor:
        """The logits, (rows, values)."""
        logits: torch.Tensor = self.reader(batch)[0]
        return logits


class LstmReaderOfValues(ValueClassifierReader):
    """See ``LstmReader``."""

    name = "wr-lstm"
    model = LstmReader


class AttentiveReaderOfValues(ValueClassifierReader):
    """See ``AttentiveValues``."""

    name = "wr-attentive"
    model = AttentiveValues

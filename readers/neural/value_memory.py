"""The reader ``wr-memory``: a memory network whose memories are the document's sentences.

Hewlett et al. 2016, section 3.1.2, after Sukhbaatar et al. 2015.
"""

from __future__ import annotations

import torch
from torch.nn import Dropout, Linear, Module

from readers.neural.document_reader import DocumentBatch
from readers.neural.layers import MASKED, WordEmbedding, sequence_mask
from readers.neural.value_classifier import ValueClassifierReader


class SentenceMemories(Module):
    """One look at the memories.

    q = Σ U p_j of the property,  m_i = Σ_j l_j * M x_ij,  c_i = Σ_j l_j * C x_ij,  p = softmax(q . m_i)
    y = q + Σ p_i c_i,  l_kj = (1 - j/J) - (k/d)(1 - 2j/J), J the words of a sentence, k of d dimensions

    A sentence ends with the word ``stop``, the id of a full stop.
    """

    def __init__(self, words: int, values: int, d: int, stop: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.u, self.m, self.c = (WordEmbedding(words, d, 0.0, std=0.1) for _ in range(3))
        self.a = Linear(d, values)
        self.dropout = Dropout(dropout)
        self.stop = stop

    def forward(self, batch: DocumentBatch) -> torch.Tensor:
        """The logits, (rows, values)."""
        return self.attend(batch)[0]

    def attend(self, batch: DocumentBatch) -> tuple[torch.Tensor, torch.Tensor]:
        """The logits, (rows, values), and log p, (rows, sentences)."""
        asked = sequence_mask(batch.queries, batch.query.shape[1])[:, :, None]
        q = (self.u(batch.query) * asked).sum(1)
        sentence, weights = self.encoding(batch.document, batch.documents, q.shape[1])
        m, c = (
            torch.zeros(len(q), int(sentence.max()) + 1, q.shape[1], device=q.device).scatter_add(
                1, sentence[:, :, None].expand_as(weights), weights * table(batch.document)
            )
            for table in (self.m, self.c)
        )
        count = sentence.gather(1, batch.documents[:, None] - 1)[:, 0] + 1
        scores = (m @ q[:, :, None])[:, :, 0]
        log_p = scores.masked_fill(~sequence_mask(count, scores.shape[1]), MASKED).log_softmax(1)
        y = q + (log_p.exp()[:, None] @ c)[:, 0]
        return self.a(self.dropout(y)), log_p

    def encoding(self, ids: torch.Tensor, lengths: torch.Tensor, d: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Of each word its sentence, (rows, words), and l, (rows, words, d), 0 for padding."""
        real = sequence_mask(lengths, ids.shape[1])
        ends = ((ids == self.stop) & real).long()
        sentence = ends.cumsum(1) - ends  # the full stop belongs to the sentence that it ends
        ones = real.to(torch.float32)
        lengths_of = torch.zeros(len(ids), int(sentence.max()) + 1, device=ids.device)
        lengths_of = lengths_of.scatter_add(1, sentence, ones)
        before = lengths_of.cumsum(1) - lengths_of  # the words of all sentences before
        j = torch.arange(1, ids.shape[1] + 1, device=ids.device) - before.gather(1, sentence)
        share = (j / lengths_of.gather(1, sentence).clamp_min(1.0))[:, :, None]
        k = torch.arange(1, d + 1, device=ids.device) / d
        return sentence, ((1 - share) - k * (1 - 2 * share)) * ones[:, :, None]


class SentenceMemoriesReader(ValueClassifierReader):
    """See ``SentenceMemories``."""

    name = "wr-memory"
    model = SentenceMemories

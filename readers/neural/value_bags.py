"""The readers ``wr-bow``, ``wr-average`` and ``wr-paragraph``: a document as a bag of its words.

Hewlett et al. 2016, section 3.1.
"""

from __future__ import annotations

import torch
from torch.nn import Dropout, Linear, Module, Parameter
from torch.nn.functional import log_softmax

from readers.neural.document_reader import DocumentBatch
from readers.neural.layers import WordEmbedding, sequence_mask
from readers.neural.value_classifier import ValueClassifierReader

STEPS, MOMENTUM = 30, 0.8  # of the search for a paragraph's vector
SHORTER = 1e-3  # what the square of a vector's length costs beside a word's log-probability


def word_set(ids: torch.Tensor, lengths: torch.Tensor, words: int) -> torch.Tensor:
    """(rows, words): 1 for each of the first ``words`` ids that a row has."""
    found = torch.zeros(len(ids), words + 1, device=ids.device)
    known = ids.masked_fill(~sequence_mask(lengths, ids.shape[1]) | (ids >= words), words)
    return found.scatter_(1, known, 1.0)[:, :words]


class WordSets(Module):
    """Logistic regression: log p(i) is linear in which words the document has, and which the property.

    Of the document the first ``read`` words of the vocabulary count, of the property the first ``asked``.
    """

    def __init__(self, words: int, values: int, read: int, asked: int) -> None:
        super().__init__()
        self.read, self.asked = min(read, words), min(asked, words)
        self.document = Linear(self.read, values)
        self.property = Linear(self.asked, values, bias=False)
        torch.nn.init.zeros_(self.document.weight)
        torch.nn.init.zeros_(self.property.weight)

    def forward(self, batch: DocumentBatch) -> torch.Tensor:
        """The logits, (rows, values)."""
        seen = word_set(batch.document, batch.documents, self.read)
        asked = word_set(batch.query, batch.queries, self.asked)
        logits: torch.Tensor = self.document(seen) + self.property(asked)
        return logits


class Averages(Module):
    """y = [the mean word vector of the document; that of the property]."""

    def __init__(self, words: int, values: int, d: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = WordEmbedding(words, d, 0.0, std=0.1)
        self.a = Linear(2 * d, values)
        self.dropout = Dropout(dropout)

    def forward(self, batch: DocumentBatch) -> torch.Tensor:
        """The logits, (rows, values)."""
        document = mean_vector(self.words(batch.document), batch.documents)
        asked = mean_vector(self.words(batch.query), batch.queries)
        logits: torch.Tensor = self.a(self.dropout(torch.cat([document, asked], 1)))
        return logits


def mean_vector(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """(rows, d) of ``x`` (rows, words, d) before the ``lengths`` (rows,)."""
    real = sequence_mask(lengths, x.shape[1])[:, :, None]
    return (x * real).sum(1) / lengths[:, None]


class Paragraphs(Module):
    """y = [the paragraph vector of the document; the mean word vector of the property].

    The paragraph vector v makes the document's own words likeliest, p(w) = softmax(U v) (PV-DBOW: Le and
    Mikolov 2014, section 2.3, with the whole softmax); U is learnt before, and moves no more.
    """

    def __init__(self, words: int, values: int, d: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.u = Parameter(torch.randn(words, d) * 0.1)
        self.words = WordEmbedding(words, d, 0.0, std=0.1)
        self.a = Linear(2 * d, values)
        self.dropout = Dropout(dropout)

    def forward(self, batch: DocumentBatch) -> torch.Tensor:
        """The logits, (rows, values)."""
        v = paragraph_vectors(self.u, shares(batch, len(self.u)))
        asked = mean_vector(self.words(batch.query), batch.queries)
        logits: torch.Tensor = self.a(self.dropout(torch.cat([v, asked], 1)))
        return logits


def shares(batch: DocumentBatch, words: int) -> torch.Tensor:
    """(rows, words): the share of each word in a document."""
    real = sequence_mask(batch.documents, batch.document.shape[1]).float() / batch.documents[:, None]
    return torch.zeros(len(real), words, device=real.device).scatter_add_(1, batch.document, real)


def paragraph_loss(u: torch.Tensor, v: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """-log p of a document's words, in the mean, and what the length of v costs; (rows,)."""
    return -(seen * log_softmax(v @ u.T, 1)).sum(1) + SHORTER * v.square().sum(1)


@torch.no_grad()
def paragraph_vectors(u: torch.Tensor, seen: torch.Tensor) -> torch.Tensor:
    """v (rows, d) of documents by the ``shares`` of their words, by gradient descent with momentum from 0."""
    v = torch.zeros(len(seen), u.shape[1], device=u.device)
    moved = torch.zeros_like(v)
    step = 1 / (u.square().sum(1).max() + 2 * SHORTER)  # no larger than the inverse of the curvature
    for _ in range(STEPS):
        gradient = ((v @ u.T).softmax(1) - seen) @ u + 2 * SHORTER * v
        moved = MOMENTUM * moved - step * gradient
        v = v + moved
    return v


class WordSetsReader(ValueClassifierReader):
    """See ``WordSets``."""

    name = "wr-bow"
    model = WordSets


class AveragesReader(ValueClassifierReader):
    """See ``Averages``."""

    name = "wr-average"
    model = Averages


class ParagraphsReader(ValueClassifierReader):
    """See ``Paragraphs``."""

    name = "wr-paragraph"
    model = Paragraphs

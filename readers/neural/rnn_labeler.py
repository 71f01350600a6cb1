"""The reader ``rnn-labeler``: which words of the document are the answer (Hewlett et al. 2016, 3.2)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import torch
from torch.nn import GRU, Dropout, Linear, Module

from readers.neural.layers import WordEmbedding, pad_sequences, reverse_sequences
from readers.neural.property_example import PropertyExample, sequence
from readers.neural.property_reader import PropertyReader
from readers.reading import Answer, Span
from text.dates import parse_day

THRESHOLD = 0.5  # of a word that is part of an answer


class RnnLabeler(Module):
    """The probability of each word to be part of an answer.

    z_t = [GRU(z_{t-1}, x_t); GRU(z_{t+1}, x_t)] over property, separator and document,  p_t = σ(v . z_t + b)

    The paper's reads forwards alone; what comes after a word says as much of it.
    """

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = WordEmbedding(words, d, dropout, std=0.1)
        self.forwards = GRU(d, hidden, batch_first=True)
        self.backwards = GRU(d, hidden, batch_first=True)
        self.v = Linear(2 * hidden, 1)
        self.dropout = Dropout(dropout)

    def forward(self, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """The logits of p, (rows, words), of ``ids`` (rows, words) before their ``lengths`` (rows,)."""
        x = self.words(ids)
        along, _ = self.forwards(x)
        back, _ = self.backwards(reverse_sequences(x, lengths))
        z = torch.cat([along, reverse_sequences(back, lengths)], 2)
        logits: torch.Tensor = self.v(self.dropout(z)).squeeze(2)
        return logits


class RnnLabelerReader(PropertyReader):
    """Gives the runs of words above ``THRESHOLD``, by the harmonic mean of their probabilities.

    A day is written as WikiReading has it, whatever the order in the document, which is its support.
    """

    name = "rnn-labeler"
    shipped = True

    @classmethod
    def net(cls, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``PropertyReader.net``."""
        return RnnLabeler(words, **sizes)

    def _answer(self, examples: Sequence[PropertyExample], n_best: int) -> list[list[Answer]]:
        found = [sequence(example, self._vocabulary) for example in examples]
        p = self._net(*pad_sequences([ids for ids, _ in found], self._device)).sigmoid().cpu()
        return [
            sorted(
                _runs(example, row[first : first + len(example.words)].tolist()), key=lambda one: -one.score
            )
            for row, (_, first), example in zip(p, found, examples, strict=True)
        ]


def _runs(example: PropertyExample, p: Sequence[float]) -> Iterator[Answer]:
    for above, run in groupby(range(len(p)), key=lambda i: p[i] > THRESHOLD):
        if not above:
            continue
        members = list(run)
        mean = len(members) / sum(1 / p[i] for i in members)
        text = example.text(members[0], members[-1])
        place = Span(0, example.starts[members[0]], example.ends[members[-1]])
        day = parse_day(text)
        if day is None or str(day) == text:
            yield Answer(text, mean, mean, place)
        else:
            yield Answer(str(day), mean, mean, None, support=place)

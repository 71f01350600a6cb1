"""The readers ``wr-seq2seq`` and ``wr-placeholder``: values word by word (Hewlett et al. 2016, 3.3)."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch.nn import GRU, Dropout, Linear, Module, Parameter

from readers.default.beam_search import Written, likeliest
from readers.default.torch_decoding import grow
from readers.neural.entities import MARKERS
from readers.neural.layers import (
    MASKED,
    WordEmbedding,
    final_states,
    pad_sequences,
    reverse_sequences,
    sequence_mask,
)
from readers.neural.property_example import PropertyExample
from readers.neural.property_reader import PropertyReader
from readers.neural.vocabulary import BEGIN, END, FIRST_MARKER, SEPARATOR, UNKNOWN, Vocabulary
from readers.reading import Answer, Span, merged
from text.detokenise import joined

BEAMS = 4  # and so many answers at most
LONGEST = 12  # words of an answer
_PLACEHOLDERS = range(FIRST_MARKER, FIRST_MARKER + MARKERS)


@dataclass(frozen=True, slots=True)
class DocumentIds:
    """Property, separator and document by ids; ``occurrences`` are the document's words by placeholder."""

    ids: tuple[int, ...]
    occurrences: Mapping[int, int]

    def target(self, words: Sequence[str], example: PropertyExample, vocabulary: Vocabulary) -> list[int]:
        """The ids of an answer, unknown words by the placeholder of their first occurrence."""
        first: dict[str, int] = {}
        for placeholder, word in sorted(self.occurrences.items(), key=lambda pair: pair[1]):
            first.setdefault(example.words[word], placeholder)
        pairs = zip(vocabulary.ids(words), words, strict=True)
        return [first.get(word, UNKNOWN) if id == UNKNOWN else id for id, word in pairs]


def numbered(
    example: PropertyExample, vocabulary: Vocabulary, rng: random.Random | None = None
) -> DocumentIds:
    """The example by ids; with ``rng`` each occurrence of an unknown word gets a placeholder at random.

    No two have the same; where there are more than ``MARKERS`` the last ones stay unknown.
    """
    words = vocabulary.ids(example.words)
    occurrences: dict[int, int] = {}
    if rng is not None:
        unknown = [place for place, id in enumerate(words) if id == UNKNOWN][:MARKERS]
        occurrences = dict(zip(rng.sample(_PLACEHOLDERS, len(unknown)), unknown, strict=True))
        for placeholder, place in occurrences.items():
            words[place] = placeholder
    return DocumentIds((*vocabulary.ids(example.property), SEPARATOR, *words), occurrences)


@dataclass(frozen=True, slots=True)
class Memory:
    """What was read: ``z`` (rows, words, 2 hidden), where it is real (rows, words), and the last states."""

    z: torch.Tensor
    real: torch.Tensor
    last: torch.Tensor

    def repeated(self, times: int) -> Memory:
        """Each row so many times in a row."""
        z, real = (one.repeat_interleave(times, 0) for one in (self.z, self.real))
        return Memory(z, real, self.last.repeat_interleave(times, 0))


class PropertySeq2Seq(Module):
    """Reads property, separator and document, and writes the value.

    z_t = [GRU(z_{t-1}, x_t); GRU(z_{t+1}, x_t)],  h_0 = the last states
    h_t = GRU(h_{t-1}, x(y_{t-1})),  a_t = softmax(z . W h_t) z
    p(y_t) = softmax(X (W_o [h_t; a_t]) + b), X the word vectors, in and out the same

    The paper's decoder knows the last state alone; ``attention`` 0 is that, and 1, by default, adds a_t
    (Luong et al. 2015, equations 5 and 7), which learns far more of few documents.
    """

    def __init__(self, words: int, d: int, hidden: int, attention: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = WordEmbedding(words, d, dropout, std=0.1)
        self.forwards = GRU(d, hidden, batch_first=True)
        self.backwards = GRU(d, hidden, batch_first=True)
        self.decoder = GRU(d, 2 * hidden, batch_first=True)
        self.w = Linear(2 * hidden, 2 * hidden, bias=False) if attention else None
        self.w_o = Linear((2 + 2 * attention) * hidden, d)
        self.b = Parameter(torch.zeros(words))
        self.dropout = Dropout(dropout)

    def encode(self, ids: torch.Tensor, lengths: torch.Tensor) -> Memory:
        """What was read of ``ids`` (rows, words) before their ``lengths`` (rows,)."""
        x = self.words(ids)
        along, _ = self.forwards(x)
        back, _ = self.backwards(reverse_sequences(x, lengths))
        z = torch.cat([along, reverse_sequences(back, lengths)], 2)
        return Memory(z, sequence_mask(lengths, ids.shape[1]), final_states(z, lengths))

    def forward(self, y: torch.Tensor, h: torch.Tensor, memory: Memory) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of the word after each of ``y`` (rows, steps), (rows, steps, words), and the state after."""
        states, h = self.decoder(self.words(y), h)
        if self.w is not None:
            scores = self.w(states) @ memory.z.transpose(1, 2)
            attention = scores.masked_fill(~memory.real[:, None], MASKED).softmax(2)
            states = torch.cat([states, attention @ memory.z], 2)
        return self.w_o(self.dropout(states)) @ self.words.table.weight.T + self.b, h


class _Beams:
    """Beams of the model, see ``readers.default.torch_decoding.Growing``."""

    def __init__(self, net: PropertySeq2Seq, memory: Memory, forbidden: torch.Tensor) -> None:
        self._net, self._memory = net, memory.repeated(BEAMS)
        self._h = self._memory.last[None].contiguous()
        self._forbidden = forbidden.repeat_interleave(BEAMS, 0)

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        logits, self._h = self._net(tokens[:, None], self._h, self._memory)
        log_p: torch.Tensor = logits[:, 0].float().log_softmax(1)
        return log_p.masked_fill(self._forbidden, -torch.inf)

    def keep(self, rows: torch.Tensor) -> None:
        self._h = self._h[:, rows]  # beams of one document stay beside it


class PropertySeq2SeqReader(PropertyReader):
    """Writes the likeliest values; where the document has the same words in a row, it is quoted."""

    name = "wr-seq2seq"
    placeholders = False

    @classmethod
    def net(cls, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``PropertyReader.net``."""
        return PropertySeq2Seq(words, **sizes)

    def _answer(self, examples: Sequence[PropertyExample], n_best: int) -> list[list[Answer]]:
        seen = [
            numbered(one, self._vocabulary, random.Random(one.document) if self.placeholders else None)
            for one in examples
        ]
        memory = self._net.encode(*pad_sequences([one.ids for one in seen], self._device))
        beams = _Beams(self._net, memory, self._forbidden(seen))
        found = grow(beams, len(examples), self._device, BEGIN, END, BEAMS, LONGEST)
        return [
            merged((self._text(example, one, w) for w in likeliest(written)), n_best)
            for example, one, written in zip(examples, seen, found, strict=True)
        ]

    def _forbidden(self, seen: Sequence[DocumentIds]) -> torch.Tensor:
        """True at what is no word, and at placeholders of nothing; (rows, words)."""
        forbidden = torch.zeros(len(seen), len(self._vocabulary), dtype=torch.bool)
        forbidden[:, [UNKNOWN, BEGIN, SEPARATOR, *_PLACEHOLDERS]] = True
        for row, one in enumerate(seen):
            forbidden[row, list(one.occurrences)] = False
        return forbidden.to(self._device)

    def _text(self, example: PropertyExample, seen: DocumentIds, written: Written) -> Answer:
        words = [
            example.words[seen.occurrences[id]] if id in seen.occurrences else self._vocabulary.key(id)
            for id in written.tokens
        ]
        confidence = min(1.0, math.exp(written.log_probability / (len(words) + 1)))
        place = example.place_of(words)
        if place is None:
            return Answer(joined(words), written.log_probability, confidence, None)
        first, last = place
        span = Span(0, example.starts[first], example.ends[last])
        return Answer(example.text(first, last), written.log_probability, confidence, span)


class PlaceholderReader(PropertySeq2SeqReader):
    """As ``PropertySeq2SeqReader``; unknown words can be copied, each occurrence by a name of its own."""

    name = "wr-placeholder"
    shipped = True
    placeholders = True

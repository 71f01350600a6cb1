"""The readers ``wr-char`` and ``wr-char-lm``: values by character (Hewlett et al. 2016, 3.3.3, 3.3.4)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch.nn import GRU, Dropout, Linear, Module

from readers.default.beam_search import Written, likeliest
from readers.default.torch_decoding import grow
from readers.neural.entities import MARKERS
from readers.neural.layers import WordEmbedding, pad_sequences
from readers.neural.property_example import PropertyExample
from readers.neural.property_reader import PropertyReader
from readers.neural.vocabulary import BEGIN, END, FIRST_MARKER, SEPARATOR, UNKNOWN, Vocabulary
from readers.reading import Answer, Span, merged

DOCUMENT, PROPERTY = 400, 20  # characters that are read
LONGEST = 40  # characters of an answer
BEAMS = 4  # and so many answers at most


class CharSeq2Seq(Module):
    """Reads the document with the property in mind, and writes the value.

    s = the last GRU state of the property's characters
    u_t = GRU(u_{t-1}, x_t),  z_t = GRU(z_{t-1}, u_t) with z_0 = s,  over the document's
    h_t = GRU(h_{t-1}, x(y_{t-1})) with h_0 the last z,  p(y_t) = softmax(W h_t + b)
    """

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.words = WordEmbedding(words, d, 0.0, std=0.3)
        self.property = GRU(d, hidden, batch_first=True)
        self.first = GRU(d, hidden, batch_first=True)
        self.second = GRU(hidden, hidden, batch_first=True)
        with torch.no_grad():  # remember the property at first, over hundreds of characters
            self.second.get_parameter("bias_ih_l0")[hidden : 2 * hidden] = 2.0
        self.decoder = GRU(d, hidden, batch_first=True)
        self.w = Linear(hidden, words)
        self.dropout = Dropout(dropout)

    def encode(
        self, asked: torch.Tensor, asked_lengths: torch.Tensor, ids: torch.Tensor, lengths: torch.Tensor
    ) -> torch.Tensor:
        """The state that the decoder begins with, (1, rows, hidden), of both by ids before their lengths."""
        s = _at(self.property(self.words(asked))[0], asked_lengths)
        u, _ = self.first(self.words(ids))
        z, _ = self.second(self.dropout(u), s[None].contiguous())
        return _at(z, lengths)[None].contiguous()

    def forward(self, y: torch.Tensor, h: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits of the character after each of ``y`` (rows, steps), and the state after."""
        states, h = self.decoder(self.words(y), h)
        return self.w(self.dropout(states)), h


def _at(states: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The state at the last token of each row, (rows, hidden)."""
    return states[torch.arange(len(states), device=states.device), lengths - 1]


class _Beams:
    """Beams of the model, see ``readers.default.torch_decoding.Growing``."""

    def __init__(self, net: CharSeq2Seq, h: torch.Tensor) -> None:
        self._net, self._h = net, h.repeat_interleave(BEAMS, 1)
        never = [UNKNOWN, BEGIN, SEPARATOR, *range(FIRST_MARKER, FIRST_MARKER + MARKERS)]
        self._never = torch.tensor(never, device=h.device)

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        logits, self._h = self._net(tokens[:, None], self._h)
        log_p: torch.Tensor = logits[:, 0].float().log_softmax(1)
        return log_p.index_fill(1, self._never, -torch.inf)

    def keep(self, rows: torch.Tensor) -> None:
        self._h = self._h[:, rows]


def char_ids(
    examples: Sequence[PropertyExample], vocabulary: Vocabulary, device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Properties and documents as ``CharSeq2Seq.encode`` takes them; none is empty."""
    asked = [vocabulary.ids(" ".join(one.property)[:PROPERTY]) or [UNKNOWN] for one in examples]
    read = [vocabulary.ids(one.document[:DOCUMENT]) for one in examples]
    return (*pad_sequences(asked, device), *pad_sequences(read, device))


class CharReader(PropertyReader):
    """Writes the likeliest values; one that the document has is quoted where it first stands."""

    name = "wr-char"

    @classmethod
    def net(cls, words: int, sizes: Mapping[str, int]) -> Module:
        """See ``PropertyReader.net``."""
        return CharSeq2Seq(words, **sizes)

    def _answer(self, examples: Sequence[PropertyExample], n_best: int) -> list[list[Answer]]:
        h = self._net.encode(*char_ids(examples, self._vocabulary, self._device))
        found = grow(_Beams(self._net, h), len(examples), self._device, BEGIN, END, BEAMS, LONGEST)
        answers = []
        for example, written in zip(examples, found, strict=True):
            texts = (self._text(example, one) for one in likeliest(written))
            answers.append(merged((one for one in texts if one.text.strip()), n_best))
        return answers

    def _text(self, example: PropertyExample, written: Written) -> Answer:
        text = "".join(self._vocabulary.key(id) for id in written.tokens).strip()
        confidence = min(1.0, math.exp(written.log_probability / (len(written.tokens) + 1)))
        start = example.document.find(text) if text else -1
        span = Span(0, start, start + len(text)) if start >= 0 else None
        return Answer(text, written.log_probability, confidence, span)


class CharLmReader(CharReader):
    """As ``CharReader``; the document's first layer and the decoder began as a language model."""

    name = "wr-char-lm"

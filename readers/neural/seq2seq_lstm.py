"""The reader ``seq2seq-lstm``: answers written from the question alone, no context read.

Sequence to sequence (Sutskever et al. 2014), the question encoded both ways, as Kočiský et al. 2018,
section 4.2, have it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch
from torch.nn import LSTM, Dropout, Linear, Module, Parameter

from readers.default.beam_search import Written, likeliest
from readers.default.torch_decoding import grow
from readers.neural.entities import MARKERS
from readers.neural.example import Example, encode_answer
from readers.neural.layers import BiLstm, WordEmbedding, final_states, pad_sequences
from readers.neural.reader import LoadedModel, NeuralReader
from readers.neural.vocabulary import BEGIN, END, FIRST_MARKER, SEPARATOR, UNKNOWN
from readers.reading import Answer, Reading, merged
from text.detokenise import joined

BEAMS = 8  # and so many answers at most
LONGEST = 25  # words of an answer
RANKED = 40  # words of a candidate that count

DecoderState = tuple[torch.Tensor, torch.Tensor]  # its h and c, each (1, answers, hidden)


class Seq2SeqLstm(Module):
    """Writes y_1 .. y_T' after having read x_1 .. x_T.

    v          = W_v [the final states of BiLSTM(x)], tanh, the state that the decoder begins with
    h_t        = LSTM(h_{t-1}, x(y_{t-1})),  h_0 = v
    p(y_1 .. y_T' | x) = prod_t p(y_t | v, y_1 .. y_{t-1}),  p = softmax(X W_o h_t + b)     (1)

    The equation is that of Sutskever et al., section 2. X are the word vectors, in and out the same, so
    that the model stays small.
    """

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.2) -> None:
        super().__init__()
        self.words = WordEmbedding(words, d, dropout)
        self.encoder = BiLstm(d, hidden)
        self.w_v = Linear(2 * hidden, 2 * hidden)
        self.decoder = LSTM(d, 2 * hidden, batch_first=True)
        self.w_o = Linear(2 * hidden, d)
        self.b = Parameter(torch.zeros(words))
        self.dropout = Dropout(dropout)

    def encode(self, x: torch.Tensor, lengths: torch.Tensor) -> DecoderState:
        """What the decoder begins with, of the questions ``x`` (questions, tokens)."""
        v = self.w_v(self.dropout(final_states(self.encoder(self.words(x), lengths), lengths))).tanh()
        return v[None], torch.zeros_like(v)[None]

    def forward(self, y: torch.Tensor, state: DecoderState) -> tuple[torch.Tensor, DecoderState]:
        """log p of the word after each of ``y`` (answers, steps), (answers, steps, words), and the state."""
        h, state = self.decoder(self.words(y), state)
        o = self.w_o(self.dropout(h))
        return (o @ self.words.table.weight.T + self.b).float().log_softmax(2), state


class _Beams:
    """Beams of the model, see ``readers.default.torch_decoding.Growing``.

    The words ``forbidden`` (questions, words) are never written.
    """

    def __init__(self, model: Seq2SeqLstm, state: DecoderState, forbidden: torch.Tensor) -> None:
        self._model = model
        h, c = state
        self._state: DecoderState = h.repeat_interleave(BEAMS, 1), c.repeat_interleave(BEAMS, 1)
        self._forbidden = forbidden.repeat_interleave(BEAMS, 0)

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        log_p: torch.Tensor
        log_p, self._state = self._model(tokens[:, None], self._state)
        return log_p[:, 0].masked_fill(self._forbidden, -torch.inf)

    def keep(self, rows: torch.Tensor) -> None:
        h, c = self._state
        self._state = h[:, rows], c[:, rows]


class Seq2SeqLstmReader(NeuralReader):
    """Writes the likeliest answer to the question by beam search, ``BEAMS`` at most.

    The passages lend it their names alone: a marker becomes the name that it stands for there. The score is
    the log-probability, the confidence the geometric mean of the words' probabilities.
    """

    name = "seq2seq-lstm"
    model = Seq2SeqLstm

    def _answer(
        self, readings: Sequence[Reading], examples: Sequence[Example], n_best: int
    ) -> list[list[Answer]]:
        model = self._answer_model
        with torch.inference_mode():
            beams = _Beams(model.net, _encode_questions(model, examples), _forbidden(model, examples))
            found = grow(beams, len(examples), model.device, BEGIN, END, BEAMS, LONGEST)
        return [
            merged(self._texts(example, written), n_best)
            for example, written in zip(examples, found, strict=True)
        ]

    def _texts(self, example: Example, written: Sequence[Written]) -> Iterator[Answer]:
        """The written answers as text."""
        vocabulary = self._answer_model.vocabulary
        for one in likeliest(written):
            text = joined(example.entities.unmark([vocabulary.key(id) for id in one.tokens]))
            confidence = min(1.0, math.exp(one.log_probability / (len(one.tokens) + 1)))
            yield Answer(text, one.log_probability, confidence, None)

    def _rank(self, example: Example, candidates: Sequence[str]) -> list[float]:
        """The mean log-likelihood of each candidate's words and its end.

        Words that the vocabulary does not have are as likely as the one that stands for them all.
        """
        model = self._rank_model
        keys = [encode_answer(candidate, example.entities)[:RANKED] for candidate in candidates]
        targets, lengths = pad_sequences(
            [[*model.vocabulary.ids(of_one), END] for of_one in keys], model.device
        )
        with torch.inference_mode():
            h, c = _encode_questions(model, [example])
            state = h.expand(-1, len(keys), -1).contiguous(), c.expand(-1, len(keys), -1).contiguous()
            log_p, _ = model.net(shift_right(targets), state)
        chosen = log_p.gather(2, targets[:, :, None])[:, :, 0].cpu()
        return [float(row[:length].mean()) for row, length in zip(chosen, lengths.tolist(), strict=True)]


def shift_right(targets: torch.Tensor) -> torch.Tensor:
    """What stands before each of ``targets`` (answers, steps)."""
    return torch.cat([torch.full_like(targets[:, :1], BEGIN), targets[:, :-1]], 1)


def _encode_questions(model: LoadedModel, examples: Sequence[Example]) -> DecoderState:
    state: DecoderState = model.net.encode(
        *pad_sequences([model.vocabulary.ids(one.question) for one in examples], model.device)
    )
    return state


def _forbidden(model: LoadedModel, examples: Sequence[Example]) -> torch.Tensor:
    """True at what is no word, and at markers that stand for nothing in the example; (examples, words)."""
    forbidden = torch.zeros(len(examples), len(model.vocabulary), dtype=torch.bool)
    forbidden[:, [UNKNOWN, BEGIN, SEPARATOR]] = True
    forbidden[:, FIRST_MARKER : FIRST_MARKER + MARKERS] = True
    for row, one in enumerate(examples):
        forbidden[row, [FIRST_MARKER + number for number in one.entities.names]] = False
    return forbidden.to(model.device)

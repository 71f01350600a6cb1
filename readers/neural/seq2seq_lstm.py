"""The reader ``seq2seq-lstm``: answers written from the question alone, no context read (section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from readers.default.beam_search import grow, likeliest
from readers.neural.entities import MARKERS
from readers.neural.example import Example, keys_of
from readers.neural.layers import padded
from readers.neural.reader import Known, NeuralReader
from readers.neural.seq2seq_lstm_net import Memory, Seq2SeqLstm
from readers.neural.vocabulary import APART, BEGIN, END, UNKNOWN
from readers.reading import Answer, Reading
from text.detokenise import joined

BEAMS = 8  # and so many answers at most
LONGEST = 25  # words of an answer
RANKED = 40  # words of a candidate that count


class _Growing:
    """Beams of the model, see ``readers.default.beam_search.Growing``.

    ``barred`` (questions, words) are never written.
    """

    def __init__(self, model: Seq2SeqLstm, memory: Memory, barred: torch.Tensor) -> None:
        self._model = model
        h, c = memory
        self._memory: Memory = h.repeat_interleave(BEAMS, 1), c.repeat_interleave(BEAMS, 1)
        self._barred = barred.repeat_interleave(BEAMS, 0)

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        log_p: torch.Tensor
        log_p, self._memory = self._model(tokens[:, None], self._memory)
        return log_p[:, 0].masked_fill(self._barred, -torch.inf)

    def keep(self, rows: torch.Tensor) -> None:
        h, c = self._memory
        self._memory = h[:, rows], c[:, rows]


class Seq2SeqLstmReader(NeuralReader):
    """Writes the likeliest answer to the question by beam search; the passages lend it their names alone.

    A marker becomes the name that it stands for in the passages. The score is the log-probability, the
    confidence the geometric mean of the words' probabilities.
    """

    name = "seq2seq-lstm"
    model = Seq2SeqLstm

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; ``BEAMS`` answers at most."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        answers: list[list[Answer]] = [[] for _ in readings]
        known = self._answering
        for members, examples in self._batches(readings):
            with torch.inference_mode():
                growing = _Growing(known.model, _memory(known, examples), _barred(known, examples))
                found = grow(growing, len(examples), known.device, BEGIN, END, BEAMS, LONGEST)
            for i, example, written in zip(members, examples, found, strict=True):
                texts: dict[str, Answer] = {}
                for one in likeliest(written):
                    text = joined(example.entities.unmark([known.vocabulary.key(n) for n in one.tokens]))
                    confidence = min(1.0, math.exp(one.log_probability / (len(one.tokens) + 1)))
                    texts.setdefault(text.lower(), Answer(text, one.log_probability, confidence, None))
                answers[i] = list(texts.values())[:n_best]
        return answers

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """The mean log-likelihood of each candidate's words and its end.

        Words that the vocabulary does not have are as likely as the one that stands for them all.
        """
        example = self._see(reading)
        if not len(example.text.ids) or not candidates:
            return [0.0] * len(candidates)
        known = self._ranking
        keys = [keys_of(candidate, example.entities)[:RANKED] for candidate in candidates]
        targets, lengths = padded([[*known.vocabulary.numbers(of_one), END] for of_one in keys], known.device)
        with torch.inference_mode():
            h, c = _memory(known, [example])
            memory = h.expand(-1, len(keys), -1).contiguous(), c.expand(-1, len(keys), -1).contiguous()
            log_p, _ = known.model(preceded(targets), memory)
        chosen = log_p.gather(2, targets[:, :, None])[:, :, 0].cpu()
        return [float(row[:length].mean()) for row, length in zip(chosen, lengths.tolist(), strict=True)]


def preceded(targets: torch.Tensor) -> torch.Tensor:
    """What stands before each of ``targets`` (answers, steps)."""
    return torch.cat([torch.full_like(targets[:, :1], BEGIN), targets[:, :-1]], 1)


def _memory(known: Known, examples: Sequence[Example]) -> Memory:
    memory: Memory = known.model.encode(
        *padded([known.vocabulary.numbers(one.question) for one in examples], known.device)
    )
    return memory


def _barred(known: Known, examples: Sequence[Example]) -> torch.Tensor:
    """True at what is no word, and at markers that stand for nothing in the example; (examples, words)."""
    barred = torch.zeros(len(examples), len(known.vocabulary), dtype=torch.bool)
    barred[:, [UNKNOWN, BEGIN, APART]] = True
    first = APART + 1
    barred[:, first : first + MARKERS] = True
    for row, one in enumerate(examples):
        barred[row, [first + number for number in one.entities.names]] = False
    return barred.to(known.device)

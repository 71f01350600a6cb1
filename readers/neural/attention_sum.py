"""The reader ``attention-sum``: answers written with words of the context (section 4.2)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from readers.default.beam_search import Written, grow, likeliest
from readers.neural.attention_sum_net import (
    APART_TYPE,
    BEGIN_TYPE,
    END_TYPE,
    AttentionSum,
    Document,
    per_answer,
    probabilities,
)
from readers.neural.example import APART_KEY, END_KEY, Example, keys_of
from readers.neural.layers import padded
from readers.neural.reader import NeuralReader
from readers.neural.vocabulary import APART, BEGIN, END, Vocabulary
from readers.reading import Answer, Reading, Span
from text.detokenise import appended
from text.sentences import sentence_spans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BEAMS = 8  # and so many answers at most
LONGEST = 25  # words of an answer
RANKED = 40  # words of a candidate that count
UNIFORM = 0.01  # of a word's probability in a ranking is the same for every word there is


class Pointed:
    """The words of a context by type: ``keys`` tells the type of each; the end stands last in ``types``."""

    def __init__(self, example: Example, vocabulary: Vocabulary) -> None:
        self.example = example
        self.keys: dict[str, int] = {APART_KEY: APART_TYPE, END_KEY: END_TYPE}
        for key in example.context:
            self.keys.setdefault(key, len(self.keys) + 1)  # 0 is BEGIN_TYPE, which stands nowhere
        self.types = [*(self.keys[key] for key in example.context), END_TYPE]
        words = [key for key, number in self.keys.items() if number > APART_TYPE]
        self.words = [BEGIN, END, APART, *vocabulary.numbers(words)]
        self.context = [self.words[number] for number in self.types]
        self.question = vocabulary.numbers(example.question)

    def of(self, keys: Sequence[str]) -> list[int]:
        """The types of an answer's keys, the end after them; -1 for words that the context does not have."""
        return [*(self.keys.get(key, -1) for key in keys), END_TYPE]


def encoded(model: AttentionSum, batch: Sequence[Pointed], device: torch.device) -> Document:
    """What the model points into, for a batch."""
    context, contexts = padded([one.context for one in batch], device)
    query, queries = padded([one.question for one in batch], device)
    types, _ = padded([one.types for one in batch], device)
    words, _ = padded([one.words for one in batch], device)
    return model.encode(context, contexts, query, queries, types, words)


class _Growing:
    """Beams of the model, see ``readers.default.beam_search.Growing``."""

    def __init__(self, model: AttentionSum, document: Document, batch: Sequence[Pointed]) -> None:
        self._model, self._document = model, document
        self._state = model.begin(document, len(batch) * BEAMS)
        self._barred = torch.ones(len(batch), document.words.shape[1], dtype=torch.bool)
        for row, one in enumerate(batch):
            self._barred[row, END_TYPE] = False
            self._barred[row, APART_TYPE + 1 : len(one.words)] = False
        self._barred = self._barred.to(document.words.device)

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        words = per_answer(self._document.words, len(tokens)).gather(1, tokens[:, None])[:, 0]
        self._state = self._model.step(tokens, words, self._state, self._document)
        log_p = self._document.sums(self._state.s).clamp_min(1e-30).log()
        return log_p.masked_fill(per_answer(self._barred, len(tokens)), -torch.inf)

    def keep(self, rows: torch.Tensor) -> None:
        self._state = self._state.keep(rows)


class AttentionSumReader(NeuralReader):
    """Writes an answer of words that stand in the passages, the likeliest by beam search.

    Words that were read beside one another are given as they stand there. An answer is supported by the
    sentence that most of it was pointed at; its score is its log-probability, its confidence the
    geometric mean of its words' probabilities.
    """

    name = "attention-sum"
    model = AttentionSum

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; ``BEAMS`` answers at most."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        answers: list[list[Answer]] = [[] for _ in readings]
        known = self._answering
        for members, examples in self._batches(readings):
            batch = [Pointed(example, known.vocabulary) for example in examples]
            with torch.inference_mode():
                document = encoded(known.model, batch, known.device)
                growing = _Growing(known.model, document, batch)
                found = grow(growing, len(batch), known.device, BEGIN_TYPE, END_TYPE, BEAMS, LONGEST)
                for row, (i, one, beams) in enumerate(zip(members, batch, found, strict=True)):
                    written = likeliest(beams)
                    s = self._traced(_row(document, row), one, written)
                    answers[i] = _answers(readings[i], one, written, s, n_best)
        return answers

    def _traced(self, document: Document, one: Pointed, written: Sequence[Written]) -> torch.Tensor:
        """What each word of each answer was pointed at by, (answers, words, positions)."""
        targets, _ = padded([answer.tokens for answer in written], self._device)
        words = torch.tensor(one.words, device=self._device)[targets]
        here = document.types[0][None, None, :] == targets[:, :, None]
        s: torch.Tensor = self._answering.model.trace(targets, words, document) * here
        return s[:, :, : len(one.types)].cpu()

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """The mean log-likelihood of each candidate's words and its end.

        A word that the context does not have, and to the same part any other, is as likely as each word
        of the vocabulary: P(w) = (1 - u) (pointed at) + u / words, u = ``UNIFORM``.
        """
        example = self._see(reading)
        if not len(example.text.ids) or not candidates:
            return [0.0] * len(candidates)
        known = self._ranking
        one = Pointed(example, known.vocabulary)
        keys = [keys_of(candidate, example.entities)[:RANKED] for candidate in candidates]
        targets, lengths = padded([one.of(of_one) for of_one in keys], known.device)
        words, _ = padded([[*known.vocabulary.numbers(of_one), END] for of_one in keys], known.device)
        with torch.inference_mode():
            document = encoded(known.model, [one], known.device)
            s = known.model.trace(targets, words, document)
            p = (1 - UNIFORM) * probabilities(s, targets, document) + UNIFORM / len(known.vocabulary)
        log_p = p.log().cpu()
        return [float(row[:length].mean()) for row, length in zip(log_p, lengths.tolist(), strict=True)]


def _row(document: Document, row: int) -> Document:
    rows = slice(row, row + 1)
    return Document(document.f[rows], document.g[rows], document.types[rows], document.words[rows])


def _answers(
    reading: Reading, one: Pointed, written: Sequence[Written], s: torch.Tensor, n_best: int
) -> list[Answer]:
    """The first written answers as text, each text once, with the sentences they rest on."""
    found: dict[str, Answer] = {}
    for answer, pointed in zip(written, s, strict=True):
        if len(found) == n_best:
            break
        text = _text(reading, one, answer.tokens, pointed)
        if text and text.lower() not in found:
            confidence = min(1.0, math.exp(answer.log_probability / (len(answer.tokens) + 1)))
            support = _support(reading, one, pointed[: len(answer.tokens)].sum(0).numpy())
            found[text.lower()] = Answer(text, answer.log_probability, confidence, None, support)
    return list(found.values())


def _text(reading: Reading, one: Pointed, written: Sequence[int], pointed: torch.Tensor) -> str:
    """The words as they stand where they were read; what parts neighbours in the text parts them here."""
    text, before = "", -1
    example, where = one.example, one.example.token_of
    for number, weights in zip(written, pointed, strict=False):
        after = before + 1
        at = after if before >= 0 and one.types[after] == number else int(weights.argmax())
        token = int(where[at])
        passage, start, end = example.text.place(token, token + 1)
        word = reading.passages[passage][start:end]
        if text and at == after:
            gap = reading.passages[passage][example.text.place(token - 1, token)[2] : start]
            text += (" " if gap and not gap.strip() else gap) + word
        else:
            text = appended(text, word)
        before = at
    return text


def _support(reading: Reading, one: Pointed, mass: NDArray[np.float32]) -> Span | None:
    """The sentence on which most of ``mass`` (positions,) lies."""
    import numpy as np

    text = one.example.text
    of_token = mass[one.example.position_of]
    best, place = 0.0, None
    for number, passage in enumerate(reading.passages):
        low, high = text.first[number : number + 2].tolist()
        if of_token[low:high].sum() <= best:
            continue
        sentences = sentence_spans(passage)
        sentence = np.searchsorted([end for _, end in sentences], text.starts[low:high], side="right")
        held = np.bincount(sentence, of_token[low:high], len(sentences))
        if held.max() > best:
            best = float(held.max())
            place = Span(number, *sentences[int(held.argmax())])
    return place

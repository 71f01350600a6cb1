"""The reader ``attention-sum``: answers written with words of the context.

The Attention Sum Reader (Kadlec et al. 2016) with an LSTM that chooses a word of the context at each step, as
Kočiský et al. 2018, section 4.2, make it write answers. The symbols are those of Kadlec et al., section 3:
d the document, q the query, f and g their encoders.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import Dropout, Linear, LSTMCell, Module

from readers.default.beam_search import Written, likeliest
from readers.default.torch_decoding import grow
from readers.neural.example import Example, encode_answer
from readers.neural.layers import MASKED, BiLstm, WordEmbedding, final_states, pad_sequences, sequence_mask
from readers.neural.reader import NeuralReader
from readers.neural.vocabulary import BEGIN, END, END_KEY, SEPARATOR, SEPARATOR_KEY, Vocabulary
from readers.reading import Answer, Reading, Span, merged
from text.detokenise import appended
from text.sentences import sentence_spans

BEAMS = 8  # and so many answers at most
LONGEST = 25  # words of an answer
RANKED = 40  # words of a candidate that count
UNIFORM = 0.01  # of a word's probability in a ranking is the same for every word there is
BEGIN_TYPE, END_TYPE, SEPARATOR_TYPE = range(3)  # of every document, before the types of its words


@dataclass(frozen=True, slots=True)
class Document:
    """What is pointed into: ``f`` (readings, positions, 2 hidden) and ``g`` (readings, 2 hidden).

    ``types`` (readings, positions) tell the word type at each position, -1 for padding, and ``words``
    (readings, types) the vocabulary's id of each type. The last position of each is the end.
    """

    f: torch.Tensor
    g: torch.Tensor
    types: torch.Tensor
    words: torch.Tensor

    def word_probabilities(self, s: torch.Tensor) -> torch.Tensor:
        """P(w) of every type, (answers, types), of ``s`` (answers, positions): Kadlec et al., equation 2.

        P(w | q, d) is the sum of s_i over the positions i in I(w, d) at which w stands.
        """
        types = per_answer(self.types, len(s))
        found = torch.zeros(len(s), self.words.shape[1] + 1, device=s.device)
        return found.scatter_add(1, types + 1, s)[:, 1:]

    def row(self, row: int) -> Document:
        """One reading's alone."""
        rows = slice(row, row + 1)
        return Document(self.f[rows], self.g[rows], self.types[rows], self.words[rows])


@dataclass(frozen=True, slots=True)
class DecoderState:
    """The decoder's ``h`` and ``c`` (answers, 2 hidden), and where it points, ``s`` (answers, positions)."""

    h: torch.Tensor
    c: torch.Tensor
    s: torch.Tensor

    def keep(self, rows: torch.Tensor) -> DecoderState:
        """Go on with these answers, in this order."""
        return replace(self, h=self.h[rows], c=self.c[rows], s=self.s[rows])


def per_answer(of_readings: torch.Tensor, answers: int) -> torch.Tensor:
    """What each answer has of its reading, all answers to a reading in a row."""
    return of_readings.repeat_interleave(answers // len(of_readings), 0)


class AttentionSum(Module):
    """Which word of the context comes next, until the end, which stands last in it.

    f_i(d)  = BiLSTM(d)_i,   g(q) = the final states of BiLSTM(q)                      section 3
    r_t     = sum of s_{t,i} f_i over i in I(y_t, d), over the sum of those s_{t,i}    what y_t was read from
    h_t     = LSTM(h_{t-1}, [x(y_{t-1}); r_{t-1}]),   h_0 = tanh(W_0 g(q))             the decoder
    s_{t,i} = softmax_i(f_i(d) . W_s [h_t; g(q)])                                      equation 1
    P(y_t = w | y_{<t}, q, d) = sum of s_{t,i} over i in I(w, d)                       equation 2

    r is the selective read of Gu et al. 2016 (section 3.3): without it a word that the vocabulary does
    not have would leave no trace in the decoder.
    """

    def __init__(self, words: int, d: int, hidden: int, dropout: float = 0.2) -> None:
        super().__init__()
        width = 2 * hidden
        self.words = WordEmbedding(words, d, dropout, std=1.0)  # large, as in Bidaf, and for the same reason
        self.f, self.g = BiLstm(d, hidden), BiLstm(d, hidden)
        self.w_0, self.w_s = Linear(width, width), Linear(2 * width, width)
        self.decoder = LSTMCell(d + width, width)
        self.dropout = Dropout(dropout)

    def encode(
        self,
        context: torch.Tensor,
        contexts: torch.Tensor,
        query: torch.Tensor,
        queries: torch.Tensor,
        types: torch.Tensor,
        words: torch.Tensor,
    ) -> Document:
        """``context`` (readings, positions) and ``query`` are ids of words, each before its lengths."""
        f = self.f(self.words(context), contexts)
        g = final_states(self.g(self.words(query), queries), queries)
        types = types.masked_fill(~sequence_mask(contexts, types.shape[1]), -1)
        return Document(self.dropout(f), self.dropout(g), types, words)

    def initial_state(self, document: Document, answers: int) -> DecoderState:
        """The state before ``answers`` answers, as many to each reading."""
        h = per_answer(self.w_0(document.g).tanh(), answers)
        positions = document.types.shape[1]
        return DecoderState(h, torch.zeros_like(h), torch.zeros(answers, positions, device=h.device))

    def step(self, y: torch.Tensor, x: torch.Tensor, state: DecoderState, document: Document) -> DecoderState:
        """The state after the types ``y`` (answers,), in the vocabulary ``x``, and what it points to next."""
        answers = len(y)
        types = per_answer(document.types, answers)
        chosen = state.s * (types == y[:, None])
        chosen = chosen / chosen.sum(1, keepdim=True).clamp_min(1e-9)
        grouped = chosen.view(len(document.f), -1, chosen.shape[1])
        r = (grouped.to(document.f.dtype) @ document.f).flatten(0, 1)
        h, c = self.decoder(torch.cat([self.words(x), r], 1), (state.h, state.c))
        query = self.w_s(torch.cat([h, per_answer(document.g, answers)], 1))
        queries = query.view(len(document.f), -1, query.shape[1])
        scores = (queries @ document.f.transpose(1, 2)).flatten(0, 1).float()
        s = scores.masked_fill(types < 0, MASKED).softmax(1)
        return DecoderState(h, c, s)

    def attention(self, targets: torch.Tensor, words: torch.Tensor, document: Document) -> torch.Tensor:
        """s of every step, (answers, steps, positions), as ``targets`` (answers, steps) are written.

        These are types, -1 for words that the document does not have, and ``words`` the same words in
        the vocabulary.
        """
        state = self.initial_state(document, len(targets))
        y, x = torch.full_like(targets[:, 0], BEGIN_TYPE), torch.full_like(words[:, 0], BEGIN)
        found = []
        for t in range(targets.shape[1]):
            state = self.step(y, x, state, document)
            found.append(state.s)
            y, x = targets[:, t], words[:, t]
        return torch.stack(found, 1)


def target_probabilities(s: torch.Tensor, targets: torch.Tensor, document: Document) -> torch.Tensor:
    """P(y_t) of ``targets`` (answers, steps), 0 for what stands nowhere, of ``s`` as ``attention`` has it."""
    types = per_answer(document.types, len(targets))
    return (s * (types[:, None, :] == targets[:, :, None])).sum(2)


class TypedContext:
    """An example's context by word types: ``type_of`` has that of each key; ``types`` end with the end."""

    def __init__(self, example: Example, vocabulary: Vocabulary) -> None:
        self.example = example
        self.type_of: dict[str, int] = {SEPARATOR_KEY: SEPARATOR_TYPE, END_KEY: END_TYPE}
        for key in example.context:
            self.type_of.setdefault(key, len(self.type_of) + 1)  # 0 is BEGIN_TYPE, which stands nowhere
        self.types = [*(self.type_of[key] for key in example.context), END_TYPE]
        words = [key for key, type in self.type_of.items() if type > SEPARATOR_TYPE]
        self.words = [BEGIN, END, SEPARATOR, *vocabulary.ids(words)]
        self.context = [self.words[type] for type in self.types]
        self.question = vocabulary.ids(example.question)

    def targets(self, keys: Sequence[str]) -> list[int]:
        """The types of an answer's keys, the end after them; -1 for words that the context does not have."""
        return [*(self.type_of.get(key, -1) for key in keys), END_TYPE]


def encode_documents(model: AttentionSum, batch: Sequence[TypedContext], device: torch.device) -> Document:
    """What the model points into, for a batch."""
    context, contexts = pad_sequences([one.context for one in batch], device)
    query, queries = pad_sequences([one.question for one in batch], device)
    types, _ = pad_sequences([one.types for one in batch], device)
    words, _ = pad_sequences([one.words for one in batch], device)
    return model.encode(context, contexts, query, queries, types, words)


class _Beams:
    """Beams of the model, see ``readers.default.torch_decoding.Growing``."""

    def __init__(self, model: AttentionSum, document: Document, batch: Sequence[TypedContext]) -> None:
        self._model, self._document = model, document
        self._state = model.initial_state(document, len(batch) * BEAMS)
        self._forbidden = torch.ones(len(batch), document.words.shape[1], dtype=torch.bool)
        for row, one in enumerate(batch):
            self._forbidden[row, END_TYPE] = False
            self._forbidden[row, SEPARATOR_TYPE + 1 : len(one.words)] = False
        self._forbidden = self._forbidden.to(document.words.device)

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        words = per_answer(self._document.words, len(tokens)).gather(1, tokens[:, None])[:, 0]
        self._state = self._model.step(tokens, words, self._state, self._document)
        log_p = self._document.word_probabilities(self._state.s).clamp_min(1e-30).log()
        return log_p.masked_fill(per_answer(self._forbidden, len(tokens)), -torch.inf)

    def keep(self, rows: torch.Tensor) -> None:
        self._state = self._state.keep(rows)


class AttentionSumReader(NeuralReader):
    """Writes an answer of words that stand in the passages, the likeliest by beam search, ``BEAMS`` at most.

    Words that were read beside one another are given as they stand there. An answer is supported by the
    sentence that most of it was pointed at; its score is its log-probability, its confidence the
    geometric mean of its words' probabilities.
    """

    name = "attention-sum"
    model = AttentionSum

    def _answer(
        self, readings: Sequence[Reading], examples: Sequence[Example], n_best: int
    ) -> list[list[Answer]]:
        net, device = self._answer_model.net, self._device
        batch = [TypedContext(example, self._answer_model.vocabulary) for example in examples]
        answers = []
        with torch.inference_mode():
            document = encode_documents(net, batch, device)
            beams = _Beams(net, document, batch)
            found = grow(beams, len(batch), device, BEGIN_TYPE, END_TYPE, BEAMS, LONGEST)
            for row, (reading, one, of_one) in enumerate(zip(readings, batch, found, strict=True)):
                written = likeliest(of_one)
                s = self._pointed_at(document.row(row), one, written)
                answers.append(_answers(reading, one, written, s, n_best))
        return answers

    def _pointed_at(
        self, document: Document, context: TypedContext, written: Sequence[Written]
    ) -> torch.Tensor:
        """What each word of each answer was pointed at by, (answers, words, positions)."""
        targets, _ = pad_sequences([answer.tokens for answer in written], self._device)
        words = torch.tensor(context.words, device=self._device)[targets]
        here = document.types[0][None, None, :] == targets[:, :, None]
        s: torch.Tensor = self._answer_model.net.attention(targets, words, document) * here
        return s[:, :, : len(context.types)].cpu()

    def _rank(self, example: Example, candidates: Sequence[str]) -> list[float]:
        """The mean log-likelihood of each candidate's words and its end.

        A word that the context does not have, and to the same part any other, is as likely as each word
        of the vocabulary: P(w) = (1 - u) (pointed at) + u / words, u = ``UNIFORM``.
        """
        net, vocabulary, device = self._rank_model.net, self._rank_model.vocabulary, self._device
        context = TypedContext(example, vocabulary)
        keys = [encode_answer(candidate, example.entities)[:RANKED] for candidate in candidates]
        targets, lengths = pad_sequences([context.targets(of_one) for of_one in keys], device)
        words, _ = pad_sequences([[*vocabulary.ids(of_one), END] for of_one in keys], device)
        with torch.inference_mode():
            document = encode_documents(net, [context], device)
            s = net.attention(targets, words, document)
            p = (1 - UNIFORM) * target_probabilities(s, targets, document) + UNIFORM / len(vocabulary)
        log_p = p.log().cpu()
        return [float(row[:length].mean()) for row, length in zip(log_p, lengths.tolist(), strict=True)]


def _answers(
    reading: Reading, context: TypedContext, written: Sequence[Written], s: torch.Tensor, n_best: int
) -> list[Answer]:
    """The first written answers as text that differ, with the sentences they rest on."""
    found = []
    for answer, pointed in zip(written, s, strict=True):
        text = _text(reading, context, answer.tokens, pointed)
        if text:
            confidence = min(1.0, math.exp(answer.log_probability / (len(answer.tokens) + 1)))
            support = _support(reading, context, pointed[: len(answer.tokens)].sum(0).numpy())
            found.append(Answer(text, answer.log_probability, confidence, None, support))
    return merged(found, n_best)


def _text(reading: Reading, context: TypedContext, written: Sequence[int], pointed: torch.Tensor) -> str:
    """The words as they stand where they were read; what parts neighbours in the text parts them here."""
    text, before = "", -1
    example, token_of = context.example, context.example.token_of
    for type, weights in zip(written, pointed, strict=False):
        after = before + 1
        at = after if before >= 0 and context.types[after] == type else int(weights.argmax())
        token = int(token_of[at])
        passage, start, end = example.text.place(token, token + 1)
        word = reading.passages[passage][start:end]
        if text and at == after:
            gap = reading.passages[passage][example.text.place(token - 1, token)[2] : start]
            text += (" " if gap and not gap.strip() else gap) + word
        else:
            text = appended(text, word)
        before = at
    return text


def _support(reading: Reading, context: TypedContext, mass: NDArray[np.float32]) -> Span | None:
    """The sentence on which most of ``mass`` (positions,) lies."""
    text = context.example.text
    of_token = mass[context.example.position_of]
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

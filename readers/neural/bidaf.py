"""The reader ``bidaf``: the span that BiDAF predicts.

BiDAF (Seo et al. 2016) as Kočiský et al. 2018, section 4.2, simplify it: words alone, and one layer of
modelling. The symbols are those of Seo et al., section 2: d word and LSTM dimensions, T context words,
J query words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import Dropout, Linear, Module

from readers.neural.checkpoint import Checkpoint
from readers.neural.example import Example
from readers.neural.layers import MASKED, BiLstm, WordEmbedding, pad_sequences, sequence_mask
from readers.neural.reader import LoadedModel, NeuralReader
from readers.neural.vocabulary import Vocabulary
from readers.reading import Answer, Reading, Span, merged
from text.closest_spans import Best, best_spans
from text.tokens import tokens

LONGEST = 40  # tokens of an answer
_KEPT = 500  # spans, to choose several answers from that do not overlap
_ABSENT = -1_000.0  # the rank of a candidate that shares no word with the text: below any other


class Batch(NamedTuple):
    """The input: ``context`` (rows, T) and ``query`` (rows, J) as ids of words, and their lengths.

    ``answerable`` (rows, T) is True at what an answer can begin and end with.
    """

    context: torch.Tensor
    contexts: torch.Tensor
    query: torch.Tensor
    queries: torch.Tensor
    answerable: torch.Tensor


class Highway(Module):
    """y = g * relu(W_H x) + (1 - g) * x with g = sigmoid(W_T x): Srivastava et al. 2015, equation 3.

    The gate's bias begins at -2, so that x is mostly passed on at first (their section 2.2).
    """

    def __init__(self, d: int) -> None:
        super().__init__()
        self.change, self.gate = Linear(d, d), Linear(d, d)
        torch.nn.init.constant_(self.gate.bias, -2.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = self.gate(x).sigmoid()
        y: torch.Tensor = gate * self.change(x).relu() + (1 - gate) * x
        return y


class AttentionFlow(Module):
    """Attention in both directions, Seo et al. 2016, section 2, layer 4.

    S_tj = w_S . [h_t; u_j; h_t * u_j]                                   (1)
    a_t = softmax(S_t:),        u~_t = sum_j a_tj u_j                    context to query
    b = softmax(max_col(S)),    h~ = sum_t b_t h_t                       query to context
    g_t = beta(h_t, u~_t, h~) = [h_t; u~_t; h_t * u~_t; h_t * h~]        (2)
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.w_h, self.w_u = Linear(width, 1, bias=False), Linear(width, 1, bias=False)
        self.w_hu = torch.nn.Parameter(torch.ones(width))  # at first S is the likeness of h_t and u_j

    def forward(
        self, h: torch.Tensor, u: torch.Tensor, in_context: torch.Tensor, in_query: torch.Tensor
    ) -> torch.Tensor:
        """G, (rows, T, 4 width), of ``h`` (rows, T, width) and ``u`` (rows, J, width)."""
        s = self.w_h(h) + self.w_u(u).transpose(1, 2) + (h * self.w_hu) @ u.transpose(1, 2)  # (rows, T, J)
        s = s.masked_fill(~in_query[:, None, :], MASKED)
        attended = s.softmax(2) @ u  # u~, (rows, T, width)
        b = s.amax(2).masked_fill(~in_context, MASKED).softmax(1)
        summary = (b[:, None, :] @ h).expand_as(h)  # h~, T times
        return torch.cat([h, attended, h * attended, h * summary], 2)


class Bidaf(Module):
    """Which span answers: the probability of every word as its start and, apart from that, as its end.

    X, Q      word vectors, through two highway layers              layers 2 (of 1, the characters, none)
    H, U      = BiLSTM(X), BiLSTM(Q), the same one, in R^{2d}       layer 3
    G         = the attention flow of H and U, in R^{8d}            layer 4
    M         = BiLSTM(G) in R^{2d}: one layer where Seo has two    layer 5
    p1        = softmax(w_p1 . [G; M])                              (3)
    p2        = softmax(w_p2 . [G; M2]),  M2 = BiLSTM(M)            layer 6
    """

    def __init__(self, words: int, d: int, dropout: float = 0.2) -> None:
        super().__init__()
        # With smaller vectors all h are alike at first: a word then finds itself in the query no better than
        # any other, and tens of thousands of examples go by before the attention is of use.
        self.words = WordEmbedding(words, d, dropout, std=2.0)
        self.highway = torch.nn.Sequential(Highway(d), Highway(d))
        self.contextual = BiLstm(d, d)
        self.flow = AttentionFlow(2 * d)
        self.modelling = BiLstm(8 * d, d)
        self.output = BiLstm(2 * d, d)
        self.w_p1, self.w_p2 = Linear(10 * d, 1), Linear(10 * d, 1)
        self.dropout = Dropout(dropout)

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
        """log p1 and log p2, each (rows, T)."""
        x, q = self.highway(self.words(batch.context)), self.highway(self.words(batch.query))
        h, u = self.contextual(x, batch.contexts), self.contextual(q, batch.queries)
        in_context = sequence_mask(batch.contexts, x.shape[1])
        g = self.dropout(self.flow(h, self.dropout(u), in_context, sequence_mask(batch.queries, q.shape[1])))
        m = self.dropout(self.modelling(g, batch.contexts))
        m2 = self.dropout(self.output(m, batch.contexts))
        return (
            self._log_softmax(self.w_p1(torch.cat([g, m], 2)), batch.answerable),
            self._log_softmax(self.w_p2(torch.cat([g, m2], 2)), batch.answerable),
        )

    @staticmethod
    def _log_softmax(scores: torch.Tensor, answerable: torch.Tensor) -> torch.Tensor:
        return scores.squeeze(2).float().masked_fill(~answerable, MASKED).log_softmax(1)


def span_loss(
    log_p1: torch.Tensor, log_p2: torch.Tensor, first: torch.Tensor, last: torch.Tensor
) -> torch.Tensor:
    """L = -(1/N) sum_i log p1_{y1_i} + log p2_{y2_i}: Seo et al. 2016, equation 4."""
    rows = torch.arange(len(first), device=log_p1.device)
    return -(log_p1[rows, first] + log_p2[rows, last]).mean()


class BidafReader(NeuralReader):
    """Answers with the span of the highest p1(first) p2(last), Seo et al. 2016, section 2.

    An answer's score is the log of that, its confidence that probability itself.
    """

    name = "bidaf"
    model = Bidaf

    def __init__(self, answering: Checkpoint, ranking: Checkpoint | None = None) -> None:
        super().__init__(answering, ranking)
        self._closest = lru_cache(maxsize=4_096)(self._closest_spans)

    def _answer(
        self, readings: Sequence[Reading], examples: Sequence[Example], n_best: int
    ) -> list[list[Answer]]:
        scored = log_probabilities(self._answer_model, examples)
        return [
            _answers(reading, example, log_p1, log_p2, n_best)
            for reading, example, (log_p1, log_p2) in zip(readings, examples, scored, strict=True)
        ]

    def _rank(self, example: Example, candidates: Sequence[str]) -> list[float]:
        """The log-likelihood of each candidate as a span, wherever in the text it stands.

        One that stands nowhere is as likely as the spans nearest to it by ROUGE-L, times that ROUGE-L,
        which is 1 for one that does; one that shares no word with the text ranks last.
        """
        ((log_p1, log_p2),) = log_probabilities(self._rank_model, [example])
        return [
            log_likelihood(self._closest(example.text.passages, candidate), log_p1, log_p2)
            for candidate in candidates
        ]

    def _closest_spans(self, passages: tuple[str, ...], candidate: str) -> Best:
        return best_spans(self._text(passages), [token.key for token in tokens(candidate)])


def encode_batch(examples: Sequence[Example], vocabulary: Vocabulary, device: torch.device) -> Batch:
    """The examples as the model takes them; an answer begins and ends with a token, never a separator."""
    context, contexts = pad_sequences([vocabulary.ids(one.context) for one in examples], device)
    query, queries = pad_sequences([vocabulary.ids(one.question) for one in examples], device)
    answerable = torch.zeros(context.shape, dtype=torch.bool)
    for row, one in enumerate(examples):
        answerable[row, torch.from_numpy(one.position_of)] = True
    return Batch(context, contexts, query, queries, answerable.to(device))


def log_probabilities(
    model: LoadedModel, examples: Sequence[Example]
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """log p1 and log p2 of every token of each example's text, (tokens,) each."""
    with torch.inference_mode():
        both = model.net(encode_batch(examples, model.vocabulary, model.device))
    log_p1, log_p2 = (log_p.cpu().numpy() for log_p in both)
    return [(log_p1[row][one.position_of], log_p2[row][one.position_of]) for row, one in enumerate(examples)]


def _answers(
    reading: Reading,
    example: Example,
    log_p1: NDArray[np.float32],
    log_p2: NDArray[np.float32],
    n_best: int,
) -> list[Answer]:
    """The likeliest spans that differ and do not overlap, ties to the earlier and shorter."""
    size = len(log_p1)
    passage = np.repeat(np.arange(len(example.text.first) - 1), np.diff(example.text.first))
    begin = np.repeat(np.arange(size), LONGEST)
    last = begin + np.tile(np.arange(LONGEST), size)
    whole = last < size
    whole[whole] = passage[last[whole]] == passage[begin[whole]]  # no span crosses into another passage
    begin, last = begin[whole], last[whole]
    scores = log_p1[begin] + log_p2[last]
    order = np.argsort(-scores, kind="stable")[:_KEPT].tolist()
    answers: list[Answer] = []
    taken: list[tuple[int, int]] = []
    for i in order:
        first, end = int(begin[i]), int(last[i]) + 1
        if any(first < other[1] and other[0] < end for other in taken):
            continue
        taken.append((first, end))
        place = Span(*example.text.place(first, end))
        text = reading.passages[place.passage][place.start : place.end]
        score = float(scores[i])
        answers.append(Answer(text, score, min(1.0, math.exp(score)), place))
    return merged(answers, n_best)


def log_likelihood(best: Best, log_p1: NDArray[np.float32], log_p2: NDArray[np.float32]) -> float:
    """The log-probability of any of the spans, times their ROUGE-L with what is looked for."""
    if not len(best.begin):
        return _ABSENT
    log_p = log_p1[best.begin].astype(np.float64) + log_p2[best.end - 1]
    return float(np.logaddexp.reduce(log_p)) + math.log(best.rouge_l)

"""The span prediction of section 4.2: the reader ``bidaf``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from readers.neural.bidaf_net import Bidaf, Question
from readers.neural.checkpoint import Weights
from readers.neural.example import Example
from readers.neural.layers import padded
from readers.neural.reader import Known, NeuralReader
from readers.neural.vocabulary import Vocabulary
from readers.reading import Answer, Reading, Span
from text.closest_spans import Best, best_spans
from text.tokens import tokens

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST = 40  # tokens of an answer
_KEPT = 500  # spans, to choose several answers from that do not overlap
_NOT_THERE = -1_000.0  # the rank of a candidate that shares no word with the text: below any other


class BidafReader(NeuralReader):
    """Answers with the span of the highest p1(first) p2(last), Seo et al. 2016, section 2.

    An answer's score is the log of that, its confidence that probability itself.
    """

    name = "bidaf"
    model = Bidaf

    def __init__(self, weights: Weights, ranking: Weights | None = None) -> None:
        super().__init__(weights, ranking)
        self._nearest = lru_cache(maxsize=4_096)(self._found)

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        answers: list[list[Answer]] = [[] for _ in readings]
        for members, examples in self._batches(readings):
            scored = log_probabilities(self._answering, examples)
            for i, example, (log_p1, log_p2) in zip(members, examples, scored, strict=True):
                answers[i] = _answers(readings[i], example, log_p1, log_p2, n_best)
        return answers

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """The log-likelihood of each candidate as a span, wherever in the text it stands.

        One that stands nowhere is as likely as the spans nearest to it by ROUGE-L, times that ROUGE-L,
        which is 1 for one that does; one that shares no word with the text ranks last.
        """
        example = self._see(reading)
        if not len(example.text.ids) or not candidates:
            return [0.0] * len(candidates)
        ((log_p1, log_p2),) = log_probabilities(self._ranking, [example])
        return [
            likelihood(self._nearest(reading.passages, candidate), log_p1, log_p2) for candidate in candidates
        ]

    def _found(self, passages: tuple[str, ...], candidate: str) -> Best:
        return best_spans(self._text(passages), [token.key for token in tokens(candidate)])


def question(examples: Sequence[Example], vocabulary: Vocabulary, device: torch.device) -> Question:
    """The examples as the model takes them; an answer begins and ends with a token, never a delimiter."""
    context, contexts = padded([vocabulary.numbers(one.context) for one in examples], device)
    query, queries = padded([vocabulary.numbers(one.question) for one in examples], device)
    answerable = torch.zeros(context.shape, dtype=torch.bool)
    for row, one in enumerate(examples):
        answerable[row, torch.from_numpy(one.position_of)] = True
    return Question(context, contexts, query, queries, answerable.to(device))


def log_probabilities(
    known: Known, examples: Sequence[Example]
) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """log p1 and log p2 of every token of each example's text, (tokens,) each."""
    with torch.inference_mode():
        both = known.model(question(examples, known.vocabulary, known.device))
    log_p1, log_p2 = (log_p.cpu().numpy() for log_p in both)
    return [(log_p1[row][one.position_of], log_p2[row][one.position_of]) for row, one in enumerate(examples)]


def _answers(
    reading: Reading,
    example: Example,
    log_p1: NDArray[np.float32],
    log_p2: NDArray[np.float32],
    n_best: int,
) -> list[Answer]:
    """The likeliest spans that do not overlap, ties to the earlier and shorter."""
    import numpy as np

    size = len(log_p1)
    passage = np.repeat(np.arange(len(example.text.first) - 1), np.diff(example.text.first))
    begin = np.repeat(np.arange(size), LONGEST)
    last = begin + np.tile(np.arange(LONGEST), size)
    inside = last < size
    inside[inside] = passage[last[inside]] == passage[begin[inside]]
    begin, last = begin[inside], last[inside]
    scores = log_p1[begin] + log_p2[last]
    order = np.argsort(-scores, kind="stable")[:_KEPT].tolist()
    answers: list[Answer] = []
    taken: list[tuple[int, int]] = []
    for i in order:
        first, end = int(begin[i]), int(last[i]) + 1
        if len(answers) == n_best:
            break
        if any(first < other[1] and other[0] < end for other in taken):
            continue
        taken.append((first, end))
        place = Span(*example.text.place(first, end))
        text = reading.passages[place.passage][place.start : place.end]
        score = float(scores[i])
        answers.append(Answer(text, score, min(1.0, math.exp(score)), place))
    return answers


def likelihood(best: Best, log_p1: NDArray[np.float32], log_p2: NDArray[np.float32]) -> float:
    """The log-probability of any of the spans, times their ROUGE-L with what is looked for."""
    import numpy as np

    if not len(best.begin):
        return _NOT_THERE
    log_p = log_p1[best.begin].astype(np.float64) + log_p2[best.end - 1]
    return float(np.logaddexp.reduce(log_p)) + math.log(best.rouge_l)

"""The extractive reader: the span of least risk over all windows of all passages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.cross_encoder import WEIGHTS, EncodedWindow, load_crossencoder
from encoders.sizes import LARGE, weights_folder
from readers.reading import Answer, PassageEncoder, Ranker, Reading, Span, encode_readings, merged, overlap

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LONGEST_ANSWER = 40  # tokens
KEPT_PER_WINDOW = 20
KEPT = 40
WORD = re.compile(r"\w+")
# A start and an end are scored apart, so that the start of one answer goes well with the end of another, far
# behind it. Chosen on held-out FairytaleQA train stories and on SQuAD train.
WORD_COST = 0.05
SENTENCE_COST = 2.0


class SpanReader(Ranker):
    """Reads every window of every passage and answers with the span of least risk.

    ``version`` is its encoder's, which tells weights apart.
    """

    def __init__(self, encoder: PassageEncoder) -> None:
        self._encoder = encoder
        self.version = encoder.version

    @classmethod
    def load(cls, argument: str | None) -> SpanReader:
        """The shipped reader, small or ``LARGE``, or the model that ``argument`` leads to.

        That is a folder in which ``storyqa train span`` left its weights, or the folder or hub name
        of a Hugging Face model. Raises ModelError where there is none or it answers no questions.
        """
        if argument in (None, LARGE) or (weights_folder("encoders.weights", argument) / WEIGHTS).is_file():
            return cls(load_crossencoder(argument))
        from readers.external.huggingface.question_answering import QuestionAnsweringEncoder

        return cls(QuestionAnsweringEncoder.load(argument))

    def prepare(self, readings: Sequence[Reading]) -> list[Reading]:
        """See ``Reader.prepare``: what the encoder says of every passage."""
        return encode_readings(self._encoder, readings)

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; an answer's score and confidence are the word F1 it is expected to have."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        return [believed(one, candidate_spans(one)).answers(n_best) for one in self.prepare(readings)]

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``: the word F1 each candidate is expected to have against the spans read."""
        [prepared] = self.prepare([reading])
        return believed(prepared, candidate_spans(prepared)).f1(candidates)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A span with its unnormalised log-probability, start score + end score."""

    span: Span
    score: float


def candidate_spans(reading: Reading) -> list[Candidate]:
    """The likeliest spans of a prepared reading, best first."""
    return pool(
        [
            candidate
            for passage, encoded in enumerate(reading.encoded)
            if encoded is not None
            for window in encoded.windows
            for candidate in window_candidates(passage, window, LONGEST_ANSWER, KEPT_PER_WINDOW)
        ],
        KEPT,
    )


@dataclass(frozen=True, slots=True, eq=False)
class Believed:
    """What may be the answer: ``texts``, the ``chances`` of each, (texts,), and where it stands.

    A text without a span, which nobody reads there, rests on the likeliest of the spans.
    """

    texts: Sequence[str]
    chances: NDArray[np.float64]
    spans: Sequence[Span | None]

    @property
    def certainty(self) -> float:
        """The chance of the likeliest; 0 where there is none."""
        return float(self.chances.max()) if self.texts else 0.0

    def f1(self, texts: Sequence[str]) -> list[float]:
        """The word F1 that each of these is expected to have; 0 where nothing is believed."""
        if not self.texts or not texts:
            return [0.0] * len(texts)
        return [float(one) for one in expected_f1(texts, self.texts, self.chances)]

    def answers(self, n_best: int) -> list[Answer]:
        """The ``n_best`` of least risk that differ, none overlapping another."""
        import numpy as np

        f1 = np.clip(self.f1(self.texts), 0.0, 1.0)
        # Stable: the likelier span wins a tie, which sums in another order may tell apart in the last digits.
        order = np.argsort(-f1.round(9), kind="stable").tolist()
        likeliest = next((span for span in self.spans if span is not None), None)
        found = (
            Answer(
                self.texts[i],
                float(f1[i]),
                float(f1[i]),
                self.spans[i],
                support=likeliest if self.spans[i] is None else None,
            )
            for i in without_overlaps(order, self.spans)
        )
        return merged(found, n_best)


def believed(reading: Reading, candidates: Sequence[Candidate]) -> Believed:
    """That the answer is one of these spans, as likely as their scores say; the likeliest first."""
    spans = [candidate.span for candidate in candidates]
    texts = [reading.passages[span.passage][span.start : span.end] for span in spans]
    return Believed(texts, probabilities(candidates), spans)


def window_candidates(passage: int, encoded: EncodedWindow, longest: int, keep: int) -> list[Candidate]:
    """The ``keep`` best spans of a window of a passage by start[i] + end[j] with i <= j < i + ``longest``.

    Spans begin and end with whole words, and not with a token of space alone; each word costs ``WORD_COST``,
    and running on into another sentence ``SENTENCE_COST``. Decoding rule otherwise: Chen et al. 2017,
    section 3.2, over the ``keep`` best starts and ends.
    """
    import numpy as np

    window, start, end = encoded.window, encoded.start, encoded.end
    words = np.asarray(window.words)
    begins = np.flatnonzero(np.r_[True, words[1:] != words[:-1]])
    offsets = np.asarray(window.offsets)
    ends = np.flatnonzero(np.r_[words[1:] != words[:-1], True] & (offsets[:, 0] < offsets[:, 1]))
    i = begins[np.argsort(-start[begins], kind="stable")[:keep]]
    j = ends[np.argsort(-end[ends], kind="stable")[:keep]]
    scores = start[i][:, None] + end[j][None, :]  # (starts, ends)
    valid = (i[:, None] <= j[None, :]) & (j[None, :] < i[:, None] + longest)
    spaced = np.cumsum(np.r_[False, offsets[1:, 0] > offsets[:-1, 1]])  # words before, as spaces part them
    sentences = np.asarray(window.sentences)
    scores = scores - WORD_COST * (spaced[j][None, :] - spaced[i][:, None] + 1)
    scores = scores - SENTENCE_COST * (sentences[j][None, :] != sentences[i][:, None])
    scores = np.where(valid, scores, -np.inf)
    best = np.argsort(-scores, axis=None, kind="stable")[: min(keep, int(valid.sum()))]
    rows, columns = np.unravel_index(best, scores.shape)
    return [
        Candidate(
            Span(passage, window.offsets[i[row]][0], window.offsets[j[column]][1]),
            float(scores[row, column]),
        )
        for row, column in zip(rows, columns, strict=True)
    ]


def pool(candidates: Sequence[Candidate], keep: int) -> list[Candidate]:
    """The ``keep`` best candidates; a span seen from two overlapping windows counts once."""
    best: dict[Span, Candidate] = {}
    for candidate in candidates:
        known = best.get(candidate.span)
        if known is None or candidate.score > known.score:
            best[candidate.span] = candidate
    return sorted(best.values(), key=_place)[:keep]


def _place(candidate: Candidate) -> tuple[float, int, int, int]:
    span = candidate.span
    return -candidate.score, span.passage, span.start, span.end


def probabilities(candidates: Sequence[Candidate]) -> NDArray[np.float64]:
    """Probabilities of shape (candidates,), normalised over all windows of all passages at once.

    Shared normalisation (Clark and Gardner 2018, section 3.3) is what makes spans of different
    passages comparable; the model was trained so.
    """
    import numpy as np

    scores = np.array([candidate.score for candidate in candidates], dtype=np.float64)
    weights = np.exp(scores - scores.max(initial=-np.inf))
    return np.asarray(weights / weights.sum())


def expected_f1(
    texts: Sequence[str], references: Sequence[str], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """The word F1 that each text is expected to score, of shape (texts,).

    ``references`` are what the answer may be, with probabilities ``weights``. Choosing the text
    that maximises it is minimum Bayes risk decoding (Kumar and Byrne 2004, section 2).
    """
    import numpy as np

    bags = [[w.lower() for w in WORD.findall(text)] or [text.strip()] for text in (*texts, *references)]
    vocabulary = {word: n for n, word in enumerate(dict.fromkeys(word for bag in bags for word in bag))}
    counts = np.zeros((len(bags), len(vocabulary)), dtype=np.int32)
    for row, bag in enumerate(bags):
        for word in bag:
            counts[row, vocabulary[word]] += 1
    ours, theirs = counts[: len(texts)], counts[len(texts) :]
    shared = np.minimum(ours[:, None, :], theirs[None, :, :]).sum(-1)  # (texts, references)
    f1 = 2 * shared / (ours.sum(-1)[:, None] + theirs.sum(-1)[None, :])
    return np.asarray(f1 @ weights)


def without_overlaps(order: Sequence[int], spans: Sequence[Span | None]) -> list[int]:
    """The positions of ``order`` whose spans, where they have one, share no character with an earlier one."""
    chosen: list[int] = []
    taken: list[Span] = []
    for i in order:
        span = spans[i]
        if span is None or not any(overlap(span, other) for other in taken):
            chosen.append(i)
            taken += [] if span is None else [span]
    return chosen

"""The default reader: spans and written answers side by side, and the one that is probably better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from encoders.cross_encoder import WindowRead, load_crossencoder
from encoders.windows import Window
from readers.default.answer_selector import Judge, Logistic, Signals, choose, load_judges
from readers.default.generate import GenerateReader
from readers.default.span import BackboneScorer, SpanReader
from readers.default.span_decoding import expected_f1
from readers.reading import Answer, Ranker, Reading, Span

SPANS = 5  # candidates of each reader
WRITTEN = 3
F1_WEIGHT = 32.0  # in a ranking: chosen on 45 held-out questions about summaries, from 2 to 48


class AutoReader(Ranker):
    """Gives the best answer of the span reader or of the generator, whichever a judge chooses.

    The score is the ROUGE-L that an answer is expected to have, by a logistic model of what both
    readers say of it; the confidence the probability that it is 0.5 or more
    (``readers.default.answer_selector``). The other candidates follow, none with more of either.
    """

    def __init__(self, span: SpanReader, generate: GenerateReader, judge: Judge) -> None:
        self._span, self._generate, self._judge = span, generate, judge
        self.version = generate.version
        self.encoder = generate.encoder

    @classmethod
    def load(cls, argument: str | None) -> AutoReader:
        """The shipped readers and judge, or those of a folder. Raises ModelError where one is missing."""
        return cls(*_readers(argument), load_judges(argument)["auto"])

    @classmethod
    def unjudged(cls, argument: str | None) -> AutoReader:
        """The readers of a folder with a judge that finds all answers alike: to fit another with."""
        return cls(*_readers(argument), Judge(Logistic(0.0, {}), Logistic(0.0, {})))

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``: spans, and written answers that rest on a sentence."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        return [
            self._ranked(reading, *of_one)[:n_best]
            for reading, of_one in zip(readings, self.candidates(readings), strict=True)
        ]

    def _ranked(
        self, reading: Reading, candidates: Sequence[Answer], signals: Sequence[Signals]
    ) -> list[Answer]:
        if not candidates:
            return []
        features = [one.features(reading.question) for one in signals]
        worth = [self._judge.worth(one) for one in features]
        right = [self._judge.right(one) for one in features]
        best = choose(worth, [one.written for one in signals])
        order = sorted(range(len(candidates)), key=lambda i: (i != best, -worth[i]))
        return [
            replace(candidates[i], score=min(worth[i], worth[best]), confidence=min(right[i], right[best]))
            for i in order
        ]

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``: log-probability per token + ``F1_WEIGHT`` times the expected word F1."""
        written = self._generate.rank(reading, candidates)
        spans = self._span.rank(reading, candidates)
        return [log_p + F1_WEIGHT * f1 for log_p, f1 in zip(written, spans, strict=True)]

    def candidates(self, readings: Sequence[Reading]) -> list[tuple[list[Answer], list[Signals]]]:
        """The candidates of both readers for each reading, and what is known of each."""
        spans = self._span.read(readings, SPANS)
        written = self._generate.read(readings, WRITTEN)
        return [self._signals(*one) for one in zip(readings, spans, written, strict=True)]

    def _signals(
        self, reading: Reading, spans: Sequence[Answer], written: Sequence[Answer]
    ) -> tuple[list[Answer], list[Signals]]:
        import numpy as np

        known = {answer.text.lower() for answer in spans}
        candidates = [*spans, *(answer for answer in written if answer.text.lower() not in known)]
        if not candidates:
            return [], []
        texts = [answer.text for answer in candidates]
        f1_spans = self._span.rank(reading, texts)
        chances = np.exp([answer.score for answer in written])
        f1_written = (
            expected_f1(texts, [answer.text for answer in written], chances / chances.sum()).tolist()
            if written
            else [0.0] * len(texts)
        )
        log_probabilities = self._generate.rank(reading, texts)
        (windows,) = self.encoder.windows([(reading.question, reading.passages)])
        reads = self.encoder.read(windows)
        best = max((read.relevance for read in reads), default=0.0)
        certainty = self._span.certainty(reading)
        alone = len(reading.passages[0].split()) if len(reading.passages) == 1 else None
        return candidates, [
            Signals(
                written=answer.span is None,
                words=len(answer.text.split()),
                f1_spans=f1_spans[i],
                f1_written=f1_written[i],
                log_probability=log_probabilities[i],
                relevance=best,
                own_relevance=_relevance(answer.span or answer.support, windows, reads),
                certainty=certainty,
                alone=alone,
            )
            for i, answer in enumerate(candidates)
        ]


def _readers(argument: str | None) -> tuple[SpanReader, GenerateReader]:
    encoder = load_crossencoder(argument)
    return SpanReader(BackboneScorer(encoder), encoder.version), GenerateReader.load(argument)


def _relevance(place: Span | None, windows: Sequence[Window], reads: Sequence[WindowRead]) -> float:
    """The relevance of the passage that a place is in; 0, even odds, for none."""
    return max(
        (
            read.relevance
            for window, read in zip(windows, reads, strict=True)
            if place is not None and window.passage == place.passage
        ),
        default=0.0,
    )

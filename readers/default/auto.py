"""The default reader: spans and written answers side by side, and the one that is probably better."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

from encoders.cross_encoder import CrossEncoder, own_crossencoder
from readers.default.answer_selector import (
    AnswerSelector,
    Logistic,
    Signals,
    choose,
    load_selector,
)
from readers.default.feelings import Feelings
from readers.default.generate import GenerateReader
from readers.default.span import (
    Believed,
    SpanReader,
    believed,
    candidate_spans,
    expected_f1,
)
from readers.default.writer import WriteReader
from readers.default.writer_prompt import REFUSAL
from readers.external.checked_reply import REFUSED
from readers.reading import Answer, Rank, Ranker, Reading, Span, encode_readings, merged
from text.equal_answers import answer_key
from text.name_signs import PERSONAL
from text.words import words

SPANS = 5  # candidates of each reader
WRITTEN = 3
F1_WEIGHT = 32.0  # in a ranking: chosen on 45 held-out questions about summaries, from 2 to 48


class AutoReader(Ranker):
    """Gives the best answer of the span reader or of a writer, whichever a selector chooses.

    Writing takes longer than all else and is seldom better, so it is done only where the selector expects
    that of the first span. The score is the ROUGE-L that an answer is expected to have, by a logistic model
    of what both readers say of it; the confidence the probability that it is 0.5 or more
    (``readers.default.answer_selector``). The other candidates follow, none with more of either. The writer
    is ``GenerateReader``, over the states of the same encoder. How somebody feels may be said in a word that
    no passage has (``Feelings``), which rests on the likeliest span.
    """

    selected_by: ClassVar[str] = "judge.json"
    refusal: ClassVar[str | None] = None  # what the writer says where the passages do not tell

    def __init__(
        self,
        encoder: CrossEncoder,
        writer: Ranker,
        selector: AnswerSelector,
        version: str | None = None,
        feelings: Feelings | None = None,
    ) -> None:
        """``encoder`` says where spans are; a ``GenerateReader`` and ``feelings`` must have the same."""
        self.encoder = encoder
        self.version = version
        self._span, self._writer, self._selector = SpanReader(encoder), writer, selector
        self._feelings = feelings

    @classmethod
    def load(cls, argument: str | None) -> Self:
        """The shipped readers and selector, or those of a folder; raises ModelError where one is missing."""
        return cls._with(load_selector(cls.selected_by, argument), argument)

    @classmethod
    def without_selector(cls, argument: str | None) -> Self:
        """The readers of a folder with a selector that finds all answers alike: to fit another with."""
        alike = Logistic(0.0, {})
        return cls._with(AnswerSelector(alike, alike, alike, alike, alike, writes_from=0.0), argument)

    @classmethod
    def _with(cls, selector: AnswerSelector, argument: str | None) -> Self:
        encoder, writer, version = cls.readers(argument)
        feelings = Feelings.load(argument, encoder)
        if feelings is not None:
            version = f"{version}+{feelings.version}"
        return cls(encoder, writer, selector, version, feelings)

    @classmethod
    def readers(cls, argument: str | None) -> tuple[CrossEncoder, Ranker, str | None]:
        """What both read by, shipped or of a folder, and the version of what they are together."""
        writer = GenerateReader.load(argument)
        return writer.encoder, writer, writer.version

    def prepare(self, readings: Sequence[Reading]) -> list[Reading]:
        """See ``Reader.prepare``: what the encoder says of every passage, for both readers."""
        return encode_readings(self.encoder, readings)

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``: spans, and written answers that rest on a sentence."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        prepared = self.prepare(readings)
        found = [self._spoken(one, n_best) for one in prepared]
        written = [i for i, one in enumerate(prepared) if self._writes(one, *found[i])]
        for i, of_one in zip(written, self.candidates([prepared[i] for i in written]), strict=True):
            found[i] = of_one
        return [
            self._ranked(reading, *of_one)[:n_best] for reading, of_one in zip(prepared, found, strict=True)
        ]

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``: log-probability per token + ``F1_WEIGHT`` times the expected word F1."""
        [prepared] = self.prepare([reading])
        written = self._writer.rank(prepared, candidates)
        spans = self._span.rank(prepared, candidates)
        return [log_p + F1_WEIGHT * f1 for log_p, f1 in zip(written, spans, strict=True)]

    def candidates(self, readings: Sequence[Reading]) -> list[tuple[list[Answer], list[Signals]]]:
        """The candidates of both readers for each reading, and what is known of each."""
        prepared = self.prepare(readings)
        found: dict[int, tuple[list[Answer], list[Signals]]] = {}
        for i, answers, rank in self._writer.read_to_rank(prepared, WRITTEN):
            written = [answer for answer in answers if answer.note != REFUSED]
            said = self._believed(prepared[i])
            spoken = said.answers(SPANS)
            both = merged([*spoken, *written], SPANS + WRITTEN)
            found[i] = both, self._signals(prepared[i], said, both, len(spoken), written, rank)
        return [found[i] for i in range(len(prepared))]

    def _spoken(self, reading: Reading, n_best: int) -> tuple[list[Answer], list[Signals]]:
        """As ``candidates`` for one reading, before anything is written."""
        said = self._believed(reading)
        best = said.answers(min(n_best, SPANS))
        return best, self._signals(reading, said, best, len(best))

    def _believed(self, reading: Reading) -> Believed:
        """What the answer may be before anything is written: a span, or what somebody feels."""
        spans = believed(reading, candidate_spans(reading))
        return spans if self._feelings is None else self._feelings.beside(spans, reading)

    def _writes(self, reading: Reading, candidates: Sequence[Answer], signals: Sequence[Signals]) -> bool:
        """Whether a written answer may be better than the first of these spans."""
        selector = self._selector
        return (
            not candidates or selector.writes(signals[0].features(reading.question)) >= selector.writes_from
        )

    def _ranked(
        self, reading: Reading, candidates: Sequence[Answer], signals: Sequence[Signals]
    ) -> list[Answer]:
        if not candidates:
            return []
        features = [one.features(reading.question) for one in signals]
        selector, alone = self._selector, signals[0].f1_written is None
        worth = list(map(selector.span_worth if alone else selector.worth, features))
        right = list(map(selector.span_right if alone else selector.right, features))
        best = choose(worth, [one.written for one in signals])
        order = sorted(range(len(candidates)), key=lambda i: (i != best, -worth[i]))
        return [
            replace(candidates[i], score=min(worth[i], worth[best]), confidence=min(right[i], right[best]))
            for i in order
        ]

    def _signals(
        self,
        reading: Reading,
        said: Believed,
        candidates: Sequence[Answer],
        spoken: int,
        written: Sequence[Answer] = (),
        rank: Rank | None = None,
    ) -> list[Signals]:
        """What is known of each candidate, by all that was ``said`` first and all that was ``written``.

        The first ``spoken`` candidates are of the former. ``rank`` is that of the writer; without it nobody
        has been asked to write.
        """
        import numpy as np

        texts = [answer.text for answer in candidates]
        f1_spans = said.f1(texts)
        f1_written: list[float] | list[None] = [None] * len(texts)
        log_probabilities: list[float] | list[None] = [None] * len(texts)
        log_refusal = None
        first_written = None
        if rank is not None:
            log_probabilities = rank([*texts, *filter(None, [self.refusal])])
            log_refusal = None if self.refusal is None else log_probabilities.pop()
            first_written = answer_key(written[0].text) if written else None
            chances = np.exp([answer.score for answer in written])
            f1_written = (
                expected_f1(texts, [answer.text for answer in written], chances / chances.sum()).tolist()
                if written
                else [0.0] * len(texts)
            )
        relevance = [0.0 if one is None else one.relevance for one in reading.encoded]
        words_read = [word for passage in reading.passages for word in words(passage)]
        personal = sum(word in PERSONAL for word in words_read) / max(1, len(words_read))
        return [
            Signals(
                # What a writer quotes is written, too, unless it is the best span.
                written=(answer.span is None and i >= spoken)
                or (i > 0 and answer_key(answer.text) == first_written),
                words=len(answer.text.split()),
                f1_spans=f1_spans[i],
                f1_written=f1_written[i],
                log_probability=log_probabilities[i],
                log_refusal=log_refusal,
                relevance=max(relevance),
                own_relevance=_relevance(answer.span or answer.support, relevance),
                certainty=said.certainty,
                passages=len(reading.passages),
                words_read=len(words_read),
                personal=personal,
            )
            for i, answer in enumerate(candidates)
        ]


class AutoWriteReader(AutoReader):
    """As ``AutoReader``; what writes is the small language model of ``WriteReader``.

    How likely it is to say that the passages do not tell is among what the selector goes by.
    """

    selected_by = "judge-write.json"
    refusal = REFUSAL

    @classmethod
    def readers(cls, argument: str | None) -> tuple[CrossEncoder, Ranker, str | None]:
        """See ``AutoReader.readers``; a folder without an encoder of its own is read with the shipped one."""
        encoder = own_crossencoder(argument)
        writer = WriteReader.load(argument)
        return encoder, writer, f"{encoder.version}+{writer.version}"


def _relevance(place: Span | None, relevance: Sequence[float]) -> float:
    """The relevance of the passage that a place is in; 0, even odds, for none."""
    return 0.0 if place is None else relevance[place.passage]

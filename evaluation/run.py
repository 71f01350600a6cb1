"""One run: every question answered once, checked against the book, scored and written down."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from answering.open_books import configured_reader
from evaluation.benchmarks.benchmark import Benchmark, Question, sample
from evaluation.metrics.metric import metrics_named
from evaluation.predictions import Prediction, PredictionFile
from evaluation.systems import (
    Answered,
    Books,
    GivenPassages,
    RetrievedPassages,
    System,
)
from evaluation.versions import code_version, encoder_version, retriever_version
from readers import spec_of
from readers.reading import Reader
from text.errors import StoryQAError
from text.spans import overlaps

log = logging.getLogger(__name__)

BATCH = 32  # questions: what is known of their passages is kept in memory together
ONE_PROCESS_CHARACTERS = 500_000  # starting other processes takes longer than indexing so much text
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is evaluated on which questions; ``mrr`` None ranks where the reader can.

    ``reader_settings`` are by the reader's kind what it is opened with, such as a chat's key.
    """

    retriever: str
    reader: str
    k: int = 5
    limit: int | None = None
    seed: int = 0
    mrr: bool | None = None
    reader_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise StoryQAError(f"--limit {self.limit}; wanted 1 or more questions")

    def open_reader(self) -> Reader:
        """The reader, opened once per process; raises as ``readers.open_reader`` does."""
        return configured_reader(self.reader, self.reader_settings)


def describe(benchmark: Benchmark, options: Options) -> dict[str, Any]:
    """The settings that a run is told from others by; what plays no part in it is None."""
    reader = options.open_reader()
    ranked = benchmark.ranked and spec_of(options.reader).ranks and options.mrr is not False
    if options.mrr and not ranked:
        what = f"reader {options.reader!r}" if benchmark.ranked else benchmark.name
        raise StoryQAError(f"--mrr asks for answers to be ranked, which {what} cannot do; leave it out")
    return {
        "benchmark": benchmark.name,
        "split": benchmark.split,
        "setting": benchmark.setting,
        "part": benchmark.part,
        "data": benchmark.fingerprint(),
        "retriever": options.retriever if benchmark.retrieved else None,
        "reader": options.reader,
        "reader_version": reader.version,
        "retriever_version": retriever_version(options.retriever) if benchmark.retrieved else None,
        "encoder_version": encoder_version() if benchmark.retrieved else None,
        "code_version": code_version(),
        "k": options.k if benchmark.retrieved else None,
        "limit": options.limit,
        "seed": options.seed,
        "ranked": ranked,
    }


def evaluate(
    benchmark: Benchmark,
    options: Options,
    out: Path,
    store: Path,
    force: bool = False,
    progress: Progress | None = None,
) -> tuple[dict[str, Any], list[Prediction]]:
    """The settings and the predictions of a run, which ``out`` keeps and goes on from after a kill.

    Where passages are to be found, the books are indexed in the folder ``store`` first. Raises
    ``RunMismatch`` where ``out`` holds another run, unless ``force``.
    """
    progress = progress or (lambda what, done, total: None)
    settings = describe(benchmark, options)
    file = PredictionFile(out, settings, force)
    questions = sample(benchmark.questions, options.limit, options.seed)
    answered = {one.id for one in file.predictions}
    remaining = [question for question in questions if question.id not in answered]
    if answered:
        log.info("%d questions were answered before; %d remain", len(answered), len(remaining))
    if remaining:
        system = _system(benchmark, options, settings["ranked"], remaining, store, progress)
        text = lru_cache(maxsize=2)(lambda id: benchmark.books[id]().text)
        # In order, so that questions about one book come together.
        for first in range(0, len(remaining), BATCH):
            batch = remaining[first : first + BATCH]
            file.append(
                [
                    _prediction(question, answer, text(question.book), benchmark.metrics)
                    for question, answer in zip(batch, system.answer(batch), strict=True)
                ]
            )
            progress("answering", len(file.predictions), len(questions))
    order = {question.id: number for number, question in enumerate(questions)}
    return settings, sorted(file.predictions, key=lambda one: order[one.id])


def _system(
    benchmark: Benchmark,
    options: Options,
    ranked: bool,
    questions: Sequence[Question],
    store: Path,
    progress: Progress,
) -> System:
    reader = options.open_reader()
    story_answers = benchmark.story_answers() if ranked else None
    if not benchmark.retrieved:
        return GivenPassages(benchmark.books, options.reader, reader, story_answers)
    from answering.book_qa import BookQA
    from indexing.store import IndexStore

    index_books(
        benchmark.books, list(dict.fromkeys(question.book for question in questions)), store, progress
    )
    qa = BookQA(IndexStore(store), settings=options.reader_settings)
    return RetrievedPassages(qa, options.retriever, options.reader, reader, options.k, story_answers)


def index_books(books: Books, ids: Sequence[str], folder: Path, progress: Progress) -> None:
    """Index the books that the store ``folder`` does not have; what is built stays when this is stopped."""
    from indexing.build import BookTask
    from indexing.build_many import build_many
    from indexing.manifest import BuildSettings
    from indexing.store import IndexStore

    jobs = [BookTask(id, books[id]) for id in ids]
    progress("indexing", 0, len(jobs))
    workers = 1 if _fits_one_process(books, ids) else None
    for number, outcome in enumerate(build_many(jobs, BuildSettings(), IndexStore(folder), workers), 1):
        if outcome.status == "failed":
            raise StoryQAError(f"{outcome.name} cannot be indexed: {outcome.message}")
        progress("indexing", number, len(jobs))


def _fits_one_process(books: Books, ids: Sequence[str]) -> bool:
    characters = 0
    for id in ids:
        characters += len(books[id]().text)
        if characters > ONE_PROCESS_CHARACTERS:
            return False
    return True


def _prediction(question: Question, answer: Answered, book: str, metrics: Sequence[str]) -> Prediction:
    """The answer with its scores, its evidence looked up in the text the data set has for the book."""
    start, end = answer.place or (None, None)
    return Prediction(
        id=question.id,
        story=question.story,
        kind=question.kind,
        question=question.text,
        references=question.answers,
        prediction=answer.text,
        confidence=round(answer.confidence, 6),
        book=question.book,
        start=start,
        end=end,
        evidence_right=None if answer.place is None else book[start:end] == answer.quoted,
        passages=answer.passages,
        gold_read=tuple(overlaps(place, question.gold) for place in answer.passages)
        if question.gold
        else None,
        first_gold=answer.first_gold,
        reciprocal_rank=None if answer.reciprocal_rank is None else round(answer.reciprocal_rank, 6),
        scores={
            name: round(value, 6)
            for name, value in answer_scores(answer.text, question.answers, metrics).items()
        },
    )


def answer_scores(answer: str, references: Sequence[str], metrics: Sequence[str]) -> dict[str, float]:
    """What one answer is worth by those of the ``metrics`` that can say so of one."""
    return {
        metric.name: metric.of_answer(answer, references)
        for metric in metrics_named(metrics)
        if metric.of_answer is not None
    }

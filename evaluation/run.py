"""One run: every question answered once, checked against the book, scored and written down."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from evaluation.benchmarks.benchmark import Benchmark, Question, sample
from evaluation.metrics.overlap import exact_match, rouge_l, token_f1
from evaluation.predictions import Prediction, PredictionFile
from evaluation.systems import (
    Answered,
    GivenPassages,
    RetrievedPassages,
    System,
    named_reader,
)
from readers import spec_of
from text.errors import StoryQAError
from text.spans import overlaps

log = logging.getLogger(__name__)

BATCH = 32  # questions: what is known of their passages is kept in memory together
LITTLE = 500_000  # characters
Tell = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


@dataclass(frozen=True, slots=True)
class Options:
    """What is evaluated on which questions; ``mrr`` None ranks where the reader can."""

    retriever: str
    reader: str
    k: int = 5
    limit: int | None = None
    seed: int = 0
    mrr: bool | None = None

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise StoryQAError(f"--limit {self.limit}; wanted 1 or more questions")


def describe(benchmark: Benchmark, options: Options) -> dict[str, Any]:
    """The settings that a run is told from others by; what plays no part in it is None."""
    reader = named_reader(options.reader)
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
    tell: Tell | None = None,
) -> tuple[dict[str, Any], list[Prediction]]:
    """The settings and the predictions of a run, which ``out`` keeps and goes on from after a kill.

    Where passages are to be found, the books are indexed in the folder ``store`` first. Raises
    ``RunMismatch`` where ``out`` holds another run, unless ``force``.
    """
    tell = tell or (lambda what, done, total: None)
    settings = describe(benchmark, options)
    file = PredictionFile(out, settings, force)
    questions = sample(benchmark.questions, options.limit, options.seed)
    answered = {one.id for one in file.predictions}
    remaining = [question for question in questions if question.id not in answered]
    if answered:
        log.info("%d questions were answered before; %d remain", len(answered), len(remaining))
    if remaining:
        system = _system(benchmark, options, settings["ranked"], remaining, store, tell)
        text = lru_cache(maxsize=2)(lambda id: benchmark.books[id]().text)
        for first in range(
            0, len(remaining), BATCH
        ):  # in order, so that questions about one book come together
            batch = remaining[first : first + BATCH]
            file.append(
                [
                    _prediction(question, answer, text(question.book))
                    for question, answer in zip(batch, system.answer(batch), strict=True)
                ]
            )
            tell("answering", len(file.predictions), len(questions))
    order = {question.id: number for number, question in enumerate(questions)}
    return settings, sorted(file.predictions, key=lambda one: order[one.id])


def _system(
    benchmark: Benchmark,
    options: Options,
    ranked: bool,
    questions: Sequence[Question],
    store: Path,
    tell: Tell,
) -> System:
    candidates = benchmark.candidates() if ranked else None
    if not benchmark.retrieved:
        return GivenPassages(benchmark.books, options.reader, candidates)
    from answering.book_qa import BookQA
    from indexing.store import IndexStore
    from service.settings import load_settings

    _index(benchmark, list(dict.fromkeys(question.book for question in questions)), store, tell)
    return RetrievedPassages(
        BookQA(IndexStore(store), settings=load_settings().configuration().reader_settings),
        options.retriever,
        options.reader,
        options.k,
        candidates,
    )


def _index(benchmark: Benchmark, ids: Sequence[str], folder: Path, tell: Tell) -> None:
    """Index the books that the store does not have as they are; what is built stays when this is stopped."""
    from indexing.build import BookTask
    from indexing.build_many import build_many
    from indexing.manifest import BuildSettings
    from indexing.store import IndexStore

    jobs = [BookTask(id, benchmark.books[id]) for id in ids]
    tell("indexing", 0, len(jobs))
    workers = 1 if _is_little(benchmark, ids) else None
    for number, outcome in enumerate(build_many(jobs, BuildSettings(), IndexStore(folder), workers), 1):
        if outcome.status == "failed":
            raise StoryQAError(f"{outcome.name} cannot be indexed: {outcome.message}")
        tell("indexing", number, len(jobs))


def _is_little(benchmark: Benchmark, ids: Sequence[str]) -> bool:
    """Whether other processes would take longer to start than the books to index."""
    characters = 0
    for id in ids:
        characters += len(benchmark.books[id]().text)
        if characters > LITTLE:
            return False
    return True


def _prediction(question: Question, answer: Answered, book: str) -> Prediction:
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
        rouge_l=round(rouge_l(answer.text, question.answers), 6),
        f1=round(token_f1(answer.text, question.answers), 6),
        exact_match=exact_match(answer.text, question.answers),
    )

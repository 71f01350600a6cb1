"""One run: every question answered once, checked against the book, scored and written down."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from encoders.runtime import pick_runtime
from evaluation.batch_answering import Answering
from evaluation.benchmarks.benchmark import Benchmark, Question, sample
from evaluation.metrics.metric import metrics_named
from evaluation.predictions import Prediction, PredictionFile
from evaluation.run_options import Options
from evaluation.systems import (
    Answered,
    Books,
)
from evaluation.versions import code_version, encoder_version, retriever_version
from indexing.store_protocol import Store
from readers import spec_of
from text.errors import StoryQAError
from text.spans import overlaps

log = logging.getLogger(__name__)

BATCH = 32  # questions: what is known of their passages is kept in memory together
ONE_PROCESS_CHARACTERS = 500_000  # starting other processes takes longer than indexing so much text
Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


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
        "runtime": str(pick_runtime()) if reader.version or benchmark.retrieved else None,
        "k": options.k if benchmark.retrieved else None,
        "limit": options.limit,
        "seed": options.seed,
        "ranked": ranked,
    }


def evaluate(
    benchmark: Benchmark,
    options: Options,
    out: Path,
    store: Store,
    force: bool = False,
    progress: Progress | None = None,
    on_ray: bool = False,
) -> tuple[dict[str, Any], list[Prediction]]:
    """The settings and the predictions of a run, which ``out`` keeps and goes on from after a kill.

    Where passages are to be found, the books are indexed into ``store`` first. ``on_ray`` the work
    is done by the Ray cluster that this process is connected to, and figures are the same. Raises
    ``RunMismatch`` where ``out`` holds another run, unless ``force``, and as ``check_indexes`` does.
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
        if benchmark.retrieved:
            ids = list(dict.fromkeys(question.book for question in remaining))
            built = index_books(benchmark.books, ids, store, progress, on_ray)
        story_answers = benchmark.story_answers() if settings["ranked"] else None
        answering = Answering(options, store if benchmark.retrieved else None, story_answers)
        # In order, so that questions about one book come together, and batched alike however a run goes on:
        # numbers may differ in their last digits by what is read together.
        whole = [questions[first : first + BATCH] for first in range(0, len(questions), BATCH)]
        left = [[question for question in batch if question.id not in answered] for batch in whole]
        batches = list(filter(None, left))
        text = lru_cache(maxsize=2)(lambda id: benchmark.books[id]().text)
        for batch, answers in (
            answering.on_ray(batches, benchmark.books)
            if on_ray
            else ((batch, answering(batch, benchmark.books)) for batch in batches)
        ):
            if benchmark.retrieved:
                check_indexes(store, {question.book: built[question.book] for question in batch})
            file.append(
                [
                    _prediction(question, answer, text(question.book), benchmark.metrics)
                    for question, answer in zip(batch, answers, strict=True)
                ]
            )
            progress("answering", len(file.predictions), len(questions))
    order = {question.id: number for number, question in enumerate(questions)}
    return settings, sorted(file.predictions, key=lambda one: order[one.id])


def index_books(
    books: Books, ids: Sequence[str], store: Store, progress: Progress, on_ray: bool = False
) -> dict[str, str]:
    """Index the books that ``store`` does not have; what is built stays when this is stopped.

    Gives the version of each book's index, for ``check_indexes``.
    """
    from indexing.build import BookTask
    from indexing.build_many import build_many
    from indexing.manifest import BuildSettings

    jobs = [BookTask(id, books[id]) for id in ids]
    progress("indexing", 0, len(jobs))
    settings = BuildSettings()
    if on_ray:
        from indexing.build_on_ray import build_on_ray

        outcomes = build_on_ray(jobs, settings, store)
    else:
        workers = 1 if _fits_one_process(books, ids) else None
        outcomes = build_many(jobs, settings, store, workers)
    built = {}
    for number, outcome in enumerate(outcomes, 1):
        if outcome.manifest is None:
            raise StoryQAError(f"{outcome.name} cannot be indexed: {outcome.message}")
        built[outcome.manifest.id] = outcome.manifest.version
        progress("indexing", number, len(jobs))
    return built


def check_indexes(store: Store, built: Mapping[str, str]) -> None:
    """Raise ``StoryQAError`` where a book's index is no longer the one that ``index_books`` gave.

    Two runs whose code, encoder or settings differ would else answer from each other's.
    """
    for id, version in built.items():
        if (found := store.manifest(id).version) != version:
            raise StoryQAError(
                f"the index of {id} in {store.address} is {found}, where this run made {version}: "
                "another run writes there too; give each a --store of its own"
            )


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

"""Questions that a book does not answer, beside the same questions asked of the right one.

Answerable questions to another book, and with names that their book does not have, are unanswerable
without anybody having to write them (Rajpurkar et al. 2018, section 1).
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from answering.ask import Ask
from answering.book_qa import BookQA
from answering.citing import CitedAnswer, Verdict
from answering.configuration import Configuration
from evaluation.benchmarks.benchmark import Benchmark, Question, sample
from evaluation.metrics.calibration import RIGHT, ranking
from evaluation.metrics.overlap import rouge_l
from evaluation.run import Progress, check_indexes, index_books
from text.question_names import names_in, unmentioned

BATCH = 16
Variant = Literal["unchanged", "other_book", "renamed"]
VARIANTS: tuple[Variant, ...] = ("unchanged", "other_book", "renamed")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as it is asked: of which book, in which words, and which of the benchmark's it was."""

    variant: Variant
    book: str
    text: str
    question: Question


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was said to a question, and whether it is right: never, where it has no answer."""

    variant: Variant
    id: str
    book: str
    question: str
    answer: str
    confidence: float
    verdict: Verdict
    note: str | None
    right: bool


def variants(benchmark: Benchmark, questions: Sequence[Question], seed: int) -> list[Asked]:
    """Each question unchanged, asked of another book, and with a name of another book's questions.

    The last where it has a name that its own book mentions. Drawn by ``seed``.
    """
    rng = random.Random(seed)
    books = list(dict.fromkeys(question.book for question in questions))
    names = {book: _names(questions, book) for book in books}
    found = []
    for question in questions:
        found.append(Asked("unchanged", question.book, question.text, question))
        others = [book for book in books if book != question.book]
        if not others:
            continue
        found.append(Asked("other_book", rng.choice(others), question.text, question))
        text = benchmark.books[question.book]().text
        own = [name for name in names_in(question.text) if not unmentioned([name], text)]
        # One by one: of several at once not all are looked for as the text may spell them.
        strange = [name for book in others for name in names[book] if unmentioned([name], text)]
        if own and strange:
            renamed = question.text.replace(rng.choice(own), rng.choice(strange))
            found.append(Asked("renamed", question.book, renamed, question))
    return found


def _names(questions: Sequence[Question], book: str) -> list[str]:
    of_book = (name for one in questions if one.book == book for name in names_in(one.text))
    return list(dict.fromkeys(of_book))


def measure(
    benchmark: Benchmark,
    configuration: Configuration,
    retriever: str,
    reader: str,
    k: int,
    limit: int | None,
    seed: int,
    progress: Progress,
) -> list[Outcome]:
    """All variants of the questions, or of ``limit`` of them drawn by ``seed``, answered as users' are."""
    questions = sample(benchmark.questions, limit, seed)
    asked = variants(benchmark, questions, seed)
    qa = BookQA.of(configuration)
    ids = list(dict.fromkeys(one.book for one in asked))
    built = index_books(benchmark.books, ids, qa.store, progress)
    found: list[Outcome] = []
    for first in range(0, len(asked), BATCH):
        batch = asked[first : first + BATCH]
        asks = [Ask(one.book, one.text, k=k, retriever=retriever, reader=reader, n_best=1) for one in batch]
        found += map(_outcome, batch, qa.answer_many(asks))
        progress("answering", len(found), len(asked))
    check_indexes(qa.store, built)
    return found


def _outcome(asked: Asked, cited: CitedAnswer) -> Outcome:
    right = asked.variant == "unchanged" and rouge_l(cited.text, asked.question.answers) >= RIGHT
    return Outcome(
        asked.variant,
        asked.question.id,
        asked.book,
        asked.text,
        cited.text,
        round(cited.confidence, 6),
        cited.verdict,
        cited.note,
        right,
    )


def describe(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Per variant how often each verdict was given, and how well confidence tells the variants apart.

    ``auroc`` is the probability that an unchanged question's answer has more confidence than one that has
    no answer; ``wrong_shown`` the share of all that is called an answer and is wrong.
    """
    by_variant = {variant: [one for one in outcomes if one.variant == variant] for variant in VARIANTS}
    return {
        "variants": {variant: _shares(found) for variant, found in by_variant.items()},
        "auroc": {
            variant: _auroc(by_variant["unchanged"], by_variant[variant])
            for variant in VARIANTS
            if variant != "unchanged"
        },
        "answers": [asdict(one) for one in outcomes],
    }


def _shares(outcomes: Sequence[Outcome]) -> Mapping[str, float | int | None]:
    def share(count: int, of: int) -> float | None:
        return round(count / of, 6) if of else None

    shown = [one for one in outcomes if one.verdict == "answer"]
    return {
        "questions": len(outcomes),
        **{
            verdict: share(sum(one.verdict == verdict for one in outcomes), len(outcomes))
            for verdict in ("answer", "maybe", "none")
        },
        "right": share(sum(one.right for one in outcomes), len(outcomes)),
        "right_of_shown": share(sum(one.right for one in shown), len(shown)),
        "wrong_shown": share(sum(not one.right for one in shown), len(outcomes)),
    }


def _auroc(answerable: Sequence[Outcome], unanswerable: Sequence[Outcome]) -> float | None:
    import numpy as np

    if not answerable or not unanswerable:
        return None
    confidence = np.array([one.confidence for one in (*answerable, *unanswerable)])
    has_answer = np.arange(len(confidence)) < len(answerable)
    found = ranking(confidence, has_answer)
    return None if found is None else round(found, 6)

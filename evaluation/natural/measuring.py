"""The natural questions asked of the books as users ask them, each judgement with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from answering.ask import Ask, Turn
from answering.book_qa import BookQA
from answering.citing import CitedAnswer
from answering.citing import Verdict as Shown
from answering.configuration import Configuration
from evaluation.benchmarks.files import require
from evaluation.benchmarks.narrativeqa import read_story
from evaluation.natural import NaturalQuestion
from evaluation.natural.judging import Verdict, judge
from evaluation.run import Progress, check_indexes, index_books

BATCH = 8


@dataclass(frozen=True, slots=True)
class Judged:
    """One question, what was said to it and over it (``shown``), and whether that is right, and why."""

    id: str
    title: str
    kind: str
    answerable: bool
    question: str
    answer: str
    confidence: float
    shown: Shown
    note: str | None
    verdict: Verdict
    reason: str


def measure(
    questions: Sequence[NaturalQuestion],
    data: Path,
    configuration: Configuration,
    retriever: str,
    reader: str,
    k: int,
    progress: Progress,
) -> list[Judged]:
    """Every question answered from its book, of the folder ``data`` that holds NarrativeQA's stories.

    A follow-up is asked after the question that it follows and its answer, right or wrong, as the page sends
    them. Raises ``DataError`` where a book is missing.
    """
    ids = list(dict.fromkeys(question.book for question in questions))
    paths = {id: require(data / "tmp" / f"{id}.content", "a full story of NarrativeQA") for id in ids}
    books = {id: partial(read_story, path, id) for id, path in paths.items()}
    qa = BookQA.of(configuration)
    built = index_books(books, ids, qa.store, progress)
    answered: dict[str, CitedAnswer] = {}
    turns: dict[str, Turn] = {}
    left = list(questions)
    while left:
        waiting = {one.id for one in left}
        batch = [one for one in left if one.follows not in waiting][:BATCH]
        asks = [
            Ask(
                one.book,
                one.question,
                k=k,
                retriever=retriever,
                reader=reader,
                n_best=1,
                conversation=(turns[one.follows],) if one.follows in turns else (),
            )
            for one in batch
        ]
        for one, cited in zip(batch, qa.answer_many(asks), strict=True):
            answered[one.id] = cited
            turns[one.id] = Turn(cited.rewritten or one.question, cited.text if cited.answerable else "")
        left = [one for one in left if one.id not in answered]
        progress("answering", len(answered), len(questions))
    check_indexes(qa.store, built)
    return [_judged(one, answered[one.id]) for one in questions]


def _judged(question: NaturalQuestion, cited: CitedAnswer) -> Judged:
    judgement = judge(question.key, cited.text, cited.verdict != "none")
    return Judged(
        question.id,
        question.title,
        question.kind,
        question.answerable,
        question.question,
        cited.text,
        round(cited.confidence, 6),
        cited.verdict,
        cited.note,
        judgement.verdict,
        judgement.reason,
    )


def describe(judged: Sequence[Judged]) -> dict[str, Any]:
    """The counts of judgements, of all and by kind, and those under "Answer"."""
    kinds = dict.fromkeys(one.kind for one in judged)
    return {
        "all": _counts(judged),
        "answerable": _counts([one for one in judged if one.answerable]),
        "not_answerable": _counts([one for one in judged if not one.answerable]),
        "under_answer": _counts([one for one in judged if one.shown == "answer"]),
        "by_kind": {kind: _counts([one for one in judged if one.kind == kind]) for kind in kinds},
        "judgements": [asdict(one) for one in judged],
    }


def _counts(judged: Sequence[Judged]) -> dict[str, int]:
    verdicts: tuple[Verdict, ...] = ("right", "partly", "wrong", "declined")
    counts = {"questions": len(judged)}
    for verdict in verdicts:
        counts[verdict] = sum(one.verdict == verdict for one in judged)
    return counts

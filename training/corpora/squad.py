"""SQuAD v1.1 (Rajpurkar et al. 2016): its training set, a document per Wikipedia article."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from evaluation.benchmarks import squad
from evaluation.benchmarks.benchmark import Benchmark, Question
from training.corpora.corpus import Document, LabelledQuestion

ARTICLES = "articles"
SOURCES = {ARTICLES: "SQuAD v1.1 train (CC BY-SA 4.0)"}
_BETWEEN_PARAGRAPHS = "\n\n"


def is_in(folder: Path) -> bool:
    """Whether the folder holds the training set, compressed or not."""
    return squad.file_of(folder, squad.TRAIN) is not None


def load(folder: Path) -> list[Document]:
    """The articles of the training set, their paragraphs as passages; a gold place is the answer itself.

    Raises ``DataError`` where the folder does not hold it.
    """
    benchmark = squad.load(squad.file_of(folder, squad.TRAIN) or folder / f"{squad.TRAIN}.json")
    return paragraphs_by(benchmark, ARTICLES, lambda question: question.story)


def paragraphs_by(benchmark: Benchmark, kind: str, name: Callable[[Question], str]) -> list[Document]:
    """A document of this kind per ``name`` of a question, the paragraphs asked about as its passages.

    A gold place is the answer itself.
    """
    paragraphs: dict[str, dict[str, str]] = defaultdict(dict)
    by_name: dict[str, list[Question]] = defaultdict(list)
    for question in benchmark.questions:
        of_one = paragraphs[name(question)]
        if question.book not in of_one:
            of_one[question.book] = benchmark.books[question.book]().text
        by_name[name(question)].append(question)
    return [_document(kind, one, texts, by_name[one]) for one, texts in paragraphs.items()]


def _document(kind: str, name: str, paragraphs: dict[str, str], questions: list[Question]) -> Document:
    starts = [0]
    for text in paragraphs.values():
        starts.append(starts[-1] + len(text) + len(_BETWEEN_PARAGRAPHS))
    start_of = dict(zip(paragraphs, starts, strict=False))
    return Document(
        kind,
        name,
        _BETWEEN_PARAGRAPHS.join(paragraphs.values()),
        tuple((start, end - len(_BETWEEN_PARAGRAPHS)) for start, end in pairwise(starts)),
        tuple(
            LabelledQuestion(
                q.text,
                q.answers,
                tuple((start_of[q.book] + start, start_of[q.book] + end) for start, end in q.gold),
                exact=True,
            )
            for q in questions
        ),
    )

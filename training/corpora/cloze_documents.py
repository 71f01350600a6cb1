"""Clozes made of books as the Children's Book Test makes them: what reading models may learn first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from evaluation.benchmarks import cbt
from evaluation.benchmarks.benchmark import Place, Question
from indexing.passages import split
from text.cloze import cloze_tokens, occurrences
from training.corpora.corpus import Document, LabelledQuestion

CLOZES = "clozes"
SOURCES = {CLOZES: "clozes of the Children's Book Test's train split"}


def load(folder: Path, count: int, cache: Path | None = None) -> list[Document]:
    """``count`` clozes of the train split, as many of each class, each a document of its 20 sentences.

    The places known to hold the answer are those that spell it. Raises ``DataError`` as the benchmark.
    """
    benchmark = cbt.load(folder, "train", count=-(-count // (len(cbt.SETTINGS) - 1)), cache=cache)
    return [_document(question, benchmark.books[question.book]().text) for question in benchmark.questions]


def _document(question: Question, book: str) -> Document:
    text = book[question.given[0][0] : question.given[-1][1]]
    answer = question.answers[0]
    passages = tuple((passage.start, passage.end) for passage in split(text))
    gold = tuple(_spelled(text, answer))
    labelled = LabelledQuestion(question.text, question.answers, gold, exact=True)
    return Document(CLOZES, question.id, text, passages, (labelled,))


def _spelled(text: str, answer: str) -> Iterator[Place]:
    wanted = [token.key for token in cloze_tokens(answer)]
    found = list(cloze_tokens(text))
    for first in occurrences([token.key for token in found], wanted):
        yield found[first].start, found[first + len(wanted) - 1].end

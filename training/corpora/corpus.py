"""What all corpora have in common: documents, cut as an index cuts them, and labelled questions."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from evaluation.benchmarks.benchmark import Benchmark, Place, Question
from indexing.errors import IndexMismatch
from indexing.passages import split
from indexing.sparse import SparseIndex, sparse_arrays
from text.errors import StoryQAError
from text.spans import overlaps


class NoTrainingData(StoryQAError):
    """A folder that holds no data set that models are trained on."""


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question and its references; ``gold`` are the places known to hold its answer, none where unknown.

    ``exact`` says that a gold place is the answer itself, and not the section it stands in.
    """

    text: str
    answers: tuple[str, ...]
    gold: tuple[Place, ...] = ()
    exact: bool = False


@dataclass(frozen=True)
class Document:
    """A text, its passages, and its questions; ``kind`` says which data set it is from."""

    kind: str
    name: str
    text: str
    passages: tuple[Place, ...]
    questions: tuple[LabelledQuestion, ...] = field(repr=False)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """The texts of the passages."""
        return tuple(self.text[start:end] for start, end in self.passages)

    def answering(self, question: LabelledQuestion) -> list[int]:
        """The numbers of the passages that a gold place of the question is in, or lies over."""
        return [n for n, place in enumerate(self.passages) if overlaps(place, question.gold)]

    def best(self, query: str, most: int) -> list[int]:
        """The numbers of the passages that BM25 finds for a query, the best first, ``most`` of them."""
        found: list[int] = np.argsort(-self.sparse.bm25(query), kind="stable")[:most].tolist()
        return found

    @cached_property
    def sparse(self) -> SparseIndex:
        """BM25 over the passages, as an index of the document would have it."""
        return sparse_index(self.texts)


def sparse_index(texts: Sequence[str]) -> SparseIndex:
    """BM25 and TF-IDF over texts in memory."""
    return SparseIndex(**sparse_arrays(texts), passages=len(texts), mismatch=IndexMismatch)


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents to train on and those held out for validation."""

    train: tuple[Document, ...]
    held_out: tuple[Document, ...]

    def of(self, *kinds: str) -> list[Document]:
        """The documents to train on that are of these kinds."""
        return [document for document in self.train if document.kind in kinds]

    def part(self, share: float) -> Corpus:
        """A share of the documents of each kind, on either side, at least one; always the same ones."""
        if share >= 1:
            return self
        return Corpus(_part(self.train, share), _part(self.held_out, share))

    def describe(self) -> dict[str, tuple[int, int]]:
        """Per kind, how many documents and questions are trained on."""
        found: dict[str, tuple[int, int]] = {}
        for document in self.train:
            documents, questions = found.get(document.kind, (0, 0))
            found[document.kind] = documents + 1, questions + len(document.questions)
        return found

    def fingerprint(self) -> str:
        """See ``fingerprint_of``: of the documents' names and their questions.

        Not of texts, nor of answers taken from them: another release may read the same files otherwise.
        """
        return fingerprint_of(
            part
            for document in (*self.train, *self.held_out)
            for part in (document.kind, document.name, *(question.text for question in document.questions))
        )


def fingerprint_of(texts: Iterable[str]) -> str:
    """A short hash of texts in their order, to tell one data set from another."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(f"{text}\0".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _part(documents: Sequence[Document], share: float) -> tuple[Document, ...]:
    by_kind: dict[str, list[Document]] = defaultdict(list)
    for document in documents:
        by_kind[document.kind].append(document)
    rng = random.Random(0)
    return tuple(
        document
        for every in by_kind.values()
        for document in rng.sample(every, max(1, round(share * len(every))))
    )


def iter_questions(documents: Sequence[Document]) -> Iterator[tuple[Document, LabelledQuestion]]:
    """All questions of the documents, each with its document."""
    for document in documents:
        for question in document.questions:
            yield document, question


def documents_of(benchmark: Benchmark, kind: str) -> list[Document]:
    """One document per story of the benchmark, in passages of 200 words."""
    by_story: dict[str, list[Question]] = defaultdict(list)
    for question in benchmark.questions:
        by_story[question.story].append(question)
    documents = []
    for story, questions in by_story.items():
        text = benchmark.books[questions[0].book]().text
        passages = tuple((passage.start, passage.end) for passage in split(text))
        labelled = tuple(LabelledQuestion(q.text, q.answers, q.gold) for q in questions)
        documents.append(Document(kind, story, text, passages, labelled))
    return documents

"""One batch for the retriever's encoder: questions, windows, and which windows answer which question."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.benchmarks.benchmark import Place
from indexing.manifest import WINDOW_STEP, WINDOW_WORDS
from indexing.passages import split
from text.spans import overlaps
from training.corpora.corpus import Document, LabelledQuestion, sparse_index
from training.distant_supervision import gold_passages

PARAGRAPHS = 16  # of one article in a batch
QUESTIONS_OF_A_BOOK = 6  # in a batch


@dataclass(frozen=True, slots=True)
class ContrastiveBatch:
    """One batch: questions, windows, and which windows answer which question (at least one each)."""

    questions: tuple[str, ...]
    windows: tuple[str, ...]
    right: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True)
class DocumentWindow:
    """A window of a passage: its place in the document, its text, and whether its passage begins there."""

    place: Place
    text: str
    first: bool


def document_windows(document: Document) -> list[DocumentWindow]:
    """The windows of a document's passages, in order, as ``indexing.vectors.windows`` cuts them."""
    found = []
    for start, end in document.passages:
        for piece in split(document.text[start:end], WINDOW_WORDS, WINDOW_WORDS - WINDOW_STEP):
            place = start + piece.start, start + piece.end
            found.append(DocumentWindow(place, document.text[slice(*place)], piece.number == 0))
    return found


def _answering(place: Place, gold: Sequence[Place]) -> bool:
    """Whether the shorter of the window and a gold place lies by half or more in the other."""
    return any(
        2 * (min(place[1], end) - max(place[0], start)) >= min(place[1] - place[0], end - start)
        for start, end in gold
    )


def batch_of_stories(documents: Sequence[Document]) -> ContrastiveBatch:
    """All questions and windows of a few stories: of the same story are the hardest negatives there are."""
    windows: list[str] = []
    questions: list[str] = []
    right: list[tuple[int, ...]] = []
    for document in documents:
        pieces = document_windows(document)
        for question in document.questions:
            answering = tuple(
                len(windows) + i for i, piece in enumerate(pieces) if _answering(piece.place, question.gold)
            )
            if answering:
                questions.append(question.text)
                right.append(answering)
        windows += [piece.text for piece in pieces]
    return ContrastiveBatch(tuple(questions), tuple(windows), tuple(right))


def batch_of_article(document: Document, rng: random.Random) -> ContrastiveBatch:
    """Some paragraphs of an article and the questions about them."""
    chosen = sorted(rng.sample(range(len(document.passages)), min(PARAGRAPHS, len(document.passages))))
    questions, right = [], []
    for question in document.questions:
        for row, number in enumerate(chosen):
            if overlaps(document.passages[number], question.gold):
                questions.append(question.text)
                right.append((row,))
                break
    return ContrastiveBatch(tuple(questions), tuple(document.texts[i] for i in chosen), tuple(right))


def batch_of_book(document: Document, rng: random.Random) -> ContrastiveBatch:
    """Questions about a book, passages that hold their answers, and those that BM25 takes for them.

    Where it is marked what answers, as of a novel, the windows of it are right; else all of a passage.
    """
    sampled = rng.sample(document.questions, min(QUESTIONS_OF_A_BOOK, len(document.questions)))
    right_passages: list[list[int]] = []
    questions: list[LabelledQuestion] = []
    numbers: set[int] = set()
    for question in sampled:
        gold = gold_passages(document, question)
        if gold:
            questions.append(question)
            right_passages.append(gold)
            mistaken = document.best(question.text, 6)
            numbers.update(gold)
            numbers.update(rng.sample(mistaken, min(2, len(mistaken))))
    # The opening is where editors and title pages stand: never an answer, always among the negatives.
    numbers.update(rng.sample(range(min(4, len(document.passages))), 1))
    windows: list[str] = []
    of_passage: dict[int, list[tuple[int, Place]]] = defaultdict(list)
    for number in sorted(numbers):
        text, (start, _) = document.texts[number], document.passages[number]
        for piece in split(text, WINDOW_WORDS, WINDOW_WORDS - WINDOW_STEP):
            of_passage[number].append((len(windows), (start + piece.start, start + piece.end)))
            windows.append(text[piece.start : piece.end])
    right = tuple(
        tuple(
            window
            for number in gold
            for window, place in of_passage[number]
            if not question.exact or overlaps(place, question.gold)
        )
        for question, gold in zip(questions, right_passages, strict=True)
    )
    return ContrastiveBatch(tuple(question.text for question in questions), tuple(windows), right)


def pair_documents(
    documents: Sequence[Document], rivals: Mapping[str, Mapping[str, int]], rng: random.Random
) -> list[tuple[Document, ...]]:
    """Every document once, beside a rival that is still free, or else any: an odd one stays alone."""
    free = {document.name: document for document in rng.sample(documents, len(documents))}
    pairs: list[tuple[Document, ...]] = []
    while free:
        name = next(iter(free))
        one = free.pop(name)
        if not free:
            pairs.append((one,))
            break
        choices = {other: count for other, count in rivals.get(name, {}).items() if other in free}
        other = rng.choices(list(choices), list(choices.values()))[0] if choices else next(iter(free))
        pairs.append((one, free.pop(other)))
    return pairs


def mine_hard_negatives(documents: Sequence[Document]) -> dict[str, dict[str, int]]:
    """For each document the others whose passages BM25 ranks high for its questions, and how often it does.

    BM25-mined hard negatives, a story at a time: both stories' questions then share all windows.
    """
    texts = [text for document in documents for text in document.texts]
    owners = [number for number, document in enumerate(documents) for _ in document.passages]
    sparse = sparse_index(texts)
    found = {}
    for number, document in enumerate(documents):
        mistaken: Counter[int] = Counter()
        for question in document.questions:
            best = np.argpartition(-sparse.bm25(question.text), min(10, len(texts) - 1))[:10]
            mistaken.update(owner for i in best.tolist() if (owner := owners[i]) != number)
        found[document.name] = {documents[i].name: count for i, count in mistaken.most_common(30)}
    return found

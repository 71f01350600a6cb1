"""Chooses the hybrid retriever's weight of dense scores on FairytaleQA train, never on val.

    python -m benchmarks.hybrid_weight --data FAIRYTALEQA_FOLDER

Every fifth story of train (47 of 232), in two books of about as many stories as val has, each indexed
as any book is. Gold are the passages that overlap the sections a question was written on. Prints
recall@1, recall@5 and MRR for weights from 0 (BM25 alone) to 1 (dense alone);
``retrieval.hybrid.DENSE_WEIGHT`` is the weight with the best MRR.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable
from pathlib import Path

from evaluation.fairytaleqa import load
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.index import BookIndex
from indexing.store import IndexStore
from retrieval.hybrid import HybridRetriever

EVERY = 5
BOOKS = 2
WEIGHTS = [round(0.05 * step, 2) for step in range(21)]

Gold = list[tuple[int, int]]  # [start, end) in the book


def collection(folder: Path, number: int) -> tuple[Book, list[tuple[str, Gold]]]:
    """One book of the chosen train stories, and its questions with the places they were written on."""
    benchmark = load(folder, "train", "stories")
    chosen = sorted(benchmark.books)[number * EVERY :: EVERY * BOOKS]
    starts: dict[str, int] = {}
    text = ""
    for id in chosen:
        starts[id] = len(text)
        text += benchmark.books[id]().text + "\n\n"
    questions = [
        (question.text, [(starts[question.book] + a, starts[question.book] + b) for a, b in question.gold])
        for question in benchmark.questions
        if question.book in starts
    ]
    name = f"train-{number}"
    return Book(name, name, text, "fairytaleqa:train"), questions


def ranks(index: BookIndex, questions: list[tuple[str, Gold]], weight: float) -> Iterable[int]:
    """The rank, from 1, of the first passage that overlaps a gold place."""
    retriever = HybridRetriever(index, weight)
    everything = retriever.search([text for text, _ in questions], len(index.passages))
    for hits, (_, gold) in zip(everything, questions, strict=True):
        yield next(
            rank
            for rank, hit in enumerate(hits, 1)
            if any(hit.passage.start < end and start < hit.passage.end for start, end in gold)
        )


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose the hybrid retriever's weight on FairytaleQA train.")
    parser.add_argument("--data", type=Path, required=True, help="the FairytaleQA folder")
    folder: Path = parser.parse_args().data
    indexes = []
    with tempfile.TemporaryDirectory() as root:
        store = IndexStore(root)
        for number in range(BOOKS):
            book, questions = collection(folder, number)
            build_book(book, BuildSettings(), store)
            indexes.append((store.open(book.id), questions))
            print(f"{book.id}: {len(indexes[-1][0].passages)} passages, {len(questions)} questions")
        print("weight  recall@1  recall@5  MRR")
        for weight in WEIGHTS:
            found = [rank for index, questions in indexes for rank in ranks(index, questions, weight)]
            scores = [sum(rank <= k for rank in found) / len(found) for k in (1, 5)]
            mrr = sum(1 / rank for rank in found) / len(found)
            print(f"{weight:6.2f}  {scores[0]:8.4f}  {scores[1]:8.4f}  {mrr:.4f}")


if __name__ == "__main__":
    main()

"""Chooses the weights of the hybrid retriever and of the reranker on held-out stories, never on val.

    python -m benchmarks.retrieval_weights --data FAIRYTALEQA_FOLDER

The stories that training holds out are one book, indexed as any book is. Gold are the passages that overlap
the sections a question was written on. Prints recall@1, recall@5 and MRR for weights of the dense scores
from 0 (BM25 alone) to 1, then for the reranker by candidates and by the weight of their first scores.
``retrieval.hybrid.DENSE_WEIGHT``, with ``STORYQA_ENCODER=large`` its ``DENSE_WEIGHT_LARGE``, and
``retrieval.rerank.CANDIDATES`` and ``FIRST_WEIGHT`` were chosen so.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

from rich.progress import track

from evaluation.benchmarks.fairytaleqa import load
from evaluation.systems import first_gold
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from retrieval.hits import Retriever
from retrieval.hybrid import HybridRetriever
from retrieval.rerank import RerankRetriever

DENSE_WEIGHTS = [round(0.1 * step, 1) for step in range(11)]
CANDIDATES = (4, 8, 12, 16, 24)
FIRST_WEIGHTS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Choose the weights of retrieval on held-out stories.")
    parser.add_argument("--data", type=Path, required=True, help="the FairytaleQA folder")
    folder: Path = parser.parse_args().data
    benchmark = load(folder, "train", "collection", held_out=True)
    [make] = set(benchmark.books.values())
    with tempfile.TemporaryDirectory() as root:
        store = IndexStore(root)
        book = make()
        build_book(book, BuildSettings(), store)
        index = store.open(book.id)
        retrievers: dict[str, Retriever] = {
            f"dense weight {weight}": HybridRetriever(index, weight) for weight in DENSE_WEIGHTS
        }
        for candidates in CANDIDATES:
            for weight in FIRST_WEIGHTS:
                name = f"rerank {candidates}, first weight {weight}"
                retrievers[name] = RerankRetriever(index, candidates=candidates, first_weight=weight)
        ranks: dict[str, list[int]] = defaultdict(list)
        for question in track(benchmark.questions, "searching"):
            for name, retriever in retrievers.items():
                [hits] = retriever.search([question.text], len(index.passages))
                places = [(hit.passage.start, hit.passage.end) for hit in hits]
                ranks[name].append(first_gold(places, question.gold))
    print(f"{len(benchmark.questions)} questions, {len(index.passages)} passages")
    print(f"{'':32}  recall@1  recall@5  MRR")
    for name, found in ranks.items():
        first, five = (sum(0 < rank <= k for rank in found) / len(found) for k in (1, 5))
        mrr = sum(1 / rank for rank in found if rank) / len(found)
        print(f"{name:32}  {first:8.4f}  {five:8.4f}  {mrr:.4f}")


if __name__ == "__main__":
    main()

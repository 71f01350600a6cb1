"""Measures storyqa beside other tools and writes docs/performance.md; `make bench` runs it.

    python -m benchmarks.speed --peers .bench-venv/bin/python --optimum .bench-venv/optimum/bin/python
        [--data FOLDER] [--quick]

``--data`` holds the data sets as their publishers lay them out; without it the texts are made up.
``--quick`` is a trial of a minute or two whose figures mean nothing; it writes no document.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from answering.book_qa import BookQA
from benchmarks import comparisons, growth, report, serving_peers
from benchmarks.comparisons import Sizes
from benchmarks.exported import export_encoder, export_reader, shipped_ranges, shipped_tensors
from benchmarks.machine import commit, machine
from benchmarks.peers import Interpreters
from benchmarks.serving_peers import Clients
from benchmarks.texts import generated, real
from encoders.adapters import Weights
from encoders.backbone import MINILM
from encoders.cross_encoder import CrossEncoder
from indexing.store import IndexStore
from readers.default.span import SpanReader

ROOT = Path(__file__).parents[1]
log = logging.getLogger("benchmarks")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured. ``lengths`` are in words, the last one the long book; ``books`` are per store."""

    sizes: Sizes
    lengths: tuple[int, ...]
    books: tuple[int, ...]
    searched: int
    read: int
    serving: tuple[Clients, ...]
    turns: int


FULL = Plan(
    Sizes(),
    (4_000, 60_000, 400_000),
    (10, 1_000),
    150,
    7,
    (Clients(1, 8), Clients(8, 20), Clients(64, 72)),
    2,
)
QUICK = Plan(Sizes(20, 10, 4, 2, 2), (2_000, 6_000), (3, 10), 20, 2, (Clients(1, 2), Clients(4, 8)), 1)


def measure(plan: Plan, pythons: Interpreters, data: Path | None, scratch: Path) -> dict[str, Any]:
    """Everything that is measured, in one run."""
    longest = plan.lengths[-1]
    python = pythons.peers
    texts = real(data, longest) if data else generated(longest)
    log.info("texts: %s", texts.name)
    tensors = shipped_tensors()
    model, encoder = scratch / "model", scratch / "encoder"
    export_reader(tensors, model)
    export_encoder(encoder)
    store = IndexStore(scratch / "lengths")
    built = growth.build_lengths(texts, plan.lengths, store)
    log.info("books of %s words are built", ", ".join(f"{words:,}" for words in plan.lengths))
    index = growth.index_of(store, longest)
    compared = [comparisons.search(python, index, texts, plan.sizes)]
    log.info("searching is measured")
    compared.append(comparisons.encode(pythons, encoder, index, plan.sizes))
    log.info("encoding is measured")
    reader = SpanReader(CrossEncoder(Weights(MINILM, tensors), "benchmark", shipped_ranges()))
    compared.append(comparisons.read(python, model, reader, index, texts, plan.sizes))
    log.info("reading is measured")
    compared.append(comparisons.ask(python, model, BookQA(store), index, texts, plan.sizes))
    log.info("answering is measured")
    served = serving_peers.by_clients(
        python, model, store.root, index, texts.questions, plan.serving, plan.turns, scratch
    )
    log.info("serving is measured")
    by_length = {}
    for words in plan.lengths:
        by_length[words] = growth.with_length(python, model, store, texts, words, plan.searched, plan.read)
        log.info("a book of %s words is measured", f"{words:,}")
    by_books = {}
    for books in plan.books:
        tiny = IndexStore(scratch / f"tiny-{books}")
        growth.build_tiny(texts, books, tiny)
        by_books[books] = growth.with_books(python, model, tiny, texts, plan.searched, plan.read)
        log.info("a store of %s books is measured", f"{books:,}")
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": commit(),
        "machine": machine(),
        **pythons.versions(),
        "texts": texts.name,
        "comparisons": [comparison.summary() for comparison in compared],
        "serving": served,
        "built": [{"words": words, **facts} for words, facts in built.items()],
        "by_length": growth.summary(by_length),
        "by_books": growth.summary(by_books),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure storyqa beside other tools.")
    parser.add_argument("--peers", type=Path, required=True, help="the interpreter that has the other tools")
    parser.add_argument("--optimum", type=Path, required=True, help="the one that has optimum")
    parser.add_argument("--data", type=Path, help="the data sets' folder; made-up texts without it")
    parser.add_argument(
        "--out", type=Path, default=ROOT / "runs" / "performance.json", help="the results file"
    )
    parser.add_argument("--quick", action="store_true", help="a trial run that writes no document")
    given = parser.parse_args()
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    log.setLevel(logging.INFO)
    with tempfile.TemporaryDirectory() as scratch:
        # Not resolved: the interpreter of an environment is a link, and knows its packages by its own place.
        pythons = Interpreters(given.peers.absolute(), given.optimum.absolute())
        results = measure(QUICK if given.quick else FULL, pythons, given.data, Path(scratch))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(report.tables(results))
    if not given.quick:
        report.write(results, ROOT / "docs")


if __name__ == "__main__":
    main()

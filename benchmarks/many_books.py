"""One search over many books beside the same books searched in turn, and what merging them takes.

    python -m benchmarks.many_books [--books 1000] [--distinct 20] [--words 20000] [--like STORE]

Books are made of made-up prose, or are those of a store; a few are built, and the others are copies of
them under other ids: how long a search takes does not depend on whether two books are alike.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from answering.book_qa import Ask, BookQA
from benchmarks.machine import machine
from benchmarks.texts import generated
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.manifest import Manifest, read_manifest, write_manifest
from indexing.merging import merge_store
from indexing.store import IndexStore


def copy_book(source: Path, store: IndexStore, id: str) -> None:
    """Publish the build in the folder ``source`` as the book ``id``, its files linked."""
    manifest = replace(read_manifest(source, source.parent.name), id=id)

    def write(into: Path) -> Manifest:
        for name in manifest.files:
            os.link(source / name, into / name)
        write_manifest(manifest, into)
        return manifest

    with store.claim(id) as claim:
        claim.publish(write)


def stock(store: IndexStore, books: int, distinct: int, words: int, like: Path | None) -> Sequence[str]:
    """Fill the empty ``store``; returns questions to ask."""
    texts = generated(words * distinct, seed=2)
    origin = store if like is None else IndexStore(like)
    if like is None:
        every = texts.text.split(" ")
        for number in range(distinct):
            text = " ".join(every[number * words : (number + 1) * words])
            build_book(Book(f"book-{number}", f"Book {number}", text, "benchmark"), BuildSettings(), store)
    folders = [origin.root / "books" / id / origin.current(id) for id in origin.ids()]
    made = len(store.ids())
    for number, folder in zip(range(made, books), itertools.cycle(folders), strict=False):
        copy_book(folder, store, f"book-{number}")
    return texts.questions


def milliseconds(do: Callable[[str], object], questions: Sequence[str]) -> dict[str, float]:
    """The medians of what ``do`` takes for a question: by the clock, and of all cores together."""
    wall, cores = [], []
    for question in questions:
        began = time.perf_counter(), time.process_time()
        do(question)
        wall.append(1000 * (time.perf_counter() - began[0]))
        cores.append(1000 * (time.process_time() - began[1]))
    return {"wall": round(statistics.median(wall), 1), "cores": round(statistics.median(cores), 1)}


def main() -> None:
    """Print the measurements as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--books", type=int, default=1000)
    parser.add_argument("--distinct", type=int, default=20)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--like", type=Path, help="a store on this disk, whose books are copied")
    parser.add_argument("--questions", type=int, default=30)
    options = parser.parse_args()
    near = None if options.like is None else options.like.parent  # for links must stay on one disk
    with tempfile.TemporaryDirectory(dir=near) as folder:
        store = IndexStore(folder)
        questions = stock(store, options.books, options.distinct, options.words, options.like)
        began = time.perf_counter()
        manifest, _ = merge_store(store)
        merging_s = time.perf_counter() - began
        qa = BookQA(store, open_bytes=2**36)
        ids = store.ids()

        def at_once(retriever: str, question: str) -> object:
            return qa.find([Ask("*", question, 5, retriever)])

        def in_turn(question: str) -> object:
            found = [qa.find([Ask(id, question, 5, "hybrid")])[0].hits for id in ids]
            return sorted((hit for hits in found for hit in hits), key=lambda hit: -hit.score)[:5]

        result: dict[str, object] = {
            "machine": machine(),
            "books": len(ids),
            "passages": sum(book.passages for book in manifest.books),
            "windows": manifest.windows,
            "merging_s": round(merging_s, 1),
            "merged_bytes": sum(file.bytes for file in manifest.files.values()),
        }
        at_once("rerank", questions[0])  # the index is opened, and models are loaded
        asked = questions[1 : 1 + options.questions]
        for retriever in ("bm25", "hybrid", "rerank"):
            result[f"{retriever}_ms"] = milliseconds(partial(at_once, retriever), asked)
        vector = qa.open(ids[0]).encoder()
        result["encoding_ms"] = milliseconds(lambda question: vector.encode([question]), asked)
        in_turn(questions[0])
        took = milliseconds(in_turn, asked[:3])
        result["in_turn_ms"] = took
        result["ratio"] = round(took["cores"] / milliseconds(partial(at_once, "hybrid"), asked)["cores"], 1)
        result["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

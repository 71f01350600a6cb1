"""How opening, searching and asking grow with the length of a book and the number of books in the store.

    python -m benchmarks.growth [--sizes 10 100 1000 10000] [--words 80]

fills one store in a folder up to each size in turn with books of made-up prose, every one of them indexed,
and measures what depends on how many there are. The tables of ``benchmarks.speed`` are made of the rest.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from answering.book_qa import Ask, BookQA
from benchmarks.comparisons import HAYSTACK, OURS, READ, passage_texts, prepared
from benchmarks.machine import machine
from benchmarks.texts import Texts, first_words, generated
from benchmarks.timing import Call, Timing, in_turns, race, timed
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.index import BookIndex
from indexing.merging import merge_store
from indexing.store import IndexStore
from retrieval import open_retriever

BM25S = "bm25s"
TINY_WORDS = 80


def build_lengths(texts: Texts, lengths: Sequence[int], store: IndexStore) -> dict[int, dict[str, Any]]:
    """A book of each length in ``store``, by the id ``words-N``, and what building it took."""
    with tempfile.TemporaryDirectory() as folder:
        build_tiny(texts, 1, IndexStore(Path(folder)))  # to import and load what builds is no part of it
    built = {}
    for words in lengths:
        book = Book(
            f"words-{words}", f"The first {words:,} words", first_words(texts.text, words), "benchmark"
        )
        began = time.perf_counter()
        outcome = build_book(book, BuildSettings(), store)
        assert outcome.manifest is not None
        built[words] = {
            "seconds": time.perf_counter() - began,
            "bytes": outcome.manifest.bytes,
            "passages": outcome.manifest.counts.passages,
        }
    return built


def build_tiny(texts: Texts, books: int, store: IndexStore, first: int = 0, words: int = TINY_WORDS) -> None:
    """The books ``first`` up to ``books`` of ``words`` words each, by the ids ``tiny-N``."""
    every = texts.text.split()
    for number in range(first, books):
        start = number * words % max(1, len(every) - words)
        text = " ".join(every[start : start + words])
        build_book(Book(f"tiny-{number}", f"Tiny {number}", text, "benchmark"), BuildSettings(), store)


def with_length(
    python: Path, model: Path, store: IndexStore, texts: Texts, words: int, searched: int, read: int
) -> dict[str, dict[str, Timing]]:
    """Opening, a BM25 query and the whole of an answer for the book of ``words`` words."""
    id = f"words-{words}"
    index, qa = store.open(id), BookQA(store)
    passages = passage_texts(index)
    bm25 = open_retriever("bm25", index)
    k = min(READ, len(passages))
    questions, asked = texts.questions[:searched], texts.questions[: read + 1]
    opened = race({OURS: timed(store.open)}, in_turns([id] * 30, 30), [id])
    with (
        prepared(python, "Bm25s", passages=passages) as bm25s,
        prepared(python, "HaystackPipeline", model=str(model), passages=passages) as haystack,
    ):
        queried = race(
            {
                OURS: timed(lambda question: _numbers(bm25.search([question], k)[0])),
                BM25S: lambda question: bm25s.call("run", question=question, k=k),
                HAYSTACK: lambda question: haystack.call("search", question=question, k=k),
            },
            in_turns(questions, 50),
            questions[:5],
        )
        answered = race(
            {
                OURS: timed(lambda question: _ask(qa, k, (id, question))),
                HAYSTACK: lambda question: haystack.call("run", question=question, k=k),
            },
            in_turns(asked[1:], 1),
            asked[:1],
        )
    return {"open": opened.timings, "query": queried.timings, "ask": answered.timings}


def with_books(
    python: Path, model: Path, store: IndexStore, texts: Texts, searched: int, read: int
) -> dict[str, dict[str, Timing]]:
    """The same three where every question is about another book of ``store``, drawn at random."""
    chance = random.Random(1)
    ids = store.ids()
    passages = {id: passage_texts(store.open(id)) for id in ids}
    qa = BookQA(store)
    drawn = [(chance.choice(ids), question) for question in texts.questions[:searched]]
    asked = [(chance.choice(ids), question) for question in texts.questions[: read + 1]]
    opened = race({OURS: timed(store.open)}, in_turns([id for id, _ in drawn], 50), ids[:1])

    def search(given: tuple[str, str]) -> list[int]:
        return [hit.passage.number for hit in qa.find([Ask(*given, retriever="bm25", k=READ)])[0].hits]

    flat = [text for id in ids for text in passages[id]]
    books = [id for id in ids for _ in passages[id]]
    with prepared(python, "HaystackPipeline", model=str(model), passages=flat, books=books) as haystack:

        def theirs(method: str, given: tuple[str, str]) -> tuple[float, Any]:
            return haystack.call(method, question=given[1], k=READ, book=given[0])

        searching: dict[str, Call[tuple[str, str], Any]] = {
            OURS: timed(search),
            HAYSTACK: partial(theirs, "search"),
        }
        queried = race(searching, in_turns(drawn, 50), drawn[:5])
        answering: dict[str, Call[tuple[str, str], Any]] = {
            OURS: timed(partial(_ask, qa, READ)),
            HAYSTACK: partial(theirs, "run"),
        }
        answered = race(answering, in_turns(asked[1:], 1), asked[:1])
    return {"open": opened.timings, "query": queried.timings, "ask": answered.timings}


def _ask(qa: BookQA, k: int, given: tuple[str, str]) -> str:
    return qa.answer(Ask(*given, retriever="bm25", k=k)).text


def _numbers(hits: Sequence[Any]) -> list[int]:
    return [hit.passage.number for hit in hits]


def summary(by_size: dict[int, dict[str, dict[str, Timing]]]) -> list[dict[str, Any]]:
    """For the results file: one entry per size and kind of work."""
    return [
        {
            "size": size,
            "work": work,
            "contenders": {name: timing.summary() for name, timing in timings.items()},
        }
        for size, works in by_size.items()
        for work, timings in works.items()
    ]


def index_of(store: IndexStore, words: int) -> BookIndex:
    """The book of ``words`` words."""
    return store.open(f"words-{words}")


def with_size(texts: Texts, books: int, store: IndexStore, words: int, asked: int = 50) -> dict[str, Any]:
    """What there is, and what calls take in the median, once ``store`` has grown to ``books`` books.

    ``cores_s`` is the processor time of indexing, by book, and ``files`` are those of a book.
    """
    there = len(store.ids())
    began = time.perf_counter(), time.process_time()
    build_tiny(texts, books, store, there, words)
    took_s, cores_s = time.perf_counter() - began[0], time.process_time() - began[1]
    sizes = [
        (Path(folder) / file).stat().st_size
        for folder, _, files in os.walk(store.root / "books")
        for file in files
    ]
    began_merging = time.perf_counter()
    merge_store(store)
    merging_s = time.perf_counter() - began_merging
    chance = random.Random(1)
    ids = [chance.choice(store.ids()) for _ in range(asked)]
    qa = BookQA(store)

    def search(book: str, question: str) -> object:
        return qa.find([Ask(book, question, retriever="bm25", k=READ)])

    search("*", texts.questions[0])
    drawn = list(zip(ids, texts.questions, strict=False))
    return {
        "books": books,
        "words_per_s": round((books - there) * words / took_s),
        "cores_s": round(cores_s / (books - there), 4),
        "files": round(len(sizes) / books, 2),
        "bytes": round(sum(sizes) / books),
        "merging_s": round(merging_s, 2),
        "ids_ms": _median_ms([store.ids] * 5),
        "cards_ms": _median_ms([store.cards] * 3),
        "holds_ms": _median_ms([partial(store.holds, id) for id in ids]),
        "open_ms": _median_ms([partial(store.open, id) for id in ids]),
        "query_ms": _median_ms([partial(search, id, question) for id, question in drawn]),
        "every_book_ms": _median_ms([partial(search, "*", question) for _, question in drawn]),
    }


def _median_ms(calls: Sequence[Callable[[], object]]) -> float:
    took = []
    for call in calls:
        began = time.perf_counter()
        call()
        took.append(time.perf_counter() - began)
    return round(1000 * statistics.median(took), 3)


def main() -> None:
    """Print what was measured at each size as a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 100, 1000, 10_000])
    parser.add_argument("--words", type=int, default=TINY_WORDS, help="of each book")
    given = parser.parse_args()
    texts = generated(min(max(given.sizes) * given.words, 2_000_000))
    print(json.dumps(machine()))
    with tempfile.TemporaryDirectory() as folder:
        store = IndexStore(folder)
        build_tiny(texts, 1, store, words=given.words)  # the model is loaded
        for books in sorted(given.sizes):
            print(json.dumps(with_size(texts, books, store, given.words)), flush=True)


if __name__ == "__main__":
    main()

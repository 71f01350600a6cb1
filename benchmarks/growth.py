"""How opening, searching and asking grow with the length of a book and the number of books in the store."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from answering.book_qa import Ask, BookQA
from benchmarks.comparisons import OURS, READ, passage_texts, prepared
from benchmarks.texts import Texts, first_words
from benchmarks.timing import Call, Timing, in_turns, race, timed
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.index import BookIndex
from indexing.store import IndexStore
from retrieval import open_retriever

HAYSTACK = "Haystack"
BM25S = "bm25s"
TINY_WORDS = 80


def build_lengths(texts: Texts, lengths: Sequence[int], store: IndexStore) -> dict[int, dict[str, Any]]:
    """A book of each length in ``store``, by the id ``words-N``, and what building it took."""
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


def build_tiny(texts: Texts, books: int, store: IndexStore) -> None:
    """``books`` books of 80 words each, by the ids ``tiny-N``."""
    every = texts.text.split()
    for number in range(books):
        start = number * TINY_WORDS % max(1, len(every) - TINY_WORDS)
        text = " ".join(every[start : start + TINY_WORDS])
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

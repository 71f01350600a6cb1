"""Two real replicas behind HAProxy beside their simulation, with times that were measured on one replica.

    PYTHONPATH=tests python -m benchmarks.fleet_measured --out times.json [--books 24] [--clients 2 4 8]

Books and questions are made up. What is asked, in which order and by how many clients is the same for both,
and so is which replica a book belongs to, which the proxy's log says. The times are of questions that are
asked one at a time, and eight at a time, about the same books; nothing is fitted to what two replicas do.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import httpx
from ring import Ring, hits_and_misses, proxy

from answering.ask import Ask
from benchmarks.fleet_replica import Times
from benchmarks.fleet_run import Fleet, draws, simulate
from benchmarks.load import closed, percentile
from benchmarks.machine import machine
from benchmarks.ring import FixedRing
from benchmarks.serving import serve
from benchmarks.texts import generated
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore

_RETRIEVER, _READER = "bm25", "span"
_SETTINGS = {"STORYQA_SIZE": "small", "STORYQA_RETRIEVER": _RETRIEVER, "STORYQA_READER": _READER}
_TOGETHER = 8
_RUNS = 20  # of the simulation, each with another seed


@contextmanager
def _replica(store: IndexStore) -> Iterator[str]:
    server, url = serve(store.root, settings=_SETTINGS | {"OMP_NUM_THREADS": "1"})
    try:
        yield url
    finally:
        server.terminate()
        server.wait()


def times_of_one(url: str, books: Sequence[str], questions: Sequence[str]) -> Times:
    """What one replica, and nobody else, takes; of the ``questions`` none is asked in the runs."""
    left = iter(questions)
    with httpx.Client(base_url=url, timeout=120) as client:

        def took_s(path: str, body: object) -> float:
            began = time.perf_counter()
            client.post(path, json=body).raise_for_status()
            return time.perf_counter() - began

        def opened_s(book: str) -> float:
            began = time.perf_counter()
            client.get(f"/books/{book}/text", params={"end": 1}).raise_for_status()
            return time.perf_counter() - began

        first = [opened_s(book) for book in books]
        again = statistics.median(opened_s(book) for book in books)
        asks = [{"book_id": book, "question": next(left)} for book in [*books, *books]]
        alone = [took_s("/answer", ask) for ask in asks]
        known = [took_s("/answer", ask) for ask in asks]
        eight = [books[number % len(books)] for number in range(_TOGETHER)]
        together = [
            took_s("/answers", [{"book_id": book, "question": next(left)} for book in eight])
            for _ in range(4)
        ]
    overhead_s = statistics.median(known)
    reading = [max(0.0, one - overhead_s) for one in alone]
    # One takes batch_s + question_s, and eight in a batch batch_s and eight of these.
    mean_s, eight_s = statistics.mean(reading), statistics.mean(together) - overhead_s
    batch_s = max(0.0, (_TOGETHER * mean_s - eight_s) / (_TOGETHER - 1))
    return Times(
        overhead_s=tuple(known),
        batch_s=batch_s,
        question_s=tuple(max(0.0, one - batch_s) for one in reading),
        open_s=tuple(max(0.0, one - again) for one in first),
        fetch_s=(0.0,),
    )


def measured(
    store: IndexStore, asks: Sequence[Ask], clients: int, folder: Path
) -> tuple[dict[str, Any], dict[str, int]]:
    """What two replicas do behind the proxy, and the number of each book's replica."""
    with ExitStack() as stack:
        urls = [stack.enter_context(_replica(store)) for _ in range(2)]
        addresses = {number + 1: url.removeprefix("http://") for number, url in enumerate(urls)}
        ring: Ring = stack.enter_context(proxy(folder, addresses))
        before = hits_and_misses(urls)
        began = time.perf_counter()
        outcomes = closed(ring.url, asks, clients)
        seconds = time.perf_counter() - began
        hits, misses = (now - least for now, least in zip(hits_and_misses(urls), before, strict=True))
        with httpx.Client(timeout=60) as client:
            homes = ring.homes(client, sorted({ask.book_id for ask in asks}))
    latencies = sorted(one.took_s for one in outcomes if one.status == 200)
    found = {
        "answered": len(latencies),
        "answered_per_s": round(len(latencies) / seconds, 3),
        "answer_hits": round(hits / (hits + misses), 4),
        "p50_s": percentile(latencies, 50),
        "p99_s": percentile(latencies, 99),
    }
    return found, {book: int(replica.removeprefix("reader-")) - 1 for book, replica in homes.items()}


def main() -> None:
    """Print the times, and a line of JSON for each number of clients."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="where the times are written")
    parser.add_argument("--books", type=int, default=24)
    parser.add_argument("--words", type=int, default=8000, help="of a book")
    parser.add_argument("--questions", type=int, default=12, help="that are asked about a book")
    parser.add_argument("--asked", type=int, default=400)
    parser.add_argument("--clients", type=int, nargs="+", default=[2, 4, 8], help="a run with so many each")
    parser.add_argument("--batch", type=int, default=6, help="questions that the tokens of a batch hold")
    given = parser.parse_args()
    fleet = Fleet(
        books=given.books,
        questions=given.questions,
        replicas=2,
        asked=given.asked,
        batch=given.batch,
    )
    texts = generated(given.books * given.words, seed=3)
    every, ids = texts.text.split(), [f"book-{number:02}" for number in range(given.books)]
    with tempfile.TemporaryDirectory() as temporary:
        store = IndexStore(Path(temporary) / "store")
        for number, id in enumerate(ids):
            text = " ".join(every[number * given.words : (number + 1) * given.words])
            build_book(Book(id, id, text, "benchmark"), BuildSettings(), store)
        drawn = draws(fleet, fleet.asked, seed=1)
        others = generated(1, seed=4).questions
        with _replica(store) as url:
            times = times_of_one(url, ids, others)
        asks = [
            Ask(ids[book], texts.questions[question], retriever=_RETRIEVER, reader=_READER)
            for book, question in drawn
        ]
        given.out.write_text(json.dumps({"times": asdict(times)}), encoding="utf-8")
        print(json.dumps({"machine": machine(), "times": _told(times)}), flush=True)
        for clients in given.clients:
            with tempfile.TemporaryDirectory() as folder:
                seen, homes = measured(store, asks, clients, Path(folder))
            ring = FixedRing(2, {number: homes.get(id, 0) for number, id in enumerate(ids)})
            runs = [
                simulate(replace(fleet, clients=clients, seed=seed), times, ring, drawn).summary()
                for seed in range(_RUNS)
            ]
            simulated = {name: _range([run[name] for run in runs]) for name in seen if name in runs[0]}
            line = {"clients": clients, "measured": seen, "simulated_least_mean_most": simulated}
            print(json.dumps(line), flush=True)


def _range(ones: Sequence[float]) -> list[float]:
    return [round(one, 4) for one in (min(ones), statistics.mean(ones), max(ones))]


def _told(times: Times) -> dict[str, Any]:
    deciles = statistics.quantiles(times.question_s, n=10)
    return {
        "overhead_ms": round(1000 * statistics.median(times.overhead_s), 2),
        "batch_ms": round(1000 * times.batch_s, 1),
        "question_ms": {
            "p10": round(1000 * deciles[0]),
            "p50": round(1000 * deciles[4]),
            "p90": round(1000 * deciles[8]),
        },
        "open_ms": round(1000 * statistics.median(times.open_s), 2),
    }


if __name__ == "__main__":
    main()

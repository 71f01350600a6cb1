"""The service under open-model load, beside what the same reader does offline, in one run.

python -m benchmarks.serving_load --store STORE --data NARRATIVEQA --seconds 600: measures offline batch
throughput, then offers that rate times each of ``--multiples`` to ``storyqa serve`` on loopback, then
measures offline again, for machines change their pace. The answer cache is off, and no question comes
again before all others have: passages that were read for it lately would not be read again. Prints one
JSON object. Exit code 1 where saturation brings less than 85 % of offline, any status but 200, 429 and
503 comes, or the 99th percentile of the answered is over the deadline.

--crowd 200: so many clients all at once instead, for ``--seconds`` each time: from the moment the server
listens, its models not yet loaded, and once more when that is over. Exit code 1 where any answer is a 500
or none, less than 95 % of the accepted are answered within the deadline, a refusal takes a second or has no
``Retry-After``, or the 99th percentile of ``/healthz`` is a second or more.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import threading
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from answering.book_qa import Ask, BookQA
from benchmarks.load import Crowd, closed, crowd, open_model, percentile, summary
from benchmarks.machine import machine
from benchmarks.serving import questions, serve
from indexing.store import IndexStore
from readers import DEFAULT_READER
from retrieval import DEFAULT_RETRIEVER

LEAST_SHARE = 0.85
LEAST_IN_TIME = 0.95
MOST_S = 1.0  # for a refusal, and for /healthz
_ALLOWED = {200, 429, 503}


class Memory(threading.Thread):
    """The resident memory of a process and its children, in MB, once a second until ``end``."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._process = psutil.Process(pid)
        self._ended = threading.Event()
        self.samples: list[float] = []

    def run(self) -> None:
        """Sample on."""
        while not self._ended.wait(1.0):
            family = [self._process, *self._process.children(recursive=True)]
            self.samples.append(sum(one.memory_info().rss for one in family) / 2**20)

    def end(self) -> dict[str, float]:
        """The medians of the first and the last quarter, and the most."""
        self._ended.set()
        self.join()
        quarter = max(1, len(self.samples) // 4)
        first, last = sorted(self.samples[:quarter]), sorted(self.samples[-quarter:])
        return (
            {
                "first_mb": round(first[len(first) // 2]),
                "last_mb": round(last[len(last) // 2]),
                "most_mb": round(max(self.samples)),
            }
            if self.samples
            else {}
        )


def offline(qa: BookQA, asks: list[Ask]) -> float:
    """Questions per second of one call of ``answer_many``, models and books loaded."""
    qa.warm(asks[0].retriever, asks[0].reader)
    for book in {ask.book_id for ask in asks}:
        qa.open(book)
    began = time.perf_counter()
    qa.answer_many(asks)
    return len(asks) / (time.perf_counter() - began)


def crowd_summary(seen: Crowd, seconds: float, deadline_s: float) -> dict[str, Any]:
    """What the crowd met, and under ``good`` whether it is what the service promises."""
    accepted = [one for one in seen.outcomes if one.status not in (429, 503)]
    refused = [one for one in seen.outcomes if one.status in (429, 503)]
    answered = sum(one.status == 200 and one.took_s <= deadline_s for one in accepted)
    refused_s = sorted(one.took_s for one in refused)
    health_s = sorted(seen.health_s)
    found = {
        **asdict(summary(seen.outcomes, seconds)),
        "accepted": len(accepted),
        "in_time_share": round(answered / max(1, len(accepted)), 3),
        "refused_p50_s": percentile(refused_s, 50),
        "refused_p99_s": percentile(refused_s, 99),
        "refused_most_s": round(max(refused_s, default=0.0), 3),
        "refused_untold": sum(one.retry_after_s is None for one in refused),
        "health_p50_s": percentile(health_s, 50),
        "health_p99_s": percentile(health_s, 99),
        "health_most_s": round(max(health_s), 3),
    }
    good = (
        set(found["statuses"]) <= {200, 429, 503, 504}
        and found["in_time_share"] >= LEAST_IN_TIME
        and found["refused_most_s"] < MOST_S
        and not found["refused_untold"]
        and found["health_p99_s"] < MOST_S
    )
    return {**found, "good": good}


def crowds(given: argparse.Namespace, asks: list[Ask], settings: dict[str, str]) -> int:
    """A crowd at a server that has just begun to listen, and another at the same server, warm."""
    server, url = serve(given.store, given.workers, settings, path="/healthz")
    coming = itertools.cycle(asks)
    loads: dict[str, dict[str, Any]] = {}
    try:
        for name in ("cold", "warm"):
            memory = Memory(server.pid)
            memory.start()
            seen = crowd(url, coming, given.crowd, given.seconds)
            loads[name] = crowd_summary(seen, given.seconds, given.deadline) | {"memory": memory.end()}
    finally:
        server.terminate()
        server.wait()
    result = {"clients": given.crowd, "seconds": given.seconds, "deadline_s": given.deadline}
    print(json.dumps(result | loads | {"machine": machine()}, indent=1))
    return int(not all(load["good"] for load in loads.values()))


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=60.0, help="for each rate")
    parser.add_argument("--multiples", type=float, nargs="+", default=[0.5, 1.2, 2.0], help="of offline")
    parser.add_argument("--offline", type=int, default=200, help="questions to measure offline")
    parser.add_argument("--books", type=int, default=58)
    parser.add_argument("--crowd", type=int, default=0, help="so many clients at once instead, cold and warm")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--deadline", type=float, default=30.0, help="seconds")
    parser.add_argument("--retriever", default=DEFAULT_RETRIEVER)
    parser.add_argument("--reader", default=DEFAULT_READER)
    given = parser.parse_args()
    asks = [
        replace(ask, retriever=given.retriever, reader=given.reader)
        for ask in questions(IndexStore(given.store), given.data, 10**6, given.books)
    ]
    random.Random(0).shuffle(asks)
    settings = {
        "STORYQA_ANSWER_CACHE_MB": "0",
        "STORYQA_DEADLINE_S": str(given.deadline),
        "STORYQA_RETRIEVER": given.retriever,
        "STORYQA_READER": given.reader,
    }
    if given.crowd:
        return crowds(given, asks, settings)
    qa = BookQA(IndexStore(given.store), held=True)
    rate = offline(qa, asks[-given.offline :])
    server, url = serve(given.store, given.workers, settings)
    loads: list[dict[str, Any]] = []
    coming = itertools.cycle(asks)
    try:
        closed(url, asks[-4:], 4)  # how fast it goes is not known before the first batch
        for multiple in given.multiples:
            memory = Memory(server.pid)
            memory.start()
            outcomes = open_model(url, coming, multiple * rate, given.seconds)
            loads.append(
                {"multiple": multiple, **asdict(summary(outcomes, given.seconds)), "memory": memory.end()}
            )
    finally:
        server.terminate()
        server.wait()
    again = offline(qa, asks[-2 * given.offline : -given.offline])
    share = max(load["answered_per_s"] for load in loads) / max(rate, again)
    good = all(set(load["statuses"]) <= _ALLOWED and load["p99_s"] <= given.deadline for load in loads)
    result = {
        "questions": len(asks),
        "offline_per_s": [round(rate, 2), round(again, 2)],
        "saturation_share": round(share, 3),
        "loads": loads,
        "machine": machine(),
    }
    print(json.dumps(result, indent=1))
    return int(share < LEAST_SHARE or not good)


if __name__ == "__main__":
    sys.exit(main())

"""What batching across requests is worth: 16 clients of a server that batches, and of one that does not.

python -m benchmarks.batching --store STORE --data NARRATIVEQA: starts two servers on loopback, the same
but for ``STORYQA_BATCH_TOKENS``, and has the clients ask each the same questions, round after round with
new ones. Prints one JSON object; exit code 1 where anything but an answer came.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.load import closed
from benchmarks.machine import machine
from benchmarks.serving import questions, serve
from indexing.store import IndexStore
from readers import DEFAULT_READER
from retrieval import DEFAULT_RETRIEVER

# With one token to a batch, one question is read at a time.
CONTENDERS = {"batched": {}, "one at a time": {"STORYQA_BATCH_TOKENS": "1", "STORYQA_BATCH_WAIT_MS": "0"}}
_SETTINGS = {"STORYQA_ANSWER_CACHE_MB": "0", "STORYQA_LONGEST_WAIT_S": "3600", "STORYQA_DEADLINE_S": "3600"}


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--questions", type=int, default=64, help="in each round")
    parser.add_argument("--books", type=int, default=58)
    parser.add_argument("--retriever", default=DEFAULT_RETRIEVER)
    parser.add_argument("--reader", default=DEFAULT_READER)
    given = parser.parse_args()
    count = given.questions * (given.rounds + 1)
    asks = [
        replace(ask, retriever=given.retriever, reader=given.reader)
        for ask in questions(IndexStore(given.store), given.data, count, given.books)
    ]
    random.Random(0).shuffle(asks)
    chosen = _SETTINGS | {"STORYQA_RETRIEVER": given.retriever, "STORYQA_READER": given.reader}
    servers = {name: serve(given.store, 1, chosen | more) for name, more in CONTENDERS.items()}
    per_s: dict[str, list[float]] = {name: [] for name in servers}
    failed = 0
    try:
        for number in range(given.rounds + 1):  # the first opens books and is not counted
            of_round = asks[number * given.questions : (number + 1) * given.questions]
            for name, (_, url) in servers.items():
                began = time.perf_counter()
                outcomes = closed(url, of_round, given.clients)
                per_s[name].append(len(of_round) / (time.perf_counter() - began))
                failed += sum(one.status != 200 for one in outcomes)
    finally:
        for server, _ in servers.values():
            server.terminate()
        for server, _ in servers.values():
            server.wait()
    batched, single = (per_s[name][1:] for name in CONTENDERS)
    result = {
        "clients": given.clients,
        "questions_per_round": given.questions,
        "failed": failed,
        "batched_per_s": [round(rate, 2) for rate in batched],
        "one_at_a_time_per_s": [round(rate, 2) for rate in single],
        "ratio": round(statistics.median(a / b for a, b in zip(batched, single, strict=True)), 3),
        "machine": machine(),
    }
    print(json.dumps(result, indent=1))
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

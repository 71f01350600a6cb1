"""Questions about many books from concurrent clients of a real server, compared with offline answers.

python -m benchmarks.serving --store STORE --data NARRATIVEQA: starts ``storyqa serve`` on loopback
and asks NarrativeQA's questions about books that the store holds. Exit code 1 where any answer is
an error or differs from the one that ``BookQA`` gives without a server.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from answering.book_qa import Ask, BookQA
from evaluation.benchmarks.narrativeqa import load
from indexing.store import IndexStore

SAME_CONFIDENCE = 1e-4  # batches of another shape round differently


def questions(store: IndexStore, data: Path, count: int, books: int) -> list[Ask]:
    """``count`` questions spread evenly over ``books`` books of the store."""
    held = set(store.ids())
    by_book: dict[str, list[str]] = {}
    for question in load(data, "valid", "stories").questions:
        if question.book in held:
            by_book.setdefault(question.book, []).append(question.text)
    chosen = list(by_book.items())[:books]
    each = -(-count // max(1, len(chosen)))
    return [Ask(book, text) for book, texts in chosen for text in texts[:each]][:count]


def serve(
    store: Path, workers: int = 1, settings: Mapping[str, str] | None = None, path: str = "/readyz"
) -> tuple[subprocess.Popen[bytes], str]:
    """A server process on a free port of loopback, as soon as ``path`` answers 200, and its address.

    ``settings`` are environment variables.
    """
    port = free_port()
    command = [
        "-c",
        "from service.cli import main; main()",
        "serve",
        "--port",
        str(port),
        "--store",
        str(store),
        "--workers",
        str(workers),
    ]
    server = subprocess.Popen(
        [sys.executable, *command],
        env={**os.environ, "HF_HUB_OFFLINE": "1", **(settings or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # the log of every request
    )
    address = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{address}{path}", server)
    except TimeoutError:
        server.terminate()
        raise
    return server, address


def free_port() -> int:
    """One of loopback that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def wait_for(url: str, server: subprocess.Popen[bytes]) -> None:
    """Return once ``url`` answers 200; raises TimeoutError where it does not within two minutes, or ends."""
    deadline = time.monotonic() + 120
    while server.poll() is None and time.monotonic() < deadline:
        with suppress(httpx.TransportError):
            if httpx.get(url).status_code == 200:
                return
        time.sleep(0.1)
    raise TimeoutError(f"{url} was not ready within two minutes")


def same(served: dict[str, Any], offline: Any) -> bool:
    """Whether a response holds the offline answer, at the same place, from the same passages."""
    place = served["evidence"] and (served["evidence"]["start"], served["evidence"]["end"])
    return (
        served["answer"] == offline.text
        and place == (offline.evidence and (offline.evidence.start, offline.evidence.end))
        and [p["number"] for p in served["passages"]] == [p.number for p in offline.passages]
        and abs(served["confidence"] - offline.confidence) < SAME_CONFIDENCE
    )


def main() -> int:
    """The command line; prints one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--books", type=int, default=20)
    parser.add_argument("--clients", type=int, default=8)
    given = parser.parse_args()
    asks = questions(IndexStore(given.store), given.data, given.questions, given.books)
    server, address = serve(given.store)
    try:
        with httpx.Client(base_url=address, timeout=300) as client, ThreadPoolExecutor(given.clients) as pool:

            def post(ask: Ask) -> tuple[httpx.Response, float]:
                began = time.perf_counter()
                body = {"book_id": ask.book_id, "question": ask.question}
                return client.post("/answer", json=body), time.perf_counter() - began

            began = time.perf_counter()
            responses = list(pool.map(post, asks))
            seconds = time.perf_counter() - began
    finally:
        server.terminate()
        server.wait()
    offline = BookQA(IndexStore(given.store)).answer_many(asks)
    errors = sum(response.status_code != 200 for response, _ in responses)
    equal = sum(
        response.status_code == 200 and same(response.json(), answer)
        for (response, _), answer in zip(responses, offline, strict=True)
    )
    result = {
        "questions": len(asks),
        "books": len({ask.book_id for ask in asks}),
        "clients": given.clients,
        "errors": errors,
        "equal_to_offline": equal,
        "seconds": round(seconds, 1),
        "median_latency_s": round(statistics.median(took for _, took in responses), 2),
    }
    print(json.dumps(result))
    return int(errors > 0 or equal < len(asks))


if __name__ == "__main__":
    sys.exit(main())

"""The whole service by number of clients, beside Haystack's pipeline behind hayhooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from answering.book_qa import Ask
from benchmarks.comparisons import HAYSTACK, OURS, READ, passage_texts
from benchmarks.load import Outcome, Request, answer_request, closed, percentile
from benchmarks.peers import CONTENDERS, QUIET
from benchmarks.serving import free_port, serve, wait_for
from indexing.index import BookIndex

CORES = 2
_WARM_UP = 4  # questions
_PIPELINE = "book"
# No answer comes from a cache, and nobody is refused, however long the queue.
_SETTINGS = {
    "STORYQA_ANSWER_CACHE_MB": "0",
    "STORYQA_LONGEST_WAIT_S": "3600",
    "STORYQA_DEADLINE_S": "3600",
    "STORYQA_RATE": "1000000/minute",
}


@dataclass(frozen=True, slots=True)
class Clients:
    """How many ask at once, and how many questions they ask in each turn."""

    clients: int
    questions: int


def by_clients(
    python: Path,
    model: Path,
    store: Path,
    index: BookIndex,
    questions: Sequence[str],
    plan: Sequence[Clients],
    turns: int,
    scratch: Path,
) -> list[dict[str, Any]]:
    """Questions per second, and how long answers take, of both servers by number of clients.

    BM25 and ten passages in both; each has ``CORES`` cores. They take turns, one idle while the other is
    asked, and the same questions are asked of both, none of them twice.
    """
    needed = _WARM_UP + turns * sum(one.questions for one in plan)
    if len(questions) < needed:
        raise ValueError(f"{len(questions)} questions; {needed} are asked")
    asks = iter([Ask(index.id, question, k=READ, retriever="bm25") for question in questions])
    requests = {OURS: answer_request, HAYSTACK: _hayhooks_request}
    outcomes: dict[tuple[int, str], list[list[Outcome]]] = {}
    with _on_cores(CORES):
        server, url = serve(store, settings=_SETTINGS)
        try:
            with hayhooks(python, model, passage_texts(index), scratch) as their_url:
                urls = {OURS: url, HAYSTACK: their_url}
                warm_up = [next(asks) for _ in range(_WARM_UP)]
                for name, request in requests.items():
                    closed(urls[name], warm_up, 1, request)
                for one in plan:
                    for _ in range(turns):
                        of_turn = [next(asks) for _ in range(one.questions)]
                        for name, request in requests.items():
                            got = closed(urls[name], of_turn, one.clients, request)
                            outcomes.setdefault((one.clients, name), []).append(got)
        finally:
            server.terminate()
            server.wait()
    return [
        {"clients": clients, "contender": name, **summary(of_turns)}
        for (clients, name), of_turns in outcomes.items()
    ]


def summary(turns: Sequence[Sequence[Outcome]]) -> dict[str, Any]:
    """Answers per second of the time that the turns took, and latencies; whatever is no answer has failed."""
    seconds = sum(max(one.due_s + one.took_s for one in turn) for turn in turns)
    took = sorted(one.took_s for turn in turns for one in turn if one.status == 200)
    return {
        "questions": sum(map(len, turns)),
        "failed": sum(one.status != 200 for turn in turns for one in turn),
        "per_s": len(took) / seconds,
        "p50_s": percentile(took, 50),
        "p95_s": percentile(took, 95),
    }


@contextmanager
def hayhooks(python: Path, model: Path, passages: Sequence[str], scratch: Path) -> Iterator[str]:
    """The address of a hayhooks that serves Haystack's pipeline over ``passages`` until the block ends."""
    folder = scratch / "pipelines" / _PIPELINE
    folder.mkdir(parents=True)
    shutil.copy(CONTENDERS / "hayhooks_wrapper.py", folder / "pipeline_wrapper.py")
    book = {"model": str(model), "passages": list(passages)}
    (folder / "book.json").write_text(json.dumps(book), encoding="utf-8")
    port = free_port()
    command = [str(python.with_name("hayhooks")), "run", "--host", "127.0.0.1", "--port", str(port)]
    command += ["--pipelines-dir", str(folder.parent), "--additional-python-path", str(CONTENDERS)]
    server = subprocess.Popen(
        command,
        cwd=scratch,  # it looks for a file of settings there
        env={**os.environ, **QUIET, "HAYHOOKS_TRACING_ENABLED": "false"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,  # the log of every request
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(f"{url}/status/{_PIPELINE}", server)
        yield url
    finally:
        server.terminate()
        server.wait()


def _hayhooks_request(ask: Ask) -> Request:
    return f"/{_PIPELINE}/run", {"question": ask.question, "k": ask.k}


@contextmanager
def _on_cores(count: int) -> Iterator[None]:
    """Whatever is started in the block has so many of this process's cores, or all where it has fewer."""
    mine = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(mine)[:count])
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)

"""``storyqa serve --workers``: processes that count together, and one that is killed is replaced."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
import shelf
from callers import ASKING, Callers, answered_offline

from indexing.store import IndexStore

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[1]
ASKED: list[dict[str, Any]] = [{"book_id": book, "question": question} for book, question in shelf.QUESTIONS]
WORKERS = 2
PATIENCE_S = 120


@contextmanager
def serving(store: IndexStore, count: int = WORKERS) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of ``storyqa serve`` with its workers ready, or ready itself, and its address."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", "from service.cli import main; main()", "serve", "--port", "0", "--json"),
            *("--workers", str(count), "--store", str(store.root)),
        ],
        cwd=ROOT,
        env=os.environ | {"STORYQA_RETRIEVER": "bm25", "STORYQA_READER": "overlap"},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        lines: list[str] = []
        while not lines or lines[-1] != "}\n":
            lines.append(process.stdout.readline())
            assert lines[-1], "the server ended before it had said where it is"
        url = json.loads("".join(lines))["url"]
        until(lambda: ready(url) and (count == 1 or len(workers(process)) == count))
        yield process, url
    finally:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=PATIENCE_S)


def workers(process: subprocess.Popen[str]) -> set[int]:
    """The worker processes by their ids; multiprocessing has another child, which tracks resources."""
    found = set()
    for child in psutil.Process(process.pid).children():
        with suppress(psutil.NoSuchProcess):  # killed, and not waited for yet
            if any("spawn_main" in part for part in child.cmdline()):
                found.add(child.pid)
    return found


def ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def answered(url: str) -> float:
    """How many questions /metrics says were answered."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("storyqa_answers_total{"))


def test_a_worker_killed_under_load_costs_no_wrong_answer_and_is_replaced(shelf_store: IndexStore) -> None:
    callers = Callers(ASKED, answered_offline(shelf_store, ASKED))
    with serving(shelf_store) as (process, url):
        before = workers(process)
        with callers.asking(url, keep_alive=False):
            until(lambda: len(callers.given) > 20)
            victim = min(before)
            os.kill(victim, signal.SIGKILL)
            until(lambda: len(workers(process) - {victim}) == WORKERS)
            seen = len(callers.given)
            until(lambda: len(callers.given) > seen + 20)
        given, cut_off = len(callers.given), len(callers.cut_off)
        assert callers.wrong == []
        assert cut_off <= ASKING  # what the dead one had in hand; nothing after that
        assert workers(process) & before == before - {victim}
        # What the dead one had counted is not forgotten; an answer may be cut off after it was counted.
        assert given <= answered(url) <= given + cut_off
        assert "storyqa_queue_depth 0.0" in httpx.get(f"{url}/metrics").text
        process.terminate()
        assert process.wait(timeout=PATIENCE_S) == 0


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGKILL])
def test_the_workers_end_with_their_parent_however_it_ends(
    sign: signal.Signals, shelf_store: IndexStore
) -> None:
    with serving(shelf_store) as (process, _):
        processes = [psutil.Process(pid) for pid in workers(process)]
        process.send_signal(sign)
        process.wait(timeout=PATIENCE_S)
        _, alive = psutil.wait_procs(processes, timeout=PATIENCE_S)
        assert alive == []


# Waits for a worker that hangs for longer than any test does: one that has ended does not hang.
PATIENT = """
from service.cli import main
from service.load import workers
workers._HUNG_S = 10_000
main()
"""


@pytest.mark.parametrize("count", [1, 2])
def test_a_server_that_cannot_start_says_why_and_ends(
    count: int, shelf_store: IndexStore, tmp_path: Path
) -> None:
    shadow = tmp_path / "opentelemetry" / "exporter"  # in its place, as if the extra were not installed
    shadow.mkdir(parents=True)
    (shadow / "__init__.py").touch()
    done = subprocess.run(
        [
            *(sys.executable, "-c", PATIENT, "serve", "--port", "0"),
            *("--workers", str(count), "--store", str(shelf_store.root)),
        ],
        cwd=ROOT,
        env=os.environ
        | {"PYTHONPATH": f"{tmp_path}:{ROOT}", "STORYQA_TRACES": "http://127.0.0.1:4318/v1/traces"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 2
    assert "pip install 'storyqa[otel]'" in done.stderr
    assert "Traceback" not in done.stderr


# The signal comes while something is destroyed, in the first event of a kind once the address has been said.
DYING = """
import io, signal, sys, threading

class Dying:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

class Said(io.StringIO):
    def write(self, text):
        if text.startswith("storyqa at "):
            sys.addaudithook(destroy)
        return super().write(text)

def destroy(event, arguments):
    if event == at and threading.current_thread() is threading.main_thread():
        kept.clear()

kept, at, sys.stdout = [Dying()], sys.argv.pop(), Said()
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job begins with it ignored
from service.cli import main
main()
"""


@pytest.mark.parametrize("event", ["open", "socket.__new__"])
def test_ctrl_c_that_comes_while_something_is_destroyed_stops_the_server_all_the_same(
    shelf_store: IndexStore, event: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DYING, "serve", "--port", "0", "--store", str(shelf_store.root), event],
        cwd=ROOT,
        env=os.environ | {"STORYQA_RETRIEVER": "bm25", "STORYQA_READER": "overlap"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0
    assert "KeyboardInterrupt" in done.stderr  # dropped by Python, which says so

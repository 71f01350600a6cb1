"""The whole service beside Haystack's behind hayhooks: what is asked of whom, and what is counted."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from installed_peers import INTERPRETERS, needs_peers
from novels import novel

from answering.book_qa import Ask
from benchmarks.comparisons import HAYSTACK, OURS
from benchmarks.exported import export_reader, shipped_tensors
from benchmarks.load import Outcome, closed
from benchmarks.peers import CONTENDERS
from benchmarks.serving_peers import Clients, by_clients, hayhooks, summary
from indexing.build import BuildSettings, build_book
from indexing.index import BookIndex
from indexing.store import IndexStore

NOVEL = novel(words=4_000)
PASSAGES = ["Maud hid the lamp in a hollow oak.", "The miller slept."]
# A program of the name of hayhooks: it serves what it is told to, if the folder is as hayhooks wants it.
STAND_IN = """
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
command, *rest = sys.argv[1:]
given = dict(zip(rest[::2], rest[1::2]))
book = Path(given["--pipelines-dir"]) / "book"
sys.path.append(given["--additional-python-path"])
import haystack_components
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        there = all((book / name).is_file() for name in ("pipeline_wrapper.py", "book.json"))
        self.send_response(200 if self.path == "/status/book" and there else 404)
        self.end_headers()
HTTPServer((given["--host"], int(given["--port"])), Handler).serve_forever()
"""


class Service(ThreadingHTTPServer):
    """Answers whatever is posted, and keeps what was and how many were at it at once."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self.now = self.most = 0
        self.counting = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers 200, and 500 where ``fail`` is in the body."""

    server: Service

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.counting:
            self.server.asked.append((self.path, body))
            self.server.now += 1
            self.server.most = max(self.server.most, self.server.now)
        time.sleep(0.02)
        with self.server.counting:
            self.server.now -= 1
        self.send_response(500 if "fail" in body else 200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as running:
        threading.Thread(target=running.serve_forever).start()
        yield running
        running.shutdown()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    filled = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(NOVEL, BuildSettings(), filled)
    return filled


@pytest.fixture(scope="module")
def index(store: IndexStore) -> BookIndex:
    return store.open(NOVEL.id)


def test_each_question_is_asked_once_by_so_many_clients_at_most(service: Service) -> None:
    asks = [Ask("whale", f"Who asks {number}?", k=10, retriever="bm25") for number in range(12)]
    outcomes = closed(service.url, asks, 3)
    assert [one.status for one in outcomes] == [200] * 12
    assert {path for path, _ in service.asked} == {"/answer"}
    assert sorted(body["question"] for _, body in service.asked) == sorted(ask.question for ask in asks)
    assert all(
        (body["book_id"], body["k"], body["retriever"]) == ("whale", 10, "bm25") for _, body in service.asked
    )
    assert 1 < service.most <= 3


def test_another_service_is_asked_in_its_own_way(service: Service) -> None:
    asks = [Ask("whale", "Who?"), Ask("whale", "Why?")]
    outcomes = closed(service.url, asks, 1, lambda ask: ("/book/run", {"fail": ask.question}))
    assert [one.status for one in outcomes] == [500, 500]
    assert service.asked == [("/book/run", {"fail": "Who?"}), ("/book/run", {"fail": "Why?"})]


def test_questions_per_second_are_answers_by_the_time_until_the_last_of_each_turn() -> None:
    first = [Outcome(0.0, 1.0, 200), Outcome(1.0, 3.0, 200), Outcome(1.0, 1.0, 500)]
    second = [Outcome(0.0, 2.0, 200), Outcome(2.0, 4.0, 200)]
    found = summary([first, second])
    assert (found["questions"], found["failed"], found["per_s"]) == (5, 1, 4 / 10)
    assert (found["p50_s"], found["p95_s"]) == (2.5, pytest.approx(3.85))


def test_hayhooks_is_given_a_folder_with_the_book_and_ends_with_the_block(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "hayhooks"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}\n{STAND_IN}", encoding="utf-8")
    program.chmod(0o755)
    with hayhooks(program.with_name("python"), tmp_path / "model", PASSAGES, tmp_path) as url:
        pass
    folder = tmp_path / "pipelines" / "book"
    assert json.loads((folder / "book.json").read_text()) == {
        "model": str(tmp_path / "model"),
        "passages": PASSAGES,
    }
    wrapper = (folder / "pipeline_wrapper.py").read_text()
    assert wrapper == (CONTENDERS / "hayhooks_wrapper.py").read_text()
    assert [one.status for one in closed(url, [Ask("whale", "Who?")], 1)] == [0]


def test_too_few_questions_to_ask_each_once_are_refused(index: BookIndex, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"2 questions; 14 are asked"):
        by_clients(tmp_path, tmp_path, tmp_path, index, ["Who?", "Why?"], [Clients(1, 5)], 2, tmp_path)


@needs_peers
@pytest.mark.processes
@pytest.mark.usefixtures("all_instructions")
def test_both_services_answer_every_question_on_cores_that_are_given_back(
    store: IndexStore, index: BookIndex, tmp_path: Path
) -> None:
    export_reader(shipped_tensors(), tmp_path / "model")
    plan = [Clients(1, 2), Clients(3, 4)]
    asked = [f"Who saw the {number} lamps?" for number in range(10)]
    mine = os.sched_getaffinity(0)
    rows = by_clients(INTERPRETERS.peers, tmp_path / "model", store.root, index, asked, plan, 1, tmp_path)
    assert [(row["clients"], row["contender"], row["questions"], row["failed"]) for row in rows] == [
        (1, OURS, 2, 0),
        (1, HAYSTACK, 2, 0),
        (3, OURS, 4, 0),
        (3, HAYSTACK, 4, 0),
    ]
    assert os.sched_getaffinity(0) == mine

"""``serve run storyqa.serve:app``: the answers of ``storyqa serve``, and a book stays with its replica.

Run where Ray Serve is installed: pip install -c constraints.txt '.[ray-serve]'
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections import defaultdict
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
import yaml  # type: ignore[import-untyped]
from callers import AnswerPlace, Callers
from server import problem
from server import running as running_app
from starlette.types import Message
from test_ring import ASKED, BOOKS, ask_all
from test_ring import library as library
from test_ring import right as right
from test_workers import PATIENCE_S, ROOT, ready, until
from test_workers import serving as plainly_serving

from indexing.store import IndexStore
from service.ray_serve import app, front
from service.settings import Settings
from text.errors import StoryQAError

pytestmark = [pytest.mark.processes, pytest.mark.filterwarnings("ignore")]

ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(ROOT),
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
}
REPLICAS = 2
BY_RAY = {"date", "server", "content-length"}  # of headers
BAD: list[tuple[str, str, Any]] = [
    ("POST", "/answer", {"book_id": "whale", "question": "Who?"}),
    ("POST", "/answer", {"book_id": BOOKS[0]}),
    ("POST", "/answer", {"book_id": BOOKS[0], "question": "Who?", "reader": "gpt"}),
    ("POST", "/answer", ["no question"]),
    ("POST", "/answer", {"book_id": BOOKS[0], "question": "Who? " * 60_000}),
    ("POST", "/v1/chat/completions", {"model": "whale", "messages": [{"role": "user", "content": "Who?"}]}),
    ("DELETE", "/books/whale", None),
    ("GET", "/jobs/0123456789abcdef0123456789abcdef", None),
    ("PUT", "/answer", {}),
    ("GET", "/nothing", None),
]
GOOD: list[tuple[str, str, Any]] = [
    ("GET", "/books", None),
    ("GET", f"/books/{BOOKS[0]}/text", None),
    ("GET", "/openapi.json", None),
    ("GET", "/version", None),
    ("GET", "/", None),
    ("POST", "/answers", ASKED[:3]),
    ("POST", "/search", {"book_id": "*", "question": "Who kept the key?"}),
    ("OPTIONS", "/books", None),
]


@dataclass(frozen=True, slots=True)
class Running:
    """``serve run`` with ``deploy/ray`` on a cluster of its own: where it answers, and Ray's logs."""

    process: subprocess.Popen[bytes]
    url: str
    logs: Path

    def replicas(self) -> set[int]:
        """The processes that answer, by their ids: one that only starts has the same name already."""
        ours = psutil.Process().children(recursive=True)  # the cluster's among them
        living = {process.pid for process in ours}
        return living & {pid for pid, _ in self.told("(Application startup complete)")}

    def told(self, pattern: str) -> list[tuple[int, str]]:
        """What the pattern's group found in what replicas have logged, each with its replica."""
        return [
            (int(file.stem.rpartition("-")[2]), found)
            for file in self.logs.glob("worker-*.err")
            for found in re.findall(pattern, file.read_text("utf-8"))
        ]


@pytest.fixture(scope="module")
def running(library: IndexStore, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    serve = Path(sys.executable).with_name("serve")
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="the extra ray-serve is not installed")
    if not serve.exists():
        pytest.skip("the extra ray-serve is not installed")
    folder = tmp_path_factory.mktemp("ray")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    config = yaml.safe_load((ROOT / "deploy" / "ray" / "serve.yaml").read_text("utf-8"))
    config["http_options"]["port"] = port
    config["applications"][0]["runtime_env"]["env_vars"] = {
        "STORYQA_STORE": str(library.root),
        "STORYQA_STATE": str(folder / "state"),
        "STORYQA_RETRIEVER": "bm25",
        "STORYQA_READER": "overlap",
        "STORYQA_LOG_FORMAT": "json",
        "STORYQA_LOG_QUESTIONS": "true",
    }
    (folder / "serve.yaml").write_text(yaml.safe_dump(config), "utf-8")
    with pytest.MonkeyPatch.context() as patch, (folder / "log").open("wb") as log:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        head = {"num_cpus": REPLICAS, "include_dashboard": False, "object_store_memory": 100 * 2**20}
        cluster = cluster_utils.Cluster(initialize_head=True, head_node_args=head)
        command = [str(serve), "run", f"--address={cluster.address}", str(folder / "serve.yaml")]
        process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log)
        try:
            logs = Path(cluster.head_node.get_session_dir_path(), "logs")
            running = Running(process, f"http://127.0.0.1:{port}", logs)
            until(lambda: ready(running.url) and len(running.replicas()) == REPLICAS)
            yield running
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            process.wait(PATIENCE_S)
            cluster.shutdown()


def told(response: httpx.Response) -> tuple[object, ...]:
    """What there is to a response but times, and the id of its request."""
    content: object = response.text
    if "json" in response.headers.get("content-type", ""):
        content = untimed(response.json())
    names = sorted(name for name in response.headers if name not in BY_RAY)
    return response.status_code, names, response.headers.get("content-type"), content


def untimed(content: Any) -> Any:
    if isinstance(content, dict):
        return {name: untimed(value) for name, value in content.items() if name != "timings_ms"}
    return [untimed(one) for one in content] if isinstance(content, list) else content


def test_everything_is_answered_as_by_storyqa_serve(
    running: Running, library: IndexStore, right: list[AnswerPlace]
) -> None:
    url = running.url
    with plainly_serving(library, count=1) as (_, plain), httpx.Client(timeout=60) as client:
        for method, path, body in [("POST", "/answer", one) for one in ASKED] + GOOD + BAD:
            given, wanted = (client.request(method, f"{one}{path}", json=body) for one in (url, plain))
            assert told(given) == told(wanted), (method, path)
            assert "," not in given.headers["X-Request-ID"]
        ask_all(client, url, right)
        for method, path, body in BAD:
            refused = client.request(method, f"{url}{path}", json=body)
            if not path.startswith("/v1"):
                problem(refused, refused.status_code)
        elsewhere = client.get(f"{url}/books", headers={"Host": "books.example"})
        assert "need a key" in problem(elsewhere, 403)["detail"]


def test_a_book_stays_with_one_replica_and_each_has_some(running: Running) -> None:
    paths = {"/answer": "{}", "/search": "{},well-0", "/answers": "{}"}
    with httpx.Client(base_url=running.url, timeout=60) as client:
        for path, books in paths.items():
            for book in BOOKS:
                body = {"book_id": books.format(book), "question": f"Who is in {book}?"}
                sent = client.post(path, json=[body] if path == "/answers" else body)
                assert sent.status_code == 200, sent.text
    asked = r"\"(Who is in [\w-]+\?)\""
    until(lambda: len(running.told(asked)) >= len(paths) * len(BOOKS))
    homes = defaultdict(set)
    for pid, question in running.told(asked):
        homes[question].add(pid)
    assert {question: len(pids) for question, pids in homes.items()} == {f"Who is in {b}?": 1 for b in BOOKS}
    assert set.union(*homes.values()) == running.replicas()


def test_events_come_one_by_one_and_a_book_that_is_sent_is_answered_about(running: Running) -> None:
    with httpx.Client(base_url=running.url, timeout=60) as client:
        tale = "The smith of Orrin kept a silver bell under the anvil.\n\nNobody else knew of it. " * 20
        sent = client.post("/books", files={"file": ("tale.txt", tale.encode())})
        assert sent.status_code == 202, sent.text
        with client.stream("GET", f"{sent.headers['location']}/events") as events:
            lines = [line for line in events.iter_lines() if line.startswith("data: ")]
        assert '"done"' in lines[-1]
        question = {"book_id": "tale", "question": "What did the smith keep under the anvil?"}
        assert "bell" in client.post("/answer", json=question).json()["answer"]
        assert client.delete("/books/tale").status_code == 204


def test_a_replica_killed_under_load_costs_no_answer_and_is_replaced(
    running: Running, right: list[AnswerPlace]
) -> None:
    before = running.replicas()
    callers = Callers(ASKED, right)
    with callers.asking(running.url):
        until(lambda: len(callers.given) > 50)
        victim = min(before)
        os.kill(victim, signal.SIGKILL)
        seen = len(callers.given)
        until(lambda: len(callers.given) > seen + 100 and len(running.replicas() - {victim}) == REPLICAS)
    assert callers.wrong == []
    assert callers.cut_off == []
    assert running.replicas() & before == before - {victim}
    with httpx.Client(timeout=60) as client:
        ask_all(client, running.url, right)


def test_ctrl_c_ends_the_replicas_and_they_end_their_work(running: Running) -> None:
    processes = [psutil.Process(pid) for pid in running.replicas()]
    running.process.send_signal(signal.SIGINT)
    assert running.process.wait(PATIENCE_S) == 0
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE_S)
    assert alive == []
    ended = {pid for pid, _ in running.told("(Application shutdown complete)")}
    assert ended == {process.pid for process in processes}


class Dying:
    """In place of Ray's handle: replicas that die after so many messages each, then one that lives."""

    def __init__(self, *after: int) -> None:
        self._after = [*after, 2]
        self.asked: list[str] = []

    def options(self, stream: bool, session_id: str) -> Any:
        self.asked.append(session_id)
        return SimpleNamespace(respond=SimpleNamespace(remote=lambda *_: self._Answer(self._after.pop(0))))

    class _Answer:
        def __init__(self, after: int) -> None:
            self._after = after

        async def __aiter__(self) -> AsyncGenerator[Message, None]:
            from ray.exceptions import RayActorError

            answer: list[Message] = [
                {"type": "http.response.start", "status": 200, "headers": []},
                {"type": "http.response.body", "body": b"answered", "more_body": self._after > 2},
            ]
            for message in answer[: self._after]:
                yield message
            if self._after != 2:
                raise RayActorError

        def cancel(self) -> None: ...


@pytest.mark.parametrize(
    ("after", "method", "path", "status", "asked"),
    [
        ([], "POST", "/answer", 200, 1),
        ([0], "POST", "/answer", 200, 2),
        ([1], "POST", "/answer", 200, 2),
        ([0, 1], "POST", "/answer", 502, 2),
        ([0], "DELETE", "/books/whale", 502, 1),
        ([3], "POST", "/answer", None, 1),  # a part was sent
    ],
)
def test_what_a_replica_was_at_when_it_died_is_asked_once_more_unless_it_changes_the_store(
    after: list[int], method: str, path: str, status: int | None, asked: int
) -> None:
    pytest.importorskip("ray.serve", reason="the extra ray-serve is not installed")
    replicas = Dying(*after)
    with running_app(front(replicas, Settings())) as url:
        if status is None:
            with pytest.raises(httpx.RemoteProtocolError):
                httpx.request(method, f"{url}{path}")
        else:
            response = httpx.request(method, f"{url}{path}", json={"book_id": "whale"})
            assert response.status_code == status
            if status == 502:
                assert "ask again" in problem(response, 502)["detail"]
                assert response.headers["Retry-After"] == "2"
    assert len(replicas.asked) == asked
    assert len(set(replicas.asked)) == 1


def test_without_the_extra_the_application_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(StoryQAError, match=r"pip install 'storyqa\[ray-serve\]'"):
        app({})

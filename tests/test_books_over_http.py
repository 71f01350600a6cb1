"""Books brought and taken away over HTTP, by real servers over real sockets."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import problem, serving
from test_epub import PROSE, pack, package, page

from indexing.store import IndexStore
from service.settings import Settings

ROOT = Path(__file__).parents[1]
EPUB = pack(
    {"OPS/package.opf": package(["one"]), "OPS/text/one.xhtml": page(f"<h1>Chapter I</h1><p>{PROSE}</p>")}
)
PATIENCE_S = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("library")


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[httpx.Client]:
    with serving(Settings(store=folder, retriever="bm25", reader="overlap", largest_upload_mb=1)) as client:
        yield client


def uploads(folder: Path) -> list[str]:
    return [path.name for path in (folder / "service" / "uploads").glob("*")]


def finished(client: httpx.Client, response: httpx.Response) -> dict[str, Any]:
    """The job that the response began, once nothing about it changes any more."""
    assert response.status_code == 202, response.text
    assert set(response.json()) == {"id", "status", "progress", "book_id", "error"}
    location = response.headers["location"]
    assert location == f"/jobs/{response.json()['id']}"
    deadline = time.monotonic() + PATIENCE_S
    while (job := client.get(location).json())["status"] in ("queued", "running"):
        assert 0 <= job["progress"] <= 1
        assert time.monotonic() < deadline, job
        time.sleep(0.1)
    return dict(job)


def send(client: httpx.Client, data: bytes, name: str, **fields: str) -> httpx.Response:
    return client.post("/books", files={"file": (name, data)}, data=fields)


def ask(client: httpx.Client, book_id: str, question: str) -> dict[str, Any]:
    response = client.post("/answer", json={"book_id": book_id, "question": question})
    assert response.status_code == 200, response.text
    return dict(response.json())


@pytest.mark.processes
def test_a_file_becomes_a_book_that_answers(client: httpx.Client, folder: Path) -> None:
    html = page(f"<h1>The Clock</h1><p>{shelf.CLOCK}</p>").encode()
    begun = [
        send(client, shelf.LANTERN.encode(), "Lantern.txt", title="  The   Lamp "),
        send(client, html, "The Clock of Vell.html"),
        send(client, EPUB, "../../gull.epub", id="the-gull"),
        client.post("/books", json={"text": shelf.WELL, "title": "The Well"}),
    ]
    jobs = [finished(client, response) for response in begun]
    assert [(job["status"], job["progress"], job["error"]) for job in jobs] == [("done", 1.0, None)] * 4
    ids = ["lantern", "the-clock-of-vell", "the-gull", "the-well"]
    assert [job["book_id"] for job in jobs] == ids
    books = client.get("/books").json()
    assert [(book["id"], book["title"]) for book in books] == [
        ("lantern", "The Lamp"),
        ("the-clock-of-vell", "The Clock of Vell"),
        ("the-gull", "The Miller's Gull"),
        ("the-well", "The Well"),
    ]
    assert [book["source"] for book in books][2] == "gull.epub"
    evidence = ask(client, "lantern", "Where had Ines hidden the good oil?")["evidence"]
    assert evidence["text"] == shelf.LANTERN[evidence["start"] : evidence["end"]]
    assert uploads(folder) == []


@pytest.mark.processes
def test_the_events_of_a_job_are_what_it_is_and_end_with_it(client: httpx.Client) -> None:
    begun = client.post("/books", json={"text": shelf.WELL, "id": "events"})
    with client.stream("GET", f"{begun.headers['location']}/events", timeout=PATIENCE_S) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        events = [json.loads(line[6:]) for line in stream.iter_lines() if line.startswith("data: ")]
    assert events[-1] == client.get(begun.headers["location"]).json()
    assert events[-1]["status"] == "done"
    order = ["queued", "running", "done"]
    assert [order.index(event["status"]) for event in events] == sorted(
        order.index(event["status"]) for event in events
    )
    again = client.get(f"{begun.headers['location']}/events").text
    assert again == f"data: {json.dumps(events[-1], separators=(',', ':'))}\n\n"


@pytest.mark.processes
def test_a_book_is_replaced_in_one_step_when_asked_by_its_id_and_not_otherwise(client: httpx.Client) -> None:
    finished(client, client.post("/books", json={"text": shelf.CLOCK, "id": "swap"}))
    content = problem(send(client, shelf.WELL.encode(), "swap.txt"), 409)
    assert content["type"] == "urn:storyqa:problem:book-there"
    assert "id=swap" in content["detail"]
    begun = send(client, shelf.WELL.encode(), "swap.txt", id="swap")
    while client.get(begun.headers["location"]).json()["status"] in ("queued", "running"):
        answer = ask(client, "swap", "What was the name of the locksmith?")["evidence"]
        texts = (shelf.CLOCK.strip(), shelf.WELL.strip())
        assert answer["text"] in (text[answer["start"] : answer["end"]] for text in texts)
    answer = ask(client, "swap", "What was the name of the locksmith?")["evidence"]
    assert answer["text"] == shelf.WELL[answer["start"] : answer["end"]]


@pytest.mark.processes
def test_a_book_that_is_none_fails_with_the_reason_and_the_old_one_stays(client: httpx.Client) -> None:
    finished(client, client.post("/books", json={"text": shelf.CLOCK, "id": "stays"}))
    job = finished(client, send(client, b"%PDF-1.7", "clock.pdf", id="stays"))
    assert (job["status"], job["error"]) == (
        "failed",
        "clock.pdf cannot be read as a PDF: data format error; get it again, or convert it to text",
    )
    assert client.get("/books/stays/text").json()["text"] == shelf.CLOCK.strip()


@pytest.mark.processes
def test_a_removed_book_is_gone(client: httpx.Client) -> None:
    finished(client, client.post("/books", json={"text": shelf.CLOCK, "id": "goes"}))
    ask(client, "goes", "Who?")
    removed = client.delete("/books/goes")
    assert (removed.status_code, removed.content) == (204, b"")
    problem(client.get("/books/goes"), 404)
    problem(client.post("/answer", json={"book_id": "goes", "question": "Who?"}), 404)
    for id in ("goes", "%2e%2e%2fservice", "NO", "%00", "service"):
        problem(client.delete(f"/books/{id}"), 404)


@pytest.mark.processes
def test_a_book_that_another_process_is_at_is_not_removed(client: httpx.Client, folder: Path) -> None:
    finished(client, client.post("/books", json={"text": shelf.CLOCK, "id": "busy"}))
    with IndexStore(folder).claim("busy"):
        refused = client.delete("/books/busy")
        content = problem(refused, 409)
        assert content["type"] == "urn:storyqa:problem:book-busy"
        assert "being indexed" in content["detail"]
        assert refused.headers["retry-after"] == "10"
    assert client.delete("/books/busy").status_code == 204


FORM = {"content-type": "multipart/form-data; boundary=cut"}


def part(name: str, value: bytes = b"x", more: str = "") -> bytes:
    return f'--cut\r\nContent-Disposition: form-data; name="{name}"{more}\r\n\r\n'.encode() + value + b"\r\n"


FILE = part("file", b"Once there was a bell.", '; filename="bell.txt"')


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (part("title") + b"--cut--\r\n", 422, "/file"),
        (FILE + FILE + b"--cut--\r\n", 422, "/file"),
        (FILE + part("id", b"No Slug") + b"--cut--\r\n", 422, "/id"),
        (FILE + part("id", b"../up") + b"--cut--\r\n", 422, "/id"),
        (FILE + part("id", b"\xff") + b"--cut--\r\n", 422, "/id"),
        (FILE + part("title", b"x" * 301) + b"--cut--\r\n", 422, "/title"),
        (FILE + part("title", b"x" * 10_000) + b"--cut--\r\n", 422, "/title"),
        (FILE + part("path", b"/etc") + b"--cut--\r\n", 422, "/path"),
        (part("") + b"--cut--\r\n", 422, ""),
        (FILE, 400, None),
        (b"", 400, None),
        (b"no form at all", 400, None),
        (b"--cut\r\n" + b"X: y\r\n" * 10_000, 400, None),
        (b"--cut\r\nX: " + b"y" * 100_000, 400, None),
    ],
)
def test_a_form_that_is_wrong_is_a_problem_and_leaves_nothing(
    body: bytes, status: int, pointer: str | None, client: httpx.Client, folder: Path
) -> None:
    content = problem(client.post("/books", content=body, headers=FORM), status)
    assert [error["pointer"] for error in content.get("errors", [])] == [pointer] * (pointer is not None)
    assert uploads(folder) == []


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (b"", 400, None),
        (b"{", 400, None),
        (b"[1]", 422, ""),
        (b"{}", 422, "/text"),
        (b'{"text": ""}', 422, "/text"),
        (b'{"text": 7}', 422, "/text"),
        (b'{"text": "x", "id": "No Slug"}', 422, "/id"),
        (b'{"text": "x", "path": "/etc"}', 422, "/path"),
        (b'{"text": "x", "title": ""}', 422, "/title"),
        (b'{"text": "\xff"}', 400, None),
        (b"[" * 10_000, 400, None),
    ],
)
def test_a_text_that_is_wrong_is_a_problem_and_leaves_nothing(
    body: bytes, status: int, pointer: str | None, client: httpx.Client, folder: Path
) -> None:
    response = client.post("/books", content=body, headers={"content-type": "application/json"})
    content = problem(response, status)
    assert [error["pointer"] for error in content.get("errors", [])] == [pointer] * (pointer is not None)
    assert uploads(folder) == []


def test_other_kinds_of_body_are_refused_with_those_that_are_taken(client: httpx.Client) -> None:
    for kind in ("text/plain", "multipart/form-data", "application/x-www-form-urlencoded", ""):
        response = client.post("/books", content=b"x", headers={"content-type": kind})
        assert "multipart/form-data" in problem(response, 415)["detail"]


def test_a_file_beyond_the_limit_is_refused_while_it_comes(client: httpx.Client, folder: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield FILE.removesuffix(b"\r\n")
        for _ in range(40):
            yield b"x" * 2**15

    problem(client.post("/books", content=pieces(), headers=FORM), 413)
    refused = problem(send(client, b"x" * 2**20, "large.txt"), 413)
    assert refused["most_bytes"] == 2**20
    assert "larger than 1 MB" in refused["detail"]
    assert uploads(folder) == []
    assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("claims", [True, False], ids=["claimed", "counted"])
def test_who_sends_all_of_a_large_file_before_reading_is_told_why_it_is_refused(
    claims: bool, client: httpx.Client, folder: Path
) -> None:
    size, piece = 2**23, b"x" * 2**16
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as sender:
        sender.settimeout(PATIENCE_S)
        length = f"Content-Length: {size + len(FILE)}" if claims else "Transfer-Encoding: chunked"
        head = f"POST /books HTTP/1.1\r\nHost: localhost\r\n{length}\r\n"
        sender.sendall(f"{head}Content-Type: {FORM['content-type']}\r\n\r\n".encode())
        for part in (FILE, *[piece] * (size // len(piece))):
            sender.sendall(part if claims else b"%x\r\n%b\r\n" % (len(part), part))
            # Long before the last piece the refusal is there; a closed connection would fail the next one.
            select.select([sender], [], [], 0.05)
        answer = sender.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"too-large" in answer
    assert uploads(folder) == []


def test_an_upload_whose_sender_goes_away_leaves_nothing(client: httpx.Client, folder: Path) -> None:
    with socket.create_connection((client.base_url.host, client.base_url.port or 0)) as sender:
        head = "POST /books HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n"
        sender.sendall(f"{head}Content-Type: {FORM['content-type']}\r\n\r\n".encode() + FILE)
        until(lambda: len(uploads(folder)) == 1)
    until(lambda: uploads(folder) == [])
    assert client.get("/healthz").status_code == 200


def test_jobs_that_never_were_are_unknown(client: httpx.Client) -> None:
    for id in ("0" * 32, "x", "%00", "%ff", "..%2Fjobs.sqlite"):
        for path in (f"/jobs/{id}", f"/jobs/{id}/events"):
            problem(client.get(path), 404)


def test_more_uploads_than_may_wait_are_told_when_to_come_again(tmp_path: Path) -> None:
    settings = Settings(store=tmp_path, retriever="bm25", reader="overlap", most_jobs=1)
    with serving(settings) as client:
        assert client.post("/books", json={"text": shelf.CLOCK, "id": "one"}).status_code == 202
        refused = client.post("/books", json={"text": shelf.WELL, "id": "two"})
        assert problem(refused, 503)["type"] == "urn:storyqa:problem:too-many-jobs"
        assert refused.headers["retry-after"] == "30"
        assert client.delete("/books/one").status_code in (204, 404)


def test_a_folder_that_cannot_be_written_hinders_uploads_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    settings = Settings(
        store=tmp_path / "store", retriever="bm25", reader="overlap", state=tmp_path / "file" / "state"
    )
    with serving(settings) as client:
        content = problem(client.post("/books", json={"text": shelf.CLOCK}), 503)
        assert "STORYQA_STATE" in content["detail"]
        problem(client.get(f"/jobs/{'0' * 32}"), 404)
        assert client.get("/books").json() == []


SERVE = (
    "import resource, sys\n"
    "limit = int(sys.argv.pop(1))\n"
    "if limit: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))\n"
    "from service.cli import main; main()"
)


@contextmanager
def process(
    store: Path, largest_file: int = 0, workers: int = 1
) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """A server in a process of its own, whose files may not grow beyond ``largest_file`` bytes."""
    command = [sys.executable, "-c", SERVE, str(largest_file), "serve", "--port", "0", "--json"]
    command += ["--workers", str(workers)]
    environment = os.environ | {"STORYQA_RETRIEVER": "bm25", "STORYQA_READER": "overlap"}
    store.mkdir(exist_ok=True)
    with (store / "said").open("w") as said:  # not a pipe: nobody would read on in it, and it would fill up
        server = subprocess.Popen(
            [*command, "--store", str(store)], cwd=ROOT, env=environment, stdout=said, text=True
        )
    try:
        until(lambda: "}\n" in (store / "said").read_text() or server.poll() is not None)
        url = json.loads((store / "said").read_text().partition("}\n")[0] + "}")["url"]
        with httpx.Client(base_url=url, timeout=PATIENCE_S) as client:
            yield server, client
    finally:
        server.kill()
        server.wait()


@pytest.mark.processes
def test_after_a_kill_the_next_server_goes_on_with_the_jobs_and_loses_no_book(tmp_path: Path) -> None:
    texts = {f"tale-{number}": f"Tale {number}.\n\n{shelf.CLOCK}" for number in range(3)}
    with process(tmp_path) as (server, client):
        begun = [client.post("/books", json={"text": text, "id": id}) for id, text in texts.items()]
        assert [response.status_code for response in begun] == [202] * 3
        server.send_signal(signal.SIGKILL)
        server.wait()
    (tmp_path / "service" / "uploads" / ("0" * 32)).write_text("half of an upload")
    with process(tmp_path) as (_, client):
        jobs = [finished(client, response) for response in begun]
        assert [job["status"] for job in jobs] == ["done"] * 3
        for id, text in texts.items():
            assert client.get(f"/books/{id}/text").json()["text"] == text.strip()
    assert uploads(tmp_path) == []


@pytest.mark.processes
@pytest.mark.parametrize("workers", [1, 2])
def test_a_server_that_is_told_to_stop_ends_the_streams_of_events(tmp_path: Path, workers: int) -> None:
    with process(tmp_path, workers=workers) as (server, client):
        begun = client.post("/books", json={"text": shelf.CLOCK * 50, "id": "long"})
        with client.stream("GET", f"{begun.headers['location']}/events") as stream:
            server.send_signal(signal.SIGTERM)
            assert next(lines := stream.iter_lines()).startswith("data: ")
            assert len(list(lines)) < 1000  # they end
        assert server.wait(timeout=20) in (0, -signal.SIGTERM)  # less than requests in hand are waited for


@pytest.mark.processes
def test_a_full_disk_is_a_problem_that_says_so_and_nothing_is_lost(tmp_path: Path) -> None:
    with process(tmp_path, largest_file=2**20) as (_, client):
        job = finished(client, client.post("/books", json={"text": shelf.CLOCK, "id": "clock"}))
        assert job["status"] == "done"
        content = problem(send(client, b"x" * 2**21, "large.txt"), 507)
        assert content["type"] == "urn:storyqa:problem:no-room"
        assert "make room" in content["detail"]
        assert uploads(tmp_path) == []
        # An upload that fits, of a book whose index does not:
        job = finished(client, client.post("/books", json={"text": shelf.LANTERN * 400, "id": "clock"}))
        assert job["status"] == "failed"
        assert "make room" in job["error"]
        assert client.get("/books/clock/text").json()["text"] == shelf.CLOCK.strip()
        job = finished(client, client.post("/books", json={"text": shelf.WELL, "id": "well"}))
        assert job["status"] == "done"


def until(reached: object) -> None:
    """Return once ``reached()`` is true; fail after a while."""
    assert callable(reached)
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.02)

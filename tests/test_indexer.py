"""The process that indexes uploads, and what watches it: neither can be stopped for good by an upload."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil  # type: ignore[import-untyped]
import pytest
import shelf
from server import problem, serving
from test_jobs import queue, until

from service.ingestion.indexer import Indexer
from service.ingestion.jobs import JobQueue
from service.settings import Settings

ROOT = Path(__file__).parents[1]
LONG = f"{shelf.LANTERN}\n\n{shelf.CLOCK}\n\n{shelf.WELL}\n\n" * 1000  # 3 MB, a minute and more to index


@pytest.fixture
def jobs(tmp_path: Path) -> JobQueue:
    return JobQueue(tmp_path / "service")


@pytest.fixture
def client(tmp_path: Path) -> Iterator[httpx.Client]:
    with serving(Settings(store=tmp_path, retriever="bm25", reader="overlap")) as client:
        until(lambda: client.get("/readyz").status_code == 200)
        yield client


def status(client: httpx.Client, begun: httpx.Response) -> str:
    return str(client.get(begun.headers["location"]).json()["status"])


@pytest.mark.processes
def test_a_job_that_stands_still_for_too_long_fails_and_the_next_one_is_begun(
    jobs: JobQueue, tmp_path: Path
) -> None:
    stuck = queue(jobs, LONG.encode(), book_id="stuck")  # to read it takes longer than it may
    following = queue(jobs, shelf.CLOCK.encode(), book_id="following")
    indexer = Indexer(tmp_path / "service", tmp_path, jobs, stall_s=0.02)
    indexer.start()
    try:
        until(lambda: jobs.get(stuck).finished)
        assert jobs.get(stuck).status == "failed"
        assert "made no progress" in (jobs.get(stuck).error or "")
        until(lambda: not jobs.upload(stuck).exists())  # deleted right after it is told
        until(lambda: jobs.get(following).status != "queued")
    finally:
        indexer.close()


@pytest.mark.processes
def test_a_book_that_is_being_indexed_can_be_removed_and_the_next_one_is_indexed(
    client: httpx.Client, tmp_path: Path
) -> None:
    begun = client.post("/books", json={"text": LONG, "id": "long"})
    following = client.post("/books", json={"text": shelf.CLOCK, "id": "clock"})
    until(lambda: client.get(begun.headers["location"]).json()["progress"] > 0)  # its process has the claim
    assert client.delete("/books/long").status_code == 204
    job = client.get(begun.headers["location"]).json()
    assert (job["status"], job["error"]) == ("failed", "the book was removed before it was indexed")
    until(lambda: status(client, following) == "done")
    problem(client.get("/books/long"), 404)
    assert [book["id"] for book in client.get("/books").json()] == ["clock"]
    assert not any((tmp_path / "service" / "uploads").iterdir())
    again = client.post("/books", json={"text": shelf.WELL, "id": "long"})
    until(lambda: status(client, again) == "done")
    assert client.get("/books/long/text").json()["text"] == shelf.WELL.strip()


@pytest.mark.processes
def test_a_job_can_be_cancelled_while_it_runs_and_the_book_that_it_was_to_replace_stays(
    client: httpx.Client,
) -> None:
    first = client.post("/books", json={"text": shelf.CLOCK, "id": "tale"})
    until(lambda: status(client, first) == "done")
    begun = client.post("/books", json={"text": LONG, "id": "tale"})
    waiting = client.post("/books", json={"text": shelf.WELL, "id": "tale"})
    until(lambda: status(client, begun) == "running")
    for response in (waiting, begun, begun, first):
        assert client.delete(response.headers["location"]).status_code == 204
    assert [status(client, one) for one in (first, begun, waiting)] == ["done", "failed", "failed"]
    assert client.get(begun.headers["location"]).json()["error"] == "the job was cancelled"
    following = client.post("/books", json={"text": shelf.WELL, "id": "well"})
    until(lambda: status(client, following) == "done")
    assert client.get("/books/tale/text").json()["text"] == shelf.CLOCK.strip()
    problem(client.delete(f"/jobs/{'0' * 32}"), 404)


@pytest.mark.processes
def test_an_error_in_what_watches_is_shown_by_readyz_and_uploads_go_on_after_it(
    client: httpx.Client, tmp_path: Path
) -> None:
    lock = tmp_path / "service" / "indexer.lock"
    lock.mkdir(parents=True)  # opening it is an OSError
    begun = client.post("/books", json={"text": shelf.CLOCK, "id": "clock"})
    until(lambda: "indexing" in client.get("/readyz").json())
    assert client.get("/readyz").json()["status"] == "ready"
    assert "uploads are not indexed" in client.get("/readyz").json()["indexing"]
    assert status(client, begun) == "queued"
    lock.rmdir()
    until(lambda: status(client, begun) == "done")
    assert client.get("/readyz").json() == {"status": "ready"}


def test_a_process_that_leaves_by_itself_leaves_well() -> None:
    code = "import os\nfrom service.ingestion import index_worker\nindex_worker.end_with_parent(os.getppid())"
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE)
    assert process.wait(timeout=120) == 0
    process.communicate()


def test_a_process_whose_parent_is_another_by_now_does_not_begin() -> None:
    code = "from service.ingestion import index_worker\nindex_worker.end_with_parent(1)\nraise SystemExit(7)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.DEVNULL).returncode == 0


@pytest.mark.processes
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a loop in C hears of it when it ends")
def test_a_process_in_an_endless_loop_of_c_ends_with_its_parent() -> None:
    # Matching takes 2**60 steps, with Python's lock held all the while.
    stuck = "import os, re\nfrom service.ingestion.index_worker import end_with_parent\n"
    stuck += "end_with_parent(os.getppid())\nprint('stuck', flush=True)\nre.match('(a+)+$', 'a' * 60 + 'b')"
    code = (
        "import subprocess, sys\n"
        f"child = subprocess.Popen([sys.executable, '-c', {stuck!r}], stdin=subprocess.PIPE)\n"
        "print(child.pid, flush=True)\nchild.wait()"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    said = {parent.stdout.readline().strip(), parent.stdout.readline().strip()}
    [pid] = map(int, said - {"stuck"})
    child = psutil.Process(pid)
    time.sleep(0.2)  # into the loop
    os.kill(parent.pid, signal.SIGKILL)
    parent.communicate()
    assert psutil.wait_procs([child], timeout=30)[1] == []

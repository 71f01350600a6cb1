"""SIGKILL at several moments of everything that can be killed: no book is lost, and all goes on.

The moments of indexing are those at which the first of a build's eight files is there, the last before the
vectors, these, and the last of all.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import pytest
import shelf
from callers import ASKING, Callers, answered_offline
from novels import novel
from test_book_lists import STORYQA
from test_books_over_http import process as service_process
from test_jobs import queue
from test_workers import ASKED, WORKERS, serving, workers

from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from service.ingestion.indexer import Indexer
from service.ingestion.jobs import JobQueue

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[1]
MOMENTS = ("text.npy", "postings.npy", "vectors.faiss", "manifest.json")
KILLS = 5  # of workers that answer
PATIENCE_S = 300
# Kills itself as soon as the file is there of a build in that folder: the last ones are so for a moment only.
KILLED_AT = """
import os, signal, sys
from pathlib import Path
from service.cli import main

file, books = sys.argv.pop(1), Path(sys.argv.pop(1))

def look(event, arguments):
    if event in ("open", "os.rename") and any((new / file).exists() for new in books.glob(".new-*")):
        os.kill(os.getpid(), signal.SIGKILL)

sys.addaudithook(look)
main()
"""


def until(reached: object) -> None:
    assert callable(reached)
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def is_written(store: IndexStore, book_id: str, file: str) -> bool:
    """Whether the file is there of the build that is being made of the book."""
    return any((store.root / "books" / book_id).glob(f".new-*/{file}"))


def assert_only_builds_that_serve(store: IndexStore) -> None:
    store.sweep()
    for book_id in store.ids():
        folder = store.root / "books" / book_id
        assert {path.name for path in folder.iterdir()} == {"current", store.current(book_id)}


def text_of(moment: int) -> str:
    return f"Tale {moment}.\n\n{shelf.CLOCK}\n\n{shelf.WELL}".strip()


def test_indexing_by_the_command_line(tmp_path: Path) -> None:
    store = IndexStore(tmp_path / "store")
    old, new = novel("tale", words=300), novel("tale", words=1_000, seed=2).text.strip()
    other = build_book(shelf.story("well"), BuildSettings(), store)
    build_book(old, BuildSettings(), store)
    source = tmp_path / "tale.txt"
    source.write_text(new)
    command = ["index", str(source), "--id", "tale", "--force", "--store", str(store.root)]
    before = store.current("tale")
    for moment in MOMENTS:
        books = str(store.root / "books" / "tale")
        killed = subprocess.run([sys.executable, "-c", KILLED_AT, moment, books, *command], cwd=ROOT)
        assert killed.returncode == -signal.SIGKILL
        assert is_written(store, "tale", moment)
        assert store.current("tale") == before
        assert store.verify("tale") == []
        assert store.open("tale").book.text == old.text
        assert store.manifest("well") == other.manifest
        store.sweep()  # or what this one leaves would be taken for the next one's files
    assert subprocess.run([*STORYQA, *command], cwd=ROOT, capture_output=True).returncode == 0
    assert store.open("tale").book.text == new
    assert_only_builds_that_serve(store)


def test_the_process_that_indexes_uploads(tmp_path: Path) -> None:
    store, jobs = IndexStore(tmp_path), JobQueue(tmp_path / "service")
    indexer = Indexer(tmp_path / "service", tmp_path, jobs, stall_s=PATIENCE_S)
    indexer.start()
    try:
        for number, moment in enumerate(MOMENTS):
            id = queue(jobs, text_of(number).encode())
            until(lambda: is_written(store, "tale", moment) or jobs.get(id).finished)  # noqa: B023
            [child] = indexers(os.getpid())
            child.kill()
            until(lambda: jobs.get(id).finished)  # noqa: B023
            assert (jobs.get(id).status, jobs.get(id).error) == ("done", None)
            assert store.open("tale").book.text == text_of(number)
    finally:
        indexer.close()
    assert_only_builds_that_serve(store)


def indexers(parent: int) -> list[psutil.Process]:
    """The processes that index, of the process ``parent`` and those below it."""
    found = []
    for child in psutil.Process(parent).children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if "service.ingestion.index_worker" in child.cmdline():
                found.append(child)
    return found


def test_workers_that_answer(shelf_store: IndexStore) -> None:
    callers = Callers(ASKED, answered_offline(shelf_store, ASKED))
    with serving(shelf_store) as (process, url):
        with callers.asking(url, keep_alive=False):
            for moment in range(KILLS):
                seen = len(callers.given)
                # Each at another step of a batch.
                until(lambda: len(callers.given) > seen + 5 + 3 * moment)  # noqa: B023
                victim = min(workers(process))
                os.kill(victim, signal.SIGKILL)
                until(lambda: len(workers(process) - {victim}) == WORKERS)  # noqa: B023
        assert callers.wrong == []
        assert len(callers.cut_off) <= KILLS * ASKING


def test_the_whole_service(tmp_path: Path) -> None:
    store = IndexStore(tmp_path)
    jobs = JobQueue(tmp_path / "service")
    ids: list[str] = []
    for number, moment in enumerate(MOMENTS):
        with service_process(tmp_path) as (server, client):
            until(lambda: all(jobs.get(id).finished for id in ids))
            assert [jobs.get(id).status for id in ids] == ["done"] * len(ids)
            if ids:
                assert client.get("/books/tale/text").json()["text"] == text_of(number - 1)
            begun = client.post("/books", json={"text": text_of(number), "id": "tale"})
            assert begun.status_code == 202
            ids.append(begun.json()["id"])
            until(lambda: is_written(store, "tale", moment) or jobs.get(ids[-1]).finished)  # noqa: B023
            children = psutil.Process(server.pid).children(recursive=True)
            server.kill()
            server.wait()
            assert psutil.wait_procs(children, timeout=PATIENCE_S)[1] == []  # none is left over
        if store.ids():
            assert store.verify("tale") == []
            assert store.open("tale").book.text in (text_of(number - 1), text_of(number))
    with service_process(tmp_path) as (_, client):
        until(lambda: all(jobs.get(id).finished for id in ids))
        assert [jobs.get(id).status for id in ids] == ["done"] * len(MOMENTS)
        assert client.get("/books/tale/text").json()["text"] == text_of(len(MOMENTS) - 1)
        answer = client.post("/answer", json={"book_id": "tale", "question": "Why had the pendulum stopped?"})
        evidence = answer.json()["evidence"]
        assert evidence["text"] == text_of(len(MOMENTS) - 1)[evidence["start"] : evidence["end"]]
    assert_only_builds_that_serve(store)
    assert not any((tmp_path / "service" / "uploads").iterdir())

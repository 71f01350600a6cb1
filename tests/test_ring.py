"""Replicas behind a proxy: a book stays with its replica, and a replica that dies costs no answer."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from callers import ASKING, AnswerPlace, Callers, answered_offline, place
from ring import hits_and_misses, proxy
from test_workers import serving

from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore

pytestmark = pytest.mark.processes

COPIES = 5  # of each book, under ids of their own
BOOKS = [f"{book}-{number}" for book in shelf.STORIES for number in range(COPIES)]
ASKED: list[dict[str, Any]] = [
    {"book_id": f"{book}-{number}", "question": question}
    for book, question in shelf.QUESTIONS
    for number in range(COPIES)
]
MANY = [f"made-up-{number}" for number in range(100)]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> IndexStore:
    store = IndexStore(tmp_path_factory.mktemp("library"))
    for book in BOOKS:
        story = replace(shelf.story(book.rpartition("-")[0]), id=book)
        build_book(story, BuildSettings(encoder=str(tiny_bert), words=30), store)
    return store


@pytest.fixture(scope="module")
def right(library: IndexStore) -> list[AnswerPlace]:
    """What is answered without a proxy, and without a service."""
    return answered_offline(library, ASKED)


def ask_all(client: httpx.Client, url: str, right: list[AnswerPlace]) -> None:
    for number, one in enumerate(ASKED):
        assert place(client.post(f"{url}/answer", json=one).json()) == right[number]


def kill_between_answers(process: subprocess.Popen[str], callers: Callers) -> None:
    """Kill a server that has begun to send no answer: that would break off, and cannot be asked for again."""
    while True:
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.05)  # what it has sent arrives
        if not callers.are_reading:
            break
        os.kill(process.pid, signal.SIGCONT)
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)


def test_a_replica_killed_and_one_added_under_load_cost_no_answer_and_move_few_books(
    library: IndexStore, right: list[AnswerPlace], tmp_path: Path
) -> None:
    with ExitStack() as stack:
        processes: dict[int, subprocess.Popen[str]] = {}
        urls: dict[int, str] = {}

        def start(id: int) -> None:
            processes[id], urls[id] = stack.enter_context(serving(library, count=1))

        def addresses() -> dict[int, str]:
            return {id: url.removeprefix("http://") for id, url in urls.items()}

        for id in (1, 2, 3):
            start(id)
        ring = stack.enter_context(proxy(tmp_path, addresses()))
        client = stack.enter_context(httpx.Client(timeout=60))

        # Every book has a replica, and each replica has books.
        homes = ring.homes(client, BOOKS + MANY)
        assert ring.homes(client, BOOKS + MANY) == homes
        assert set(homes.values()) == {"reader-1", "reader-2", "reader-3"}
        assert max(Counter(homes.values()).values()) < len(homes) / 2
        ask_all(client, ring.url, right)
        assert hits_and_misses([*urls.values()]) == (0, len(ASKED))
        ask_all(client, ring.url, right)
        assert hits_and_misses([*urls.values()]) == (len(ASKED), len(ASKED))

        # A book that many ask about at once is not left to its replica alone.
        before = len(ring.passed())
        with ThreadPoolExecutor(2 * ASKING) as pool:
            list(pool.map(lambda _: client.post(f"{ring.url}/answer", json=ASKED[0]), range(100)))
        ring.until(lambda: len(ring.passed()) >= before + 100)
        assert len({one.replica for one in ring.passed()[before:]}) > 1

        # One is killed: its books move to the others, and theirs stay.
        victim = int(homes[BOOKS[0]].removeprefix("reader-"))
        killed = Callers(ASKED, right)
        with killed.asking(ring.url):
            ring.until(lambda: len(killed.given) > 100)
            kill_between_answers(processes[victim], killed)
            ring.until(lambda: f"readers/reader-{victim} is DOWN" in ring.log)
            seen, before = len(killed.given), len(ring.passed())
            ring.until(lambda: len(killed.given) > seen + 100)
        assert killed.wrong == []
        assert killed.cut_off == []
        assert any(one.retries for one in ring.passed()[:before])
        # What was sent to the dead one, and nothing after it was known to be dead.
        assert sum(one.retries for one in ring.passed()[before:]) <= ASKING
        assert all(one.status == 200 for one in ring.passed() if one.path == "/answer")
        del urls[victim]
        _, misses = hits_and_misses([*urls.values()])
        left = ring.homes(client, BOOKS + MANY)
        assert {book for book in homes if left[book] != homes[book]} == {
            book for book in homes if homes[book] == f"reader-{victim}"
        }
        ask_all(client, ring.url, right)
        orphans = sum(homes[one["book_id"]] == f"reader-{victim}" for one in ASKED)
        assert hits_and_misses([*urls.values()])[1] - misses <= orphans

        # One is added: it takes books from the others, and none moves between them.
        start(4)
        added = Callers(ASKED, right)
        with added.asking(ring.url):
            ring.change(addresses())
            ring.until(lambda: any(one.replica == "reader-4" for one in ring.passed()))
            seen = len(added.given)
            ring.until(lambda: len(added.given) > seen + 100)
        assert added.wrong == []
        assert added.cut_off == []
        now = ring.homes(client, BOOKS + MANY)
        moved = {book for book in left if now[book] != left[book]}
        assert {now[book] for book in moved} == {"reader-4"}
        assert len(moved) < len(left) / 2
        _, misses = hits_and_misses([*urls.values()])
        ask_all(client, ring.url, right)
        assert hits_and_misses([*urls.values()])[1] - misses <= sum(one["book_id"] in moved for one in ASKED)

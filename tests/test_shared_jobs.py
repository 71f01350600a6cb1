"""Jobs in Postgres, which several machines do: none is lost, and none is done twice, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
import shelf
from novels import novel
from postgres_server import PostgresServer, postgres_server
from test_jobs import (  # what is so of jobs in SQLite is so of these
    queue,
    states,
    test_jobs_are_begun_in_their_order_and_known_until_the_end,  # noqa: F401
    test_jobs_of_a_removed_book_are_cancelled_and_its_process_is_to_be_ended,  # noqa: F401
    test_no_more_wait_than_may,  # noqa: F401
    test_old_jobs_are_forgotten_and_unfinished_ones_never,  # noqa: F401
    test_setting_the_clock_changes_no_order,  # noqa: F401
    test_what_came_in_half_is_swept_away_and_nothing_else_is,  # noqa: F401
)
from test_kills import indexers, until

from indexing.store import IndexStore
from service.ingestion.incoming import NoState
from service.ingestion.indexer import Indexer
from service.ingestion.job_database import BadJobsAddress
from service.ingestion.jobs import JobQueue

pytestmark = pytest.mark.processes

ROOT = Path(__file__).parents[1]
MACHINE = """
import sys, time
from pathlib import Path
from service.ingestion.indexer import Indexer
from service.ingestion.jobs import JobQueue

folder, store, url, machine = sys.argv[1:]
Indexer(Path(folder), Path(store), JobQueue(Path(folder), url), 300, machine).start()
time.sleep(600)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with postgres_server() as server:
        yield server


def asked(server: PostgresServer, query: str) -> list[tuple[Any, ...]]:
    """What the database answers without the code that is tested."""
    import psycopg

    with psycopg.connect(server.url, autocommit=True) as connection:
        cursor = connection.execute(query)
        return cursor.fetchall() if cursor.description else []


@pytest.fixture
def jobs(server: PostgresServer, tmp_path: Path) -> JobQueue:
    asked(server, "drop table if exists jobs")
    return JobQueue(tmp_path / "service", server.url)


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(tmp_path / "store")


def machine(jobs: JobQueue, store: IndexStore, name: str) -> subprocess.Popen[bytes]:
    """A machine that does jobs, and nothing else; its log is the file ``name`` beside the store."""
    folder = jobs.upload("x").parent.parent
    command = [sys.executable, "-c", MACHINE, str(folder), str(store.root), str(jobs.database.url), name]
    with (store.root.parent / name).open("wb") as log:
        return subprocess.Popen(command, cwd=ROOT, stderr=log)


def test_a_job_is_one_machines_until_its_lease_is_over(jobs: JobQueue, server: PostgresServer) -> None:
    first, second, other = (queue(jobs, b"text", book_id=book) for book in ("tale", "tale", "other"))
    begun = [jobs.start_next("a"), jobs.start_next("b"), jobs.start_next("c")]
    assert [None if job is None else job.id for job in begun] == [first, other, None]  # a book, one at a time
    assert jobs.pending()
    assert states(jobs, [second]) == ["queued"]
    jobs.recover()
    assert jobs.has("a", first)
    asked(server, "update jobs set lease = 0")
    jobs.renew("b")
    jobs.recover()
    assert states(jobs, [first, second, other]) == ["queued", "queued", "running"]
    again = jobs.start_next("c")
    assert again is not None
    assert again.id == first
    # What the one says that was taken for dead counts no more, and the upload is there for the other.
    assert not jobs.has("a", first)
    jobs.progress(first, 0.5, "a")
    jobs.fail(first, "no book", "a")
    jobs.finish(first, "a")
    assert (jobs.get(first).status, jobs.get(first).progress) == ("running", 0.0)
    assert jobs.upload(first).exists()
    jobs.finish(first, "c")
    assert jobs.get(first).status == "done"
    assert not jobs.upload(first).exists()


def test_a_job_that_ends_every_process_is_given_up(jobs: JobQueue) -> None:
    id = queue(jobs, b"text")
    for owner in "abc":
        begun = jobs.start_next(owner)
        assert begun is not None
        jobs.release("nobody")
        assert jobs.has(owner, id)
        jobs.release(owner)
    assert jobs.get(id).status == "failed"
    assert "ended the process 3 times" in (jobs.get(id).error or "")


def test_jobs_are_done_once_by_machines_whose_processes_are_killed(
    jobs: JobQueue, store: IndexStore, server: PostgresServer
) -> None:
    tales = {
        f"tale-{number}": novel(f"tale-{number}", 2_000, seed=number).text.strip() for number in range(6)
    }
    kills = 0
    with ExitStack() as stack:
        for name in ("one", "two"):
            folder = jobs.upload("x").parent.parent
            indexer = Indexer(folder, store.root, JobQueue(folder, server.url), 300, name)
            indexer.start()
            stack.callback(indexer.close)
        ids = [queue(jobs, text.encode(), book_id=book) for book, text in tales.items()]
        until(lambda: len(asked(server, "select id from jobs where status = 'running'")) == 2)
        for _ in range(3):
            known = {owner for (owner,) in asked(server, "select owner from jobs where owner != ''")}
            until(lambda: indexers(os.getpid()))
            victim = indexers(os.getpid())[0]
            at_one = asked(
                server, f"select id from jobs where owner = '{victim.cmdline()[-1]}' and status = 'running'"
            )
            victim.kill()
            kills += bool(at_one)
            until(
                lambda: (
                    {owner for (owner,) in asked(server, "select owner from jobs where owner != ''")} - known  # noqa: B023
                    or all(jobs.get(id).finished for id in ids)
                )
            )
        until(lambda: all(jobs.get(id).finished for id in ids))
        assert states(jobs, ids) == ["done"] * len(ids)
    assert {id: store.open(id).book.text for id in store.ids()} == tales
    [(attempts,)] = asked(server, "select sum(attempts) from jobs")
    assert attempts <= len(ids) + 3
    assert len({owner for (owner,) in asked(server, "select owner from jobs")}) >= 2
    assert not any(jobs.upload("x").parent.iterdir())


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGSTOP])
def test_a_machine_that_is_gone_loses_its_job_and_one_that_comes_back_does_no_harm(
    sign: signal.Signals, jobs: JobQueue, store: IndexStore, server: PostgresServer
) -> None:
    first = queue(jobs, novel("tale", 5_000).text.encode())
    gone = machine(jobs, store, "gone")
    processes = []
    try:
        until(lambda: jobs.get(first).progress > 0)
        processes = [psutil.Process(gone.pid), *indexers(gone.pid)]
        [(owner,)] = asked(server, "select owner from jobs")
        for process in reversed(processes):
            process.send_signal(sign)
        second = queue(jobs, shelf.WELL.encode())
        other = machine(jobs, store, "other")
        try:
            until(lambda: asked(server, f"select id from jobs where owner not in ('', '{owner}')"))
            if sign == signal.SIGSTOP:
                for process in processes:
                    process.send_signal(signal.SIGCONT)
            # It has the first before the second, for they are of one book.
            until(lambda: jobs.get(second).finished)
        finally:
            other.kill()
            other.wait()
        assert states(jobs, [first, second]) == ["done", "done"]
        assert asked(server, f"select id from jobs where owner = '{owner}' and id = '{first}'") == []
        assert "indexed tale: " not in (store.root.parent / "gone").read_text()  # as the other's log has it
        assert store.open("tale").book.text == shelf.WELL.strip()
        assert store.verify("tale") == []
        assert not any(jobs.upload("x").parent.iterdir())
    finally:
        gone.kill()
        gone.wait()
    assert psutil.wait_procs(processes, timeout=60)[1] == []


def test_a_database_that_is_gone_for_a_while_costs_no_job(
    jobs: JobQueue, store: IndexStore, server: PostgresServer
) -> None:
    ids = [queue(jobs, novel("tale", 5_000).text.encode()), queue(jobs, shelf.WELL.encode(), book_id="well")]
    folder = jobs.upload("x").parent.parent
    indexer = Indexer(folder, store.root, jobs, 300)
    indexer.start()
    try:
        until(lambda: jobs.get(ids[0]).progress > 0)
        server.stop()
        try:
            with pytest.raises(NoState, match="STORYQA_JOBS cannot be used"):
                jobs.get(ids[0])
            until(lambda: indexer.trouble is not None)
        finally:
            server.start()
        until(lambda: all(jobs.get(id).finished for id in ids))
        assert states(jobs, ids) == ["done", "done"]
        until(lambda: indexer.trouble is None)
    finally:
        indexer.close()
    assert store.ids() == ["tale", "well"]


def test_another_database_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadJobsAddress, match=r"'mysql' is no database for jobs; wanted postgresql://"):
        JobQueue(tmp_path, "mysql://HOST/NAME")

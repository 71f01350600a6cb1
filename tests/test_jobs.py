"""Jobs that index uploads: none is lost, none is done twice at once, and a hostile book harms only itself."""

from __future__ import annotations

import io
import logging
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
import shelf
from test_epub import PROSE, pack, package, page

from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.errors import UnknownBook
from indexing.store import IndexStore
from service.ingestion import index_worker
from service.ingestion.incoming import NoState
from service.ingestion.index_worker import work
from service.ingestion.ingester import BookBusy, Ingester
from service.ingestion.jobs import BookExists, JobQueue, TooManyJobs, UnknownJob
from service.ingestion.uploads import Upload, plain, safe_name
from service.settings import Settings


@pytest.fixture
def jobs(tmp_path: Path) -> JobQueue:
    return JobQueue(tmp_path / "service")


@pytest.fixture
def store(tmp_path: Path) -> IndexStore:
    return IndexStore(tmp_path / "store")


def queue(jobs: JobQueue, data: bytes, name: str = "tale.txt", book_id: str = "tale", most: int = 100) -> str:
    incoming = jobs.reserve(most)
    try:
        incoming.file.write(data)
        return jobs.add(incoming, book_id, None, name, most).id
    finally:
        incoming.close()


def states(jobs: JobQueue, ids: list[str]) -> list[str]:
    return [jobs.get(id).status for id in ids]


def test_jobs_are_begun_in_their_order_and_known_until_the_end(jobs: JobQueue) -> None:
    ids = [queue(jobs, b"text", book_id=f"book-{number}") for number in range(3)]
    assert [job.id for job in (jobs.start_next(), jobs.start_next()) if job is not None] == ids[:2]
    jobs.progress(ids[0], 0.123456)
    assert jobs.get(ids[0]).progress == 0.1235
    jobs.finish(ids[0])
    jobs.fail(ids[1], "no book")
    assert states(jobs, ids) == ["done", "failed", "queued"]
    assert (jobs.get(ids[0]).progress, jobs.get(ids[1]).error) == (1.0, "no book")
    assert [jobs.upload(id).exists() for id in ids] == [False, False, True]
    assert jobs.pending()
    third = jobs.start_next()
    assert third is not None
    jobs.finish(third.id)
    assert jobs.start_next() is None
    assert not jobs.pending()


def test_what_is_told_of_a_job_that_has_ended_changes_nothing(jobs: JobQueue) -> None:
    done, failed = queue(jobs, b"text", book_id="one"), queue(jobs, b"text", book_id="other")
    jobs.start_next()
    jobs.finish(done)
    jobs.start_next()
    jobs.progress(failed, 0.25)
    jobs.fail(failed, "no book")
    for id in (done, failed):
        jobs.progress(id, 0.5)
    assert [jobs.get(id).progress for id in (done, failed)] == [1.0, 0.25]


def test_no_process_is_to_be_ended_for_a_cancelled_job_that_nobody_was_at(jobs: JobQueue) -> None:
    queue(jobs, b"text")
    assert jobs.cancel("tale", "gone") == 1
    assert not jobs.stopped()
    queue(jobs, b"text")
    jobs.start_next()
    assert jobs.cancel("tale", "gone") == 1
    assert jobs.stopped()


def test_where_nothing_was_ever_uploaded_nothing_is_written(jobs: JobQueue, tmp_path: Path) -> None:
    assert not jobs.pending()
    assert jobs.of_book("tale") == []
    assert jobs.cancel("tale", "gone") == 0
    jobs.remove_orphans()
    for id in ("0" * 32, "", "../jobs.sqlite", "\udc80", "\0", "0" * 32 + "\n"):
        with pytest.raises(UnknownJob):
            jobs.get(id)
    assert list(tmp_path.iterdir()) == []


def test_no_more_wait_than_may(jobs: JobQueue) -> None:
    queue(jobs, b"text", most=2)
    late = jobs.reserve(2)  # there is still room when this one begins to come in
    queue(jobs, b"text", most=2)
    with pytest.raises(TooManyJobs):
        jobs.reserve(2)
    with pytest.raises(TooManyJobs):
        jobs.add(late, "late", None, "late.txt", 2)
    late.close()
    assert not late.path.exists()


def test_what_came_in_half_is_swept_away_and_nothing_else_is(jobs: JobQueue) -> None:
    waiting = queue(jobs, b"text")
    coming = jobs.reserve(100)
    jobs.upload("0" * 32).write_bytes(b"left by a process that was killed")
    jobs.remove_orphans()
    assert {path.name for path in jobs.upload("x").parent.iterdir()} == {waiting, coming.id}
    coming.close()
    jobs.remove_orphans()
    assert {path.name for path in jobs.upload("x").parent.iterdir()} == {waiting}


def test_a_job_whose_process_died_is_begun_again_but_not_for_ever(jobs: JobQueue) -> None:
    id = queue(jobs, b"text")
    for _ in range(3):
        jobs.recover()
        begun = jobs.start_next()
        assert begun is not None
        assert begun.id == id
    jobs.recover()
    assert jobs.get(id).status == "failed"
    assert "ended the process 3 times" in (jobs.get(id).error or "")


def test_jobs_of_a_removed_book_are_cancelled_and_its_process_is_to_be_ended(jobs: JobQueue) -> None:
    running, waiting, other = (queue(jobs, b"text", book_id=book) for book in ("tale", "tale", "other"))
    jobs.start_next()
    assert [job.id for job in jobs.of_book("tale")] == [running, waiting]
    assert not jobs.stopped()
    assert jobs.cancel("tale", "removed") == 2
    assert jobs.stopped()
    assert states(jobs, [running, waiting, other]) == ["failed", "failed", "queued"]
    assert not jobs.upload(waiting).exists()
    jobs.finish(running)  # as the process may that does not know it yet
    assert (jobs.get(running).status, jobs.get(running).error) == ("failed", "removed")
    begun = jobs.start_next()  # by the process after that
    assert begun is not None
    assert begun.id == other
    assert not jobs.stopped()


def test_a_database_of_an_older_version_is_used_as_it_is(jobs: JobQueue) -> None:
    id = queue(jobs, b"text")
    database = jobs.upload(id).parent.parent / "jobs.sqlite"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("alter table jobs drop column stopped")
        connection.execute("alter table jobs drop column replaces")
        connection.execute("alter table jobs drop column builds")
    again = JobQueue(database.parent)
    begun = again.start_next()
    assert begun is not None
    assert begun.id == id
    assert begun.replaces
    assert again.cancel("tale", "removed") == 1
    assert again.stopped()


def test_old_jobs_are_forgotten_and_unfinished_ones_never(
    jobs: JobQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.ingestion.jobs._REMEMBERED", 2)
    first = queue(jobs, b"text")
    done = [queue(jobs, b"text") for _ in range(4)]
    for id in done:
        jobs.finish(id)
    queue(jobs, b"text")
    for id in done[:2]:
        with pytest.raises(UnknownJob):
            jobs.get(id)
    assert states(jobs, [first, *done[2:]]) == ["queued", "done", "done"]


def test_setting_the_clock_changes_no_order(jobs: JobQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    real = time.time
    ids = [queue(jobs, b"text")]
    for jump in (-1e9, 1e9, 0):
        monkeypatch.setattr(time, "time", lambda jump=jump: real() + jump)
        ids.append(queue(jobs, b"text"))
    assert [job.id for job in iter(jobs.start_next, None)] == ids


def test_a_damaged_database_is_a_clear_error_and_a_new_one_is_made_when_it_is_deleted(jobs: JobQueue) -> None:
    id = queue(jobs, b"text")
    database = jobs.upload(id).parent.parent / "jobs.sqlite"
    for more in ("-wal", "-shm"):
        database.with_name(database.name + more).unlink(missing_ok=True)
    database.write_bytes(b"noise" * 1000)
    with pytest.raises(NoState, match="delete it"):
        jobs.get(id)
    database.unlink()
    with pytest.raises(UnknownJob):
        jobs.get(id)
    assert jobs.get(queue(jobs, b"text")).status == "queued"


@pytest.mark.processes
def test_processes_that_come_at_once_share_one_queue(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom pathlib import Path\nfrom service.ingestion.jobs import JobQueue\n"
        "jobs = JobQueue(Path(sys.argv[1]))\n"
        "for _ in range(10):\n"
        "    incoming = jobs.reserve(100)\n"
        "    jobs.add(incoming, 'tale', None, 'tale.txt', 100)\n"
        "    incoming.close()\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    processes = [subprocess.Popen(command, cwd=Path(__file__).parents[1]) for _ in range(3)]
    assert [process.wait(timeout=120) for process in processes] == [0, 0, 0]
    assert len(JobQueue(tmp_path).of_book("tale")) == 30
    with sqlite3.connect(tmp_path / "jobs.sqlite") as database:
        assert database.execute("pragma journal_mode").fetchone() == ("wal",)
    database.close()


def test_an_upload_replaces_a_book_from_anywhere_and_is_done_once_where_nothing_changed(
    jobs: JobQueue, store: IndexStore
) -> None:
    first = queue(jobs, shelf.CLOCK.encode(), "first.txt")
    work(jobs, store, 0.01)
    version = store.manifest("tale").version
    same = queue(jobs, shelf.CLOCK.encode(), "first.txt")
    work(jobs, store, 0.01)
    assert store.manifest("tale").version == version
    other = queue(jobs, shelf.WELL.encode(), "second.txt")
    work(jobs, store, 0.01)
    assert store.open("tale").book.text == shelf.WELL.strip()
    assert store.manifest("tale").source == "second.txt"
    assert states(jobs, [first, same, other]) == ["done"] * 3


def test_a_store_that_cannot_be_written_fails_a_job_and_the_job_names_no_place(
    jobs: JobQueue, store: IndexStore, tmp_path: Path
) -> None:
    store.root.mkdir(exist_ok=True)
    (store.root / "locks").write_text("in the way, even of root")
    job = jobs.get(queue(jobs, shelf.CLOCK.encode(), "clock.txt", "clock"))
    work(jobs, store, 0.01)
    error = jobs.get(job.id).error or ""
    assert "may not write to its store" in error
    assert str(tmp_path) not in error


def test_an_upload_is_read_from_where_it_lies_and_what_is_wrong_with_it_names_no_place(
    store: IndexStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    jobs = JobQueue(Path("~", "state"))  # a folder of that name, and not the user's home
    good = queue(jobs, shelf.CLOCK.encode(), "clock.txt", "clock")
    bad = queue(jobs, b"text", "bad.txt", "bad")
    jobs.upload(bad).unlink()
    os.mkfifo(jobs.upload(bad))
    work(jobs, store, 0.01)
    assert states(jobs, [good, bad]) == ["done", "failed"]
    assert (jobs.get(bad).error or "").startswith("the upload is no regular file")


@pytest.mark.parametrize("source", ["elsewhere/tale.txt", "tale.txt"])
def test_a_book_that_comes_while_an_upload_waits_is_replaced_only_if_the_upload_may(
    tmp_path: Path, source: str
) -> None:
    ingester = Ingester(Settings(store=tmp_path), IndexStore(tmp_path))

    def add(id: str | None) -> str:
        incoming = ingester.jobs.reserve(100)
        incoming.file.write(shelf.CLOCK.encode())
        try:
            return ingester.add(Upload("tale.txt", id, None), incoming).id
        finally:
            incoming.close()

    none = add(None)
    build_book(Book("tale", "Tale", shelf.WELL, source), BuildSettings(), ingester.store)
    there = ingester.store.manifest("tale").version
    work(ingester.jobs, ingester.store, 0.01)
    job = ingester.jobs.get(none)
    assert (job.status, job.replaces) == ("failed", False)
    assert "there is a book 'tale' already; send id=tale" in (job.error or "")
    assert ingester.store.manifest("tale").version == there
    named = add("tale")
    work(ingester.jobs, ingester.store, 0.01)
    assert ingester.jobs.get(named).status == "done"
    assert ingester.store.open("tale").book.text == shelf.CLOCK.strip()


class Ended(BaseException):
    """The process ends here."""


class EndsBeforeItFinishes(JobQueue):
    def finish(self, id: str, owner: str = "") -> None:
        raise Ended


def test_a_book_published_by_a_process_that_ended_at_once_is_its_own_to_a_newer_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, jobs = IndexStore(tmp_path / "store"), EndsBeforeItFinishes(tmp_path)
    incoming = jobs.reserve(100)
    incoming.file.write(shelf.CLOCK.encode())
    job = jobs.add(incoming, "tale", None, "tale.txt", 100, is_there=lambda: False)
    incoming.close()
    versions = []
    for times in (2, 3):  # that a passage's own words count: what another version of storyqa may change
        monkeypatch.setattr("indexing.manifest.OWN_TIMES", times)
        with pytest.raises(Ended):
            work(jobs, store, 0.01)
        versions.append(store.manifest("tale").version)
    monkeypatch.setattr("indexing.manifest.OWN_TIMES", 2)
    work(JobQueue(tmp_path), store, 0.01)
    assert jobs.get(job.id).status == "done"
    assert versions[0] == store.manifest("tale").version != versions[1]


def test_a_book_that_is_removed_before_it_is_indexed_never_comes(tmp_path: Path) -> None:
    ingester = Ingester(Settings(store=tmp_path), IndexStore(tmp_path))
    running, waiting = (queue(ingester.jobs, b"text", book_id=book) for book in ("one", "two"))
    ingester.jobs.start_next()
    for id, book in ((running, "one"), (waiting, "two")):
        ingester.remove(book)
        assert ingester.jobs.get(id).status == "failed"
        assert "removed before" in (ingester.jobs.get(id).error or "")
        with pytest.raises(UnknownBook):
            ingester.remove(book)


def test_a_book_that_something_else_indexes_is_not_removed(tmp_path: Path) -> None:
    ingester = Ingester(Settings(store=tmp_path), IndexStore(tmp_path))
    waiting = queue(ingester.jobs, b"text", book_id="one")
    with ingester.store.claim("one"), pytest.raises(BookBusy, match="being indexed"):
        ingester.remove("one")
    assert ingester.jobs.get(waiting).status == "queued"


def test_of_uploads_at_once_that_may_replace_nothing_one_alone_is_taken(tmp_path: Path) -> None:
    ingester = Ingester(Settings(store=tmp_path), IndexStore(tmp_path))
    together = threading.Barrier(4)

    def send(id: str | None) -> str:
        incoming = ingester.jobs.reserve(100)
        incoming.file.write(shelf.CLOCK.encode())
        together.wait()
        try:
            return ingester.add(Upload("tale.txt", id, None), incoming).book_id
        except BookExists as refused:
            return str(refused)
        finally:
            incoming.close()

    with ThreadPoolExecutor(4) as pool:
        said = list(pool.map(send, [None] * 4))
        assert said.count("tale") == len(ingester.jobs.of_book("tale")) == 1
        assert sum("'tale' already; send id=tale" in one for one in said) == 3
        assert len(list(ingester.jobs.upload("x").parent.iterdir())) == 1
        work(ingester.jobs, ingester.store, 0.01)  # now the store has it, and no job
        said = list(pool.map(send, [None, "tale", None, None]))
    assert said.count("tale") == len(ingester.jobs.of_book("tale")) == 1
    assert said[1] == "tale"


def test_a_job_that_has_begun_when_its_book_is_removed_does_not_publish_it(
    jobs: JobQueue, store: IndexStore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    id = queue(jobs, shelf.CLOCK.encode())
    worker = threading.Thread(target=work, args=(jobs, store, 0.01))
    with store.claim("tale") as claim:  # as removing does, before it cancels
        worker.start()
        until(lambda: "waiting for another process that indexes tale" in caplog.text)
        assert jobs.cancel("tale", "removed") == 1
        claim.withdraw()
    worker.join()
    assert (jobs.get(id).status, jobs.get(id).error) == ("failed", "removed")
    assert store.ids() == []


def zipped(files: dict[str, bytes], link: str | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        if link is not None:
            info = zipfile.ZipInfo(link)
            info.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(info, "/etc/passwd")
    return buffer.getvalue()


_SECRET = "root:x:0:0"
HOSTILE = {
    "a bomb": pack(
        {"OPS/package.opf": package(["one"]), "OPS/text/one.xhtml": b"<p>" + b"0" * (2**26 + 100)}
    ),
    "an archive in an archive": zipped({"inner.epub": pack({"OPS/package.opf": package(["one"])})}),
    "an archive as a chapter": pack(
        {"OPS/package.opf": package(["one"]), "OPS/text/one.xhtml": zipped({"x": os.urandom(5000)})}
    ),
    "a path out of the archive": pack({"OPS/package.opf": package(["../../../../../etc/passwd"])}),
    "an entity from a file": pack(
        {
            "OPS/package.opf": '<!DOCTYPE package [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
            + package(["one"]).replace("The Miller's Gull", "&x;"),
            "OPS/text/one.xhtml": "<p></p>",
        }
    ),
    "entities that multiply": pack(
        {
            "OPS/package.opf": "<!DOCTYPE package ["
            + '<!ENTITY a0 "lol">'
            + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
            + "]>"
            + package(["one"]).replace("The Miller's Gull", "&a11;"),
        }
    ),
    "a zip of nothing": zipped({}),
    "a truncated zip": pack({"OPS/package.opf": package(["one"])})[:-40],
    "NUL": b"\0" * 10_000,
    "noise": bytes(range(256)) * 40,
    "a PDF": b"%PDF-1.7 " + b"x" * 100,
    "nothing": b"",
    "space": b" \n\t" * 100,
    "a picture's name": b"\x89PNG\r\n",
}


def test_hostile_files_fail_with_a_reason_and_leave_the_books_beside_them_alone(
    jobs: JobQueue, store: IndexStore, tmp_path: Path
) -> None:
    ids = {what: queue(jobs, data, "book.epub", "evil") for what, data in HOSTILE.items()}
    good = queue(jobs, shelf.CLOCK.encode(), "clock.txt", "clock")
    work(jobs, store, 0.01)
    for what, id in ids.items():
        job = jobs.get(id)
        assert job.status == "failed", what
        assert job.error, what
        assert _SECRET not in job.error
        assert str(tmp_path) not in job.error, what
        assert "unexpected" not in job.error, (what, job.error)
    assert jobs.get(good).status == "done"
    assert store.ids() == ["clock"]
    assert not any(jobs.upload("x").parent.iterdir())


@pytest.mark.parametrize(
    "text",
    [
        "🜁 " * 50 + "The jackdaw 🐦 sat on four eggs.",
        "\u202eThe tower fell\u202c. \u05d4\u05de\u05d2\u05d3\u05dc \u05e0\u05e4\u05dc. \u0628\u0631\u062c.",
        "A\0clock " + "\ufeff\u200b" + "struck thirteen. " * 10,
        "e\u0301" * 100 + " was heard.",
    ],
)
def test_odd_text_keeps_its_offsets(text: str, jobs: JobQueue, store: IndexStore) -> None:
    id = queue(jobs, text.encode())
    work(jobs, store, 0.01)
    assert (jobs.get(id).status, jobs.get(id).error) == ("done", None)
    index = store.open("tale")
    assert all(index.text(at, at + 1) == index.book.text[at] for at in range(index.characters))
    assert index.passages[-1].end <= index.characters == len(index.book.text)


def test_bytes_that_are_no_utf8_are_read_all_the_same(jobs: JobQueue, store: IndexStore) -> None:
    id = queue(jobs, shelf.LANTERN.encode() + b"\xff caf\xe9 \xc3\x28.")
    work(jobs, store, 0.01)
    assert jobs.get(id).status == "done"
    assert "café" in store.open("tale").book.text


def test_a_link_in_an_archive_is_text_and_leads_nowhere(jobs: JobQueue, store: IndexStore) -> None:
    files = {
        "mimetype": b"application/epub+zip",
        "META-INF/container.xml": zipfile.ZipFile(io.BytesIO(HOSTILE["a bomb"])).read(
            "META-INF/container.xml"
        ),
        "OPS/package.opf": package(["one", "two"]).encode(),
        "OPS/text/two.xhtml": page(f"<p>{PROSE}</p>").encode(),
    }
    id = queue(jobs, zipped(files, "OPS/text/one.xhtml"), "book.epub")
    work(jobs, store, 0.01)
    assert jobs.get(id).status == "done"
    text = store.open("tale").book.text
    assert "/etc/passwd" in text
    assert _SECRET not in text


def test_a_book_without_an_end_is_refused(
    jobs: JobQueue, store: IndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_worker, "MOST_CHARACTERS", 100)
    id = queue(jobs, shelf.CLOCK.encode())
    work(jobs, store, 0.01)
    assert "wanted at most 100" in (jobs.get(id).error or "")


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\Books\\moby.epub", "moby.epub"),
        ("moby\0.txt", "moby.txt"),
        ("\u202emoby\n.txt", "moby.txt"),
        ("", "book"),
        ("..", ".."),
        ("x" * 500 + ".epub", "x" * 200 + ".epub"),
        ("Der Mönch 🜁.html", "Der Mönch 🜁.html"),
    ],
)
def test_a_file_is_shown_by_the_last_part_of_its_name(given: str, shown: str) -> None:
    assert safe_name(given) == shown
    assert plain(shown) == shown


@pytest.mark.processes
def test_the_process_that_indexes_ends_with_the_one_that_started_it_and_another_goes_on(
    tmp_path: Path, store: IndexStore
) -> None:
    jobs = JobQueue(tmp_path / "service")
    id = queue(jobs, shelf.CLOCK.encode())
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom service.ingestion.indexer import Indexer\n"
        "from service.ingestion.jobs import JobQueue\n"
        "folder, store = map(Path, sys.argv[1:])\n"
        "indexer = Indexer(folder, store, JobQueue(folder), 120)\nindexer.start()\ntime.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "service"), str(store.root)]
    root = Path(__file__).parents[1]
    first = subprocess.Popen(command, cwd=root)
    until(lambda: jobs.get(id).status == "running")
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = subprocess.Popen(command, cwd=root)
    try:
        until(lambda: jobs.get(id).finished)
    finally:
        second.kill()
        second.wait()
    assert jobs.get(id).status == "done"
    assert store.open("tale").book.text == shelf.CLOCK.strip()


def until(reached: object) -> None:
    """Return once ``reached()`` is true; fail after minutes."""
    assert callable(reached)
    deadline = time.monotonic() + 300
    while not reached():
        assert time.monotonic() < deadline
        time.sleep(0.05)

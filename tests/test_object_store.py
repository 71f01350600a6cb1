"""A store in a bucket: what was published is what is opened, whoever else publishes, whatever a disk does."""

from __future__ import annotations

import hashlib
import os
import pickle
import shutil
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from novels import novel
from object_servers import bucket_store, environment

from indexing.book import Book
from indexing.build import BookTask, BuildSettings, build_book
from indexing.build_many import build_one
from indexing.errors import IndexMismatch, Overtaken, UnknownBook
from indexing.manifest import Manifest, read_manifest
from indexing.object_store.bucket import Bucket, Patience
from indexing.object_store.bucket_store import BucketStore
from indexing.packing import PACK
from indexing.store import IndexStore
from indexing.store_protocol import Store

pytestmark = pytest.mark.processes

NOVEL = novel(words=900, chapters=3)


@pytest.fixture(scope="module")
def settings(tiny_bert: Path) -> BuildSettings:
    return BuildSettings(encoder=str(tiny_bert))


@pytest.fixture
def store(
    s3_url: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> BucketStore:
    """An empty store, of this test alone."""
    for name, value in environment(s3_url).items():
        monkeypatch.setenv(name, value)
    return bucket_store(request.node.name, tmp_path / "cache")


def again(store: BucketStore, cache: Path, cache_bytes: int = 2**30) -> BucketStore:
    """The store as another machine has it."""
    return bucket_store(store.address.removeprefix("s3://books/"), cache, cache_bytes)


def publish_as(store: Store, built: Path, text: str) -> Manifest:
    """Publish what is built already."""

    def write(workspace: Path) -> Manifest:
        shutil.copytree(built / text, workspace, dirs_exist_ok=True)
        return read_manifest(workspace, NOVEL.id)

    with store.claim(NOVEL.id) as claim:
        return claim.publish(write)


@pytest.fixture(scope="module")
def built(settings: BuildSettings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Builds of a book's editions, each in a folder named after its text."""
    root = tmp_path_factory.mktemp("built")
    for text in ("one", "two", "three", "four"):
        folder = IndexStore(root / "stores" / text)
        build_book(replace(NOVEL, text=f"Edition {text}."), settings, folder)
        shutil.copytree(folder.folder(NOVEL.id, folder.current(NOVEL.id)), root / text)
    return root


def test_what_is_indexed_into_a_bucket_is_what_another_machine_opens(
    store: BucketStore, settings: BuildSettings, tmp_path: Path
) -> None:
    outcome = build_book(NOVEL, settings, store)
    other = again(store, tmp_path / "other")
    index = other.open(NOVEL.id)
    assert index.book == NOVEL
    assert index.manifest == outcome.manifest
    beside = IndexStore(tmp_path / "folder")
    build_book(NOVEL, settings, beside)
    question = np.ones((1, index.manifest.width), dtype=np.float32)
    assert (index.dense.scores(question) == beside.open(NOVEL.id).dense.scores(question)).all()
    assert other.verify(NOVEL.id) == []
    assert build_book(NOVEL, settings, other).status == "skipped"
    assert list(other.builds()) == other.ids() == [NOVEL.id] == [card.id for card in other.cards()[0]]
    assert other.full_id("nov") == other.full_id("novel") == "novel"


def test_a_replaced_book_is_seen_by_others_and_what_was_open_stays(
    store: BucketStore, built: Path, tmp_path: Path
) -> None:
    publish_as(store, built, "one")
    other = again(store, tmp_path / "other")
    index, before = other.open(NOVEL.id), other.current(NOVEL.id)
    publish_as(store, built, "two")
    later = again(store, tmp_path / "third")
    assert later.open(NOVEL.id).book.text == "Edition two."
    assert later.current(NOVEL.id) != before
    assert index.book.text == "Edition one."
    store.remove(NOVEL.id)
    assert store.ids() == []
    for gone in (store, again(store, tmp_path / "fourth")):
        with pytest.raises(UnknownBook, match="storyqa index PATH"):
            gone.open(NOVEL.id)
    assert index.book.text == "Edition one."


def test_of_builders_that_race_one_publishes_and_the_others_are_told(
    store: BucketStore, built: Path, tmp_path: Path
) -> None:
    """On machines of their own: there is no lock that they share."""
    for turn in range(3):
        texts, claimed = ("one", "two", "three", "four"), threading.Barrier(4)
        published, overtaken = [], []

        def race(text: str, turn: int = turn, claimed: threading.Barrier = claimed) -> None:
            machine = again(store, tmp_path / f"machine-{turn}-{text}")

            def write(workspace: Path) -> Manifest:
                shutil.copytree(built / text, workspace, dirs_exist_ok=True)
                claimed.wait(30)
                return read_manifest(workspace, NOVEL.id)

            try:
                with machine.claim(NOVEL.id) as claim:
                    claim.publish(write)
                published.append(text)  # noqa: B023
            except Overtaken:
                overtaken.append(text)  # noqa: B023

        builders = [threading.Thread(target=race, args=(text,)) for text in texts]
        for builder in builders:
            builder.start()
        for builder in builders:
            builder.join()
        assert len(published) == 1
        assert sorted(published + overtaken) == sorted(texts)
        seen = again(store, tmp_path / f"reader-{turn}")
        assert seen.open(NOVEL.id).book.text == f"Edition {published[0]}."
        assert seen.ids() == [NOVEL.id]
        assert seen.builds()[NOVEL.id] == seen.current(NOVEL.id)


def test_builders_of_the_same_build_do_not_disturb_each_other(
    store: BucketStore, built: Path, tmp_path: Path
) -> None:
    other = again(store, tmp_path / "other")
    with store.claim(NOVEL.id) as mine, other.claim(NOVEL.id) as theirs:
        for claim in (mine, theirs):

            def write(workspace: Path) -> Manifest:
                shutil.copytree(built / "one", workspace, dirs_exist_ok=True)
                return read_manifest(workspace, NOVEL.id)

            claim.publish(write)
    assert again(store, tmp_path / "third").verify(NOVEL.id) == []


def test_readers_meet_the_old_build_or_the_new_one_while_builds_are_replaced(
    store: BucketStore, built: Path, tmp_path: Path
) -> None:
    publish_as(store, built, "one")
    done = threading.Event()
    seen: set[str] = set()
    failures: list[BaseException] = []

    def read(number: int) -> None:
        try:
            while not done.is_set():
                # Two machines of two processes each: pointers are remembered for a second.
                machine = again(store, tmp_path / f"reader-{number % 2}", cache_bytes=1)
                seen.add(machine.open(NOVEL.id).book.text)
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for reader in readers:
        reader.start()
    for turn in range(20):
        publish_as(store, built, ("one", "two")[turn % 2])
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert seen == {"Edition one.", "Edition two."}


def test_a_damaged_copy_is_fetched_again(store: BucketStore, built: Path, tmp_path: Path) -> None:
    publish_as(store, built, "one")
    other = again(store, tmp_path / "other")
    for name in (PACK, "manifest.json"):
        for damage in ("flip", "cut", "delete"):
            other.open(NOVEL.id)
            [path] = (tmp_path / "other" / "builds").glob(f"*/{name}")
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            if damage == "delete":
                path.unlink()
            else:
                path.write_bytes(content if damage == "flip" else content[: len(content) // 2])
            assert other.open(NOVEL.id).book.text == "Edition one."
            assert other.verify(NOVEL.id) == []


def test_damage_in_the_bucket_is_refused_with_the_repair(
    store: BucketStore, built: Path, tmp_path: Path
) -> None:
    publish_as(store, built, "one")
    for prefix in ("builds/", "manifests/"):
        [one] = store.bucket.listed(prefix)
        kept = store.bucket.get(one.key)
        assert kept is not None
        damaged = bytearray(kept.content)
        damaged[len(damaged) // 2] ^= 1
        for content in (bytes(damaged), kept.content[:-100], b""):
            store.bucket.put(one.key, content)
            other = again(store, tmp_path / f"other-{prefix[0]}-{len(content)}-{content[:1].hex()}")
            said = f"{one.key} is damaged .*storyqa index SOURCE --id novel --force"
            with pytest.raises(IndexMismatch, match=said):
                other.open(NOVEL.id)
            assert len(other.verify(NOVEL.id)) == 1
            shutil.rmtree(tmp_path / f"other-{prefix[0]}-{len(content)}-{content[:1].hex()}")
        store.bucket.put(one.key, kept.content)
    store.bucket.put("books/novel", b"{}")
    with pytest.raises(IndexMismatch, match="storyqa index SOURCE --id novel --force"):
        again(store, tmp_path / "last").open(NOVEL.id)
    publish_as(again(store, tmp_path / "repair"), built, "two")
    assert again(store, tmp_path / "last").open(NOVEL.id).book.text == "Edition two."


def test_a_store_crosses_to_another_process(store: BucketStore, built: Path) -> None:
    publish_as(store, built, "one")
    assert pickle.loads(pickle.dumps(store)).open(NOVEL.id).book.text == "Edition one."


def test_processes_of_a_machine_fetch_a_build_once(store: BucketStore, built: Path, tmp_path: Path) -> None:
    publish_as(store, built, "one")
    script = (
        "import sys; from pathlib import Path; from indexing.stores import open_store\n"
        "sys.stdin.readline()\n"
        "print(open_store(sys.argv[1], Path(sys.argv[2]), 2**30).open('novel').book.text)"
    )
    command = [sys.executable, "-c", script, store.address, str(tmp_path / "shared")]
    root = Path(__file__).parent.parent
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root) for _ in range(4)
    ]
    found = [process.communicate(b"\n")[0].strip() for process in processes]
    assert found == [b"Edition one."] * 4
    folder = tmp_path / "shared" / "store" / "builds"
    assert [len(list(one.iterdir())) for one in folder.iterdir()] == [2]
    assert os.listdir(folder)[0].startswith(".") is False  # noqa: PTH208


def test_what_is_too_large_for_one_request_crosses_in_parts(store: BucketStore, tmp_path: Path) -> None:
    content = np.random.default_rng(1).bytes(20_000_001)
    (tmp_path / "large").write_bytes(content)
    bucket = Bucket(store.address, Patience())
    bucket.put("large", tmp_path / "large")
    assert bucket.download("large", tmp_path / "again") == hashlib.sha256(content).hexdigest()
    assert (tmp_path / "again").read_bytes() == content


def test_shelves_in_a_bucket_are_those_of_a_folder(store: BucketStore, tmp_path: Path) -> None:
    for shelves in (store.shelves(), IndexStore(tmp_path).shelves()):
        shelves.put("tales", ["b", "a"], "Tales")
        assert shelves.add("tales", ["c", "a"]).books == ("b", "a", "c")
        assert shelves.take("tales", ["a"]).books == ("b", "c")
        assert (shelves.get("tales").title, shelves.names()) == ("Tales", ["tales"])
        shelves.delete("tales")
        assert shelves.names() == []
        with pytest.raises(Exception, match="unknown shelf 'tales'"):
            shelves.add("tales", ["a"])


def test_no_shelf_that_is_added_to_by_many_at_once_loses_a_book(store: BucketStore, tmp_path: Path) -> None:
    store.shelves().put("tales", [])
    failures: list[BaseException] = []

    def add(number: int) -> None:
        try:
            again(store, tmp_path / str(number)).shelves().add("tales", [f"book-{number}"])
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sorted(store.shelves().get("tales").books) == [f"book-{number}" for number in range(4)]


def test_a_book_that_is_there_is_known_on_another_machine_without_being_fetched(
    store: BucketStore, settings: BuildSettings, tmp_path: Path
) -> None:
    def must_not_be_read() -> Book:
        raise AssertionError

    book = replace(NOVEL, source_key="as it was")
    assert not store.holds(NOVEL.id)
    assert build_one(BookTask("novel", lambda: book), settings, store).status == "built"
    other = again(store, tmp_path / "other")
    assert other.holds(NOVEL.id)
    task = BookTask("novel", must_not_be_read, NOVEL.id, lambda: "as it was")
    assert build_one(task, settings, other).status == "skipped"
    assert not list((tmp_path / "other").rglob(PACK))
    assert other.checked_manifest(NOVEL.id) == store.manifest(NOVEL.id)

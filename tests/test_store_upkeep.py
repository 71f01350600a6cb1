"""What keeps a store of many books well: copies, verification, its list, and deleting what is left."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from novels import novel
from object_servers import FaultyProxy, bucket_store, environment

from answering.book_qa import Ask, BookQA
from indexing.build import BuildSettings, build_book
from indexing.card import BookCard
from indexing.copying import copy_books
from indexing.errors import IndexMismatch
from indexing.merging import merge_store
from indexing.object_store.bucket_store import BucketStore
from indexing.object_store.catalogue_shards import CHANGES, CURRENT, FORMAT, Change, put_shard, row_of
from indexing.store import IndexStore
from indexing.store_protocol import Store
from service import cli

pytestmark = pytest.mark.processes

BOOKS = [novel(f"book-{number}", words=200) for number in range(3)]
IDS = [book.id for book in BOOKS]


@pytest.fixture(scope="module")
def shelf(tiny_bert: Path, tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    """A store in a folder, to be left as it is."""
    store = IndexStore(tmp_path_factory.mktemp("shelf"))
    for book in BOOKS:
        build_book(book, BuildSettings(words=50, encoder=str(tiny_bert)), store)
    store.shelves().put("tales", IDS[:2], "Tales")
    return store


@pytest.fixture
def remote(
    s3_url: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> BucketStore:
    """An empty store in a bucket, of this test alone."""
    for name, value in environment(s3_url).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("STORYQA_CACHE", str(tmp_path / "cache"))
    return bucket_store(request.node.name, tmp_path / "cache" / "store")


def statuses(source: Store, target: Store) -> list[str]:
    return [one.status for one in copy_books(source, target, source.ids())]


def afresh(store: BucketStore) -> BucketStore:
    """The store as a process that has just started has it."""
    return bucket_store(store.address.removeprefix("s3://books/"), store.cache.folder)


def files_of(store: Store, id: str, into: Path) -> dict[str, bytes]:
    into.mkdir()
    store.copy_out(id, into)
    return {path.name: path.read_bytes() for path in into.iterdir()}


def test_a_copy_to_a_bucket_and_back_is_the_same_to_the_last_byte(
    shelf: IndexStore, remote: BucketStore, tmp_path: Path
) -> None:
    assert statuses(shelf, remote) == ["copied"] * 3
    assert statuses(shelf, remote) == ["there"] * 3
    back = IndexStore(tmp_path / "back")
    assert statuses(remote, back) == ["copied"] * 3
    for id in IDS:
        assert files_of(back, id, tmp_path / f"{id}-back") == files_of(shelf, id, tmp_path / f"{id}-first")
        assert (remote.verify(id), back.verify(id)) == ([], [])


def test_a_copy_brings_a_book_that_was_replaced_and_damage_is_not_copied(
    shelf: IndexStore, remote: BucketStore, tmp_path: Path, tiny_bert: Path
) -> None:
    source = IndexStore(shutil.copytree(shelf.root, tmp_path / "source"))
    statuses(source, remote)
    build_book(replace(BOOKS[0], text="Another text."), BuildSettings(encoder=str(tiny_bert)), source)
    text = source.folder(IDS[1], source.current(IDS[1])) / "text.npy"
    text.write_bytes(text.read_bytes()[:-1] + b"?")
    assert statuses(source, remote) == ["copied", "there", "there"]  # by their manifests
    remote.remove(IDS[1])
    damaged = [one for one in copy_books(source, remote, IDS) if one.status == "failed"]
    assert [one.id for one in damaged] == [IDS[1]]
    assert "storyqa index" in damaged[0].message
    assert afresh(remote).ids() == [IDS[0], IDS[2]]
    assert afresh(remote).open(IDS[0]).book.text == "Another text."


def test_the_commands_do_it_all_for_a_user(
    shelf: IndexStore,
    remote: BucketStore,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def do(*arguments: str, code: int = 0) -> str:
        assert cli.run(arguments) == code
        return capsys.readouterr().out

    assert cli.run(["copy", str(shelf.root / "mistyped"), remote.address]) == 2
    assert "mistyped' holds no books to copy" in capsys.readouterr().err
    assert "3 books copied" in do("copy", str(shelf.root), remote.address)
    assert "3 there already" in do("copy", str(shelf.root), remote.address)
    there = ("--store", remote.address)
    assert [one["id"] for one in json.loads(do("books", *there, "--json"))] == IDS
    assert json.loads(do("shelves", "show", "tales", *there, "--json"))["books"] == IDS[:2]
    assert "3 books checked, none damaged" in do("verify", *there)
    assert json.loads(do("show", "book-1", *there, "--json"))["words"] == len(BOOKS[1].text.split())
    [first, *_] = json.loads(
        do("search", "book-1", BOOKS[1].text[:60], "--retriever", "bm25", *there, "--json")
    )["hits"]
    assert first["text"] in BOOKS[1].text
    assert json.loads(do("gc", *there, "--json")) == {"deleted": 0, "bytes": 0}
    do("remove", "book-1", *there)
    assert json.loads(do("catalogue", *there, "--rebuild", "--json")) == {"books": 2}
    assert json.loads(do("gc", "--grace-hours", "0", *there, "--json"))["deleted"] >= 2
    assert "2 books checked, none damaged" in do("verify", *there)
    monkeypatch.setenv("STORYQA_STORE", remote.address)
    assert "2 books listed" in do("catalogue")


def test_a_book_asked_from_a_bucket_is_answered_as_from_a_folder(
    shelf: IndexStore, remote: BucketStore, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses(shelf, remote)
    found = []
    for address in (str(shelf.root), remote.address):
        for asked in ("book-1", "book-0,book-2", "*"):
            command = ("search", asked, BOOKS[1].text[:60], "--retriever", "bm25", "--before", "50%")
            assert cli.run([*command, "--store", address, "--json"]) == 0
            found.append(json.loads(capsys.readouterr().out)["hits"])
    assert found[:3] == found[3:]
    assert all(found)


def test_merged_books_of_a_bucket_are_searched_as_those_of_a_folder(
    shelf: IndexStore, remote: BucketStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    statuses(shelf, remote)
    assert cli.run(["shelves", "index", "--store", remote.address]) == 0
    folder = afresh(remote).merged()
    assert folder is not None
    assert cli.run(["shelves", "index", "--store", remote.address]) == 0
    assert "merged already" in capsys.readouterr().out
    assert remote.collect(0).number == 0


@pytest.mark.parametrize("prefix", ["builds/", "manifests/", "merged"])
def test_a_merged_index_that_is_damaged_in_its_bucket_is_done_without_and_built_anew(
    shelf: IndexStore, remote: BucketStore, prefix: str, caplog: pytest.LogCaptureFixture
) -> None:
    statuses(shelf, remote)
    of_books = {one.key for one in remote.bucket.listed(prefix)}
    merge_store(remote)
    key = next((one.key for one in remote.bucket.listed(prefix) if one.key not in of_books), prefix)
    remote.bucket.put(key, b"?")
    shutil.rmtree(remote.cache.folder)
    qa, asked = BookQA(afresh(remote)), Ask("*", BOOKS[1].text[:60], 3, "bm25")
    for _ in range(2):
        assert len(qa.find([asked])[0].hits) == 3
    [said] = [one.message for one in caplog.records if "merged index" in one.message]
    assert said.endswith("build it anew: storyqa shelves index --force")
    assert merge_store(afresh(remote))[1]
    assert not merge_store(afresh(remote))[1]


def test_what_no_book_names_is_deleted_when_its_time_of_grace_is_over(
    shelf: IndexStore, remote: BucketStore, tmp_path: Path
) -> None:
    statuses(shelf, remote)
    with remote.claim(IDS[0]) as claim:
        claim.publish(lambda into: shelf.copy_out(IDS[0], into))
    remote.remove(IDS[1])
    assert remote.collect(3600).number == 0
    gone = remote.collect(-1)  # of the same second, too
    assert gone.number == 4
    assert gone.bytes > 0
    assert remote.collect(-1).number == 0
    for id in (IDS[0], IDS[2]):
        assert bucket_store(remote.address.removeprefix("s3://books/"), tmp_path / "new").verify(id) == []


def test_nothing_is_deleted_while_a_pointer_cannot_be_read(shelf: IndexStore, remote: BucketStore) -> None:
    statuses(shelf, remote)
    remote.bucket.put(f"books/{IDS[0]}", b"?")
    with pytest.raises(Exception, match=f"storyqa index SOURCE --id {IDS[0]} --force"):
        remote.collect(-1)


def test_the_list_is_read_without_a_request_for_each_book(
    shelf: IndexStore, remote: BucketStore, s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses(shelf, remote)
    assert remote.list_anew(from_builds=False) == 3
    with FaultyProxy(s3_url) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        store = bucket_store(remote.address.removeprefix("s3://books/"), tmp_path / "new")
        assert [card.title for card in store.cards()[0]] == [book.title for book in BOOKS]
        assert store.ids() == list(store.builds()) == IDS
        assert len(proxy.requests) == 3  # the changes, what the list is, and its one shard
        assert bucket_store(store.address.removeprefix("s3://books/"), tmp_path / "new").ids() == IDS
        assert len(proxy.requests) == 5  # the shard is on the disk


def changes(store: BucketStore) -> int:
    return sum(1 for _ in store.bucket.listed(CHANGES))


def test_the_list_is_the_same_before_and_after_its_changes_are_merged(
    shelf: IndexStore, remote: BucketStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexing.object_store.compaction._MOST_ROWS", 2)
    listed: list[Callable[[], object]] = [
        lambda: afresh(remote).ids(),
        lambda: afresh(remote).builds(),
        lambda: afresh(remote).cards(),
    ]
    statuses(shelf, remote)
    for step in (lambda: None, lambda: remote.remove(IDS[1]), lambda: statuses(shelf, remote)):
        step()
        before = [one() for one in listed]
        remote.list_anew(from_builds=False)
        assert [one() for one in listed] == before
        assert changes(remote) == 0
    remote.bucket.delete(["catalogue/current"])
    assert afresh(remote).ids() == []
    assert remote.list_anew(from_builds=True) == 3
    assert [one() for one in listed] == before
    assert len(remote.catalogue.shard_keys()) == 2


def test_a_change_of_the_list_that_is_damaged_is_mended_by_the_command_that_is_named(
    shelf: IndexStore, remote: BucketStore
) -> None:
    statuses(shelf, remote)
    first, *_ = remote.bucket.listed(CHANGES)
    remote.bucket.put(first.key, b"?")
    for read in (afresh(remote).ids, lambda: afresh(remote).list_anew(from_builds=False)):
        with pytest.raises(IndexMismatch, match="storyqa catalogue --rebuild"):
            read()
    assert afresh(remote).list_anew(from_builds=True) == 3
    assert afresh(remote).ids() == IDS
    assert changes(remote) == 0


def test_a_page_of_the_list_is_a_piece_of_it_wherever_it_begins(
    shelf: IndexStore, remote: BucketStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexing.object_store.compaction._MOST_ROWS", 3)
    monkeypatch.setattr("indexing.object_store.catalogue_shards._GROUP", 2)
    statuses(shelf, remote)
    card = BookCard.of(shelf.manifest(IDS[0]))

    def note(id: str, number: int = 1, build: str | None = "0" * 12 + "-0") -> None:
        there = None if build is None else replace(card, id=id)
        remote.catalogue.note(Change(id, number, build, there))

    for id in ("atlas", "book-00", "emma", "zoo"):
        note(id)
    listed = compacted(remote)
    assert len(remote.catalogue.shard_keys()) == 3
    for id in ("aaa", "book-01", "zz"):
        note(id)
    note("emma", 2, None)  # removed since
    note("zoo", 0, None)  # and this had been before the shards were written
    expected = sorted({*listed, "aaa", "book-01", "zz"} - {"emma"})
    assert {"aaa", "zoo", *IDS} <= set(expected)
    for store in (shelf, afresh(remote)):
        ids = store.ids()
        assert ids == (IDS if store is shelf else expected)
        for start in ("", "aaa", "book-0", "book-0\0", "book-1", "emma", "zoo", "zzz"):
            for most in (None, 1, 2, 5, 100):
                page = [id for id in ids if id >= start][:most]
                assert store.ids(start, most) == page
                assert [one.id for one in store.cards(start, most)[0]] == page
        builds = store.builds()
        for of in ([], ["zz", "nobody", "book-1", "emma"], ids):
            assert list(store.builds(of).items()) == [one for one in builds.items() if one[0] in of]


def compacted(store: BucketStore) -> list[str]:
    """The ids of a list that has all changes in its shards, be they published or not."""
    cards = {card.id: card for card in store.catalogue.cards()}
    builds = store.builds()
    rows = [row_of(1, builds[id], cards[id]) for id in sorted(cards)]
    shards = [asdict(put_shard(store.bucket, rows[first : first + 3])) for first in range(0, len(rows), 3)]
    content = {"format": FORMAT, "token": "0", "shards": shards}
    store.bucket.replace(CURRENT, store.bucket.get(CURRENT), json.dumps(content).encode())
    store.bucket.delete([one.key for one in store.bucket.listed(CHANGES)])
    store.catalogue.forget()
    return sorted(cards)


def test_ids_that_are_asked_for_in_vain_are_forgotten(
    remote: BucketStore, s3_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexing.object_store.pointers._MOST_KNOWN", 10)
    monkeypatch.setattr("indexing.object_store.pointers._FRESH_S", 3600.0)
    with FaultyProxy(s3_url) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        store = bucket_store(remote.address.removeprefix("s3://books/"), tmp_path / "new")
        for number in (*range(30), *range(20, 30)):
            assert not store.holds(f"nothing-{number}")
        assert len(proxy.requests) == 30  # the last ten were known
        assert not store.holds("nothing-19")
        assert len(proxy.requests) == 31


def test_what_was_noted_and_never_published_leaves_the_list(
    shelf: IndexStore, remote: BucketStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    statuses(shelf, remote)
    manifest = shelf.manifest(IDS[0])
    remote.catalogue.note(Change("phantom", 1, "0" * 12 + "-0", BookCard.of(replace(manifest, id="phantom"))))
    assert "phantom" in afresh(remote).ids()
    remote.list_anew(from_builds=False)
    assert "phantom" in afresh(remote).ids()  # it may be published yet
    monkeypatch.setattr("indexing.object_store.compaction._PENDING_S", -1.0)
    assert remote.list_anew(from_builds=False) == 3
    assert afresh(remote).ids() == IDS


def test_copies_on_this_machine_stay_within_their_bound_and_the_last_used_stay(
    shelf: IndexStore, remote: BucketStore, tmp_path: Path
) -> None:
    statuses(shelf, remote)
    prefix, size = remote.address.removeprefix("s3://books/"), shelf.manifest(IDS[0]).bytes
    store = bucket_store(prefix, tmp_path / "small", cache_bytes=int(3 * size))

    def kept() -> int:
        return len(list((tmp_path / "small" / "builds").iterdir()))

    first = store.open(IDS[0])
    store.open(IDS[1])
    os.utime(store.folder(IDS[0], store.current(IDS[0])), (2e9, 2e9))  # used last, whatever the clock's steps
    store.open(IDS[2])
    assert store.cache.bytes <= 3 * size
    assert kept() == 2
    names = {path.name for path in (tmp_path / "small" / "builds").iterdir()}
    assert store.folder(IDS[0], store.current(IDS[0])).name in names
    tiny = bucket_store(prefix, tmp_path / "small", cache_bytes=1)
    assert tiny.open(IDS[1]).book.text == BOOKS[1].text
    assert kept() == 1
    assert first.book.text == BOOKS[0].text  # it is mapped still
    assert first.verify() == []
    assert store.open(IDS[0]).book.text == BOOKS[0].text

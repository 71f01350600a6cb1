"""What was built is what is opened; what is damaged is refused by name; replacing a build disturbs nobody."""

from __future__ import annotations

import json
import os
import random
import shutil
import stat
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from novels import novel

from encoders.bi_encoder import load_encoder
from encoders.errors import ModelError
from evaluation.versions import encoder_version
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.errors import IndexMismatch, UnknownBook
from indexing.index import BookIndex
from indexing.locking import locked
from indexing.manifest import Manifest
from indexing.merging import merge_store
from indexing.passages import split
from indexing.store import IndexStore
from indexing.store_protocol import Collected
from indexing.write import write_build
from service.book_schemas import BookDetails
from text.codepoints import pack, unpack

NOVEL = novel(words=900, chapters=3)


@pytest.fixture(scope="module")
def settings(tiny_bert: Path) -> BuildSettings:
    return BuildSettings(encoder=str(tiny_bert))


@pytest.fixture(scope="module")
def built(settings: BuildSettings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one book, not to be changed."""
    root = tmp_path_factory.mktemp("store")
    build_book(NOVEL, settings, IndexStore(root))
    return root


@pytest.fixture
def store(built: Path, tmp_path: Path) -> IndexStore:
    """A store with one book, to be changed."""
    return IndexStore(shutil.copytree(built, tmp_path / "store"))


def build_folder(store: IndexStore, id: str = NOVEL.id) -> Path:
    return store.root / "books" / id / store.current(id)


def use_everything(index: BookIndex) -> None:
    """Read every part of an index in the ways that searching and citing do."""
    book = index.book
    for passage in index.passages:
        book.text[passage.start : passage.end]
    for question in (book.text[:300], book.text[-300:], "zzyzx"):
        index.sparse.bm25(question)
        index.sparse.tfidf(question)
    index.dense.scores(np.ones((2, index.manifest.width), dtype=np.float32))


def test_an_index_holds_the_book_it_was_built_from(store: IndexStore) -> None:
    index = store.open(NOVEL.id)
    assert index.book == NOVEL
    assert list(index.passages) == split(NOVEL.text)
    assert index.passages[-1] == split(NOVEL.text)[-1]
    assert index.chapters == NOVEL.chapters
    assert (index.id, index.title, index.characters) == (NOVEL.id, NOVEL.title, len(NOVEL.text))
    assert store.verify(NOVEL.id) == []


def test_any_piece_of_the_text_is_that_of_the_book(store: IndexStore) -> None:
    index = store.open(NOVEL.id)
    for start in range(0, len(NOVEL.text), 211):
        assert index.text(start, start + 333) == NOVEL.text[start : start + 333]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        "caf\u00e9 \u00ff",
        "\u201cquoted\u201d",
        "a \U0001f40b b",
        "\ud83d\udc0b \ud800",
        "\ud800",
    ],
)
def test_every_text_survives_packing_piece_by_piece(text: str) -> None:
    packed = pack(text)
    assert unpack(packed) == text
    assert [unpack(packed[i : i + 1]) for i in range(len(text))] == list(text)


def test_before_counts_the_passages_that_end_by_then(store: IndexStore) -> None:
    passages = store.open(NOVEL.id).passages
    for number, passage in enumerate(passages):
        assert passages.until(passage.end) == number + 1
        assert passages.until(passage.end - 1) == number
    assert (passages.until(0), passages.until(-5)) == (0, 0)
    assert passages.until(None) == passages.until(10**9) == len(passages)


def test_a_book_is_described_and_quoted_by_its_text_alone_as_by_all_of_its_files(store: IndexStore) -> None:
    index = store.open(NOVEL.id)
    described, quoted = BookDetails.of_all(index), index.text(10, 200)
    for path in build_folder(store).iterdir():
        if path.name not in ("manifest.json", "text.npy"):
            path.write_bytes(b"damaged")
    told = store.text(NOVEL.id)
    assert BookDetails.of_all(told) == described
    assert told.text(10, 200) == quoted
    text = build_folder(store) / "text.npy"
    text.write_bytes(text.read_bytes()[:-1] + b"?")
    with pytest.raises(IndexMismatch, match=r"text.npy is damaged .*storyqa index .*--force"):
        store.text(NOVEL.id)


@pytest.mark.parametrize("damage", ["truncate", "empty", "delete", "lengthen"])
def test_files_of_another_size_are_refused_with_the_repair(store: IndexStore, damage: str) -> None:
    names = sorted(path.name for path in build_folder(store).iterdir())
    assert len(names) == 8
    for name in names:
        path = build_folder(store) / name
        content = path.read_bytes()
        if damage == "delete":
            path.unlink()
        else:
            length = {"truncate": len(content) // 2, "empty": 0, "lengthen": None}[damage]
            path.write_bytes(content + b"x" if length is None else content[:length])
        with pytest.raises(IndexMismatch, match=r"storyqa index .* --id novel .*--force"):
            store.open(NOVEL.id)
        assert len(store.verify(NOVEL.id)) == 1
        path.write_bytes(content)
    assert store.verify(NOVEL.id) == []


@pytest.mark.parametrize("seed", range(3))
def test_a_flipped_bit_anywhere_is_refused(store: IndexStore, seed: int) -> None:
    chance = random.Random(seed)
    for path in sorted(build_folder(store).iterdir()):
        content = path.read_bytes()
        # The headers, where a flip does most harm, and anywhere.
        places = [chance.randrange(min(128, len(content))) for _ in range(12)]
        places += [chance.randrange(len(content)) for _ in range(12)]
        for place in places:
            damaged = bytearray(content)
            damaged[place] ^= 1 << chance.randrange(8)
            path.write_bytes(damaged)
            assert len(store.verify(NOVEL.id)) == 1
            with pytest.raises(IndexMismatch, match="--id novel"):
                store.open(NOVEL.id)
        path.write_bytes(content)


def test_noise_in_place_of_any_file_is_refused(store: IndexStore) -> None:
    for path in sorted(build_folder(store).iterdir()):
        content = path.read_bytes()
        header = content[:128] if path.suffix == ".npy" else b""
        for seed in range(5):
            noise = random.Random(seed).randbytes(len(content) - len(header))
            path.write_bytes(header + noise)
            assert store.verify(NOVEL.id)
            with pytest.raises(IndexMismatch, match="--id novel"):
                store.open(NOVEL.id)
        path.write_bytes(content)


def test_another_format_is_refused_with_the_repair(store: IndexStore) -> None:
    path = build_folder(store) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": 99}))
    with pytest.raises(IndexMismatch, match=r"format 99 .* reads format 1; rebuild it: storyqa index"):
        store.open(NOVEL.id)


def test_other_weights_of_the_encoder_are_refused(store: IndexStore, tmp_path: Path, tiny_bert: Path) -> None:
    encoder = Path(shutil.copytree(tiny_bert, tmp_path / "encoder"))
    build_book(novel("other"), BuildSettings(encoder=str(encoder)), store)
    assert store.open("other").encoder().width == 32
    config = encoder / "tokenizer_config.json"
    config.write_text(config.read_text() + "\n")
    load_encoder.cache_clear()
    with pytest.raises(IndexMismatch, match=r"other weights.*storyqa index shelf/other.txt --id other"):
        store.open("other").encoder()


def test_the_repair_names_the_settings_of_the_build(settings: BuildSettings, tmp_path: Path) -> None:
    store = IndexStore(tmp_path)
    book = novel(source="my books/it's.txt")
    manifest = build_book(book, replace(settings, words=50, overlap=10), store).manifest
    assert manifest is not None
    wanted = f"--id novel --words 50 --overlap 10 --encoder {settings.encoder} --force"
    assert manifest.repair() == f"""storyqa index 'my books/it'"'"'s.txt' {wanted}"""


def test_the_encoder_of_new_indexes_is_the_one_that_the_environment_names(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("STORYQA_ENCODER", raising=False)
    assert BuildSettings().encoder == "story"
    monkeypatch.setenv("STORYQA_ENCODER", os.path.relpath(tiny_bert))
    manifest = build_book(NOVEL, BuildSettings(), IndexStore(tmp_path)).manifest
    assert manifest is not None
    assert manifest.settings.encoder == str(tiny_bert.resolve())
    assert manifest.encoder_hash == load_encoder(str(tiny_bert.resolve())).hash
    assert encoder_version() == manifest.encoder_hash[:12]
    monkeypatch.setenv("HOME", str(tiny_bert.parent))
    monkeypatch.setenv("STORYQA_ENCODER", f"~/{tiny_bert.name}")
    assert BuildSettings().encoder == str(tiny_bert)
    monkeypatch.setenv("STORYQA_ENCODER", "nowhere")
    with pytest.raises(ModelError, match=r"unknown encoder .*nowhere"):
        build_book(NOVEL, BuildSettings(), IndexStore(tmp_path))


def test_an_unknown_book_is_answered_with_near_names(store: IndexStore) -> None:
    for ask in (store.open, store.remove, store.verify, store.manifest, store.current):
        with pytest.raises(UnknownBook, match=r"unknown book 'nvel'; did you mean novel\?") as caught:
            ask("nvel")
        assert caught.value.near == ("novel",)


@pytest.mark.parametrize("id", ["", "../novel", "NOVEL/..", "a b", "/etc", "novel/"])
def test_what_cannot_be_an_id_is_an_unknown_book(store: IndexStore, id: str) -> None:
    with pytest.raises(UnknownBook):
        store.open(id)


def test_an_empty_store_says_how_to_fill_it(tmp_path: Path) -> None:
    store = IndexStore(tmp_path / "none")
    assert store.ids() == []
    with pytest.raises(UnknownBook, match="storyqa index PATH"):
        store.open("novel")
    store.sweep()
    assert not store.root.exists()


def test_a_removed_book_is_gone_from_the_disk(store: IndexStore) -> None:
    index = store.open(NOVEL.id)
    store.remove(NOVEL.id)
    assert store.ids() == []
    assert list((store.root / "books").iterdir()) == []
    use_everything(index)  # what was open stays open


def test_a_list_reads_a_manifest_again_only_where_it_has_changed(
    store: IndexStore, settings: BuildSettings
) -> None:
    build_book(novel("other"), settings, store)
    first, other = store.cards()[0]
    assert all(again is card for again, card in zip(store.cards()[0], (first, other), strict=True))
    [again] = store.page(NOVEL.id)[0]
    assert again is other

    build_book(replace(NOVEL, title="Another Title"), settings, store, force=True)
    replaced, again = store.cards()[0]
    assert (replaced.title, again is other) == ("Another Title", True)

    manifest = build_folder(store, "other") / "manifest.json"
    written = manifest.read_bytes()
    manifest.write_bytes(written.replace(b"passages", b"pazzages", 1))
    read, damaged = store.cards()
    assert ([card.id for card in read], len(damaged)) == ([NOVEL.id], 1)
    manifest.write_bytes(written)
    assert store.cards() == ([replaced, other], [])

    store.remove("other")
    assert store.cards() == ([replaced], [])
    build_book(novel("other", words=300), settings, store)
    assert store.cards()[0][1].words != other.words


def test_an_open_index_outlives_the_build_it_was_opened_from(
    store: IndexStore, settings: BuildSettings
) -> None:
    index, folder = store.open(NOVEL.id), build_folder(store)
    build_book(replace(NOVEL, text="Another text."), settings, store)
    assert not folder.exists()
    use_everything(index)
    assert index.book == NOVEL
    assert index.verify() == []
    assert store.open(NOVEL.id).book.text == "Another text."


def test_readers_meet_the_old_build_or_the_new_one_while_builds_are_replaced(
    store: IndexStore, settings: BuildSettings, tmp_path: Path
) -> None:
    texts = ["The first text is this.", "And this is the second text."]
    encoder = load_encoder(settings.encoder)
    prepared: list[tuple[Path, Manifest]] = []
    for number, text in enumerate(texts):
        (folder := tmp_path / str(number)).mkdir()
        prepared.append((folder, write_build(replace(NOVEL, text=text), settings, encoder, folder)))
    done = threading.Event()
    seen: set[str] = set()
    failures: list[BaseException] = []

    def read() -> None:
        try:
            while not done.is_set():
                seen.add(store.open(NOVEL.id).book.text)
        except BaseException as error:
            failures.append(error)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for reader in readers:
        reader.start()
    for turn in range(40):
        folder, manifest = prepared[turn % 2]

        def write(workspace: Path, folder: Path = folder, manifest: Manifest = manifest) -> Manifest:
            shutil.copytree(folder, workspace, dirs_exist_ok=True)
            return manifest

        with store.claim(NOVEL.id) as claim:
            claim.publish(write)
    done.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert set(texts) <= seen <= {*texts, NOVEL.text}
    assert len(list((store.root / "books" / NOVEL.id).iterdir())) == 2


def test_a_build_that_fails_leaves_the_old_one_and_nothing_else(store: IndexStore) -> None:
    def write(workspace: Path) -> Manifest:
        (workspace / "text.npy").write_bytes(b"half")
        raise KeyboardInterrupt

    before = store.current(NOVEL.id)
    with pytest.raises(KeyboardInterrupt), store.claim(NOVEL.id) as claim:
        claim.publish(write)
    with pytest.raises(KeyboardInterrupt), store.claim("unborn") as claim:
        claim.publish(write)
    assert store.current(NOVEL.id) == before
    assert store.verify(NOVEL.id) == []
    assert store.ids() == [NOVEL.id]
    assert sorted(p.name for p in (store.root / "books").rglob("*") if p.is_dir()) == [before, NOVEL.id]


def test_what_a_killed_process_left_is_swept_and_what_serves_is_not(store: IndexStore) -> None:
    books = store.root / "books"
    for leftover in (
        "novel/.new-1234/text.npy",
        "novel/0123456789ab-0000/text.npy",
        "unborn/.new-1/text.npy",
    ):
        (books / leftover).parent.mkdir(parents=True)
        (books / leftover).write_bytes(b"half")
    (books / "novel/.current").write_text("half")
    store.sweep()
    assert [path.name for path in books.iterdir()] == ["novel"]
    assert sorted(path.name for path in (books / "novel").iterdir()) == sorted(
        ["current", store.current(NOVEL.id)]
    )
    assert store.verify(NOVEL.id) == []


def test_what_is_left_of_shelves_and_of_merged_indexes_is_swept_and_what_is_in_hand_is_not(
    store: IndexStore,
) -> None:
    store.shelves().put("tales", ["whale"])
    merge_store(store)
    serves = store.merged()
    assert serves is not None
    shelves = store.root / "shelves"
    left = [
        shelves / ".tales.4711",
        shelves / ".gone.new",
        serves.parent / ".new-0a",
        serves.parent / ("0" * 12 + "-0a"),
    ]
    for path in left[:2]:
        path.write_text("part")
    for path in left[2:]:
        path.mkdir()
        (path / "postings.npy").write_text("part")
    (shelves / ".tales.bak").write_text("a user's own")
    with locked(shelves, ".lock", "changes the shelves"), store.claim_merged():
        assert store.collect(0) == Collected(0, 0)
    assert store.collect(0) == Collected(4, 16)
    assert not any(path.exists() for path in left)
    assert {path.name for path in shelves.iterdir()} == {".lock", ".tales.bak", "tales.json"}
    assert store.merged() == serves
    assert serves.is_dir()


def test_a_book_claimed_by_another_process_is_let_be_until_that_process_dies(store: IndexStore) -> None:
    leftover = store.root / "books" / NOVEL.id / ".new-1234"
    leftover.mkdir()
    script = (
        "import sys, time; from indexing.store import IndexStore\n"
        "with IndexStore(sys.argv[1]).claim('novel'): print('claimed', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(store.root)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parent.parent,
    )
    with other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"claimed\n"
        with pytest.raises(BlockingIOError), store.claim(NOVEL.id, wait=False):
            pass
        store.sweep()
        assert leftover.exists()
        other.kill()
    store.sweep()
    assert not leftover.exists()


def test_files_have_the_permissions_that_the_user_gives_new_files(
    settings: BuildSettings, tmp_path: Path
) -> None:
    old = os.umask(0o027)
    try:
        build_book(NOVEL, settings, IndexStore(tmp_path / "store"))
    finally:
        os.umask(old)
    for path in (tmp_path / "store").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o750 if path.is_dir() else 0o640), path


def test_a_damaged_pointer_is_refused_with_the_repair(store: IndexStore) -> None:
    pointer = store.root / "books" / NOVEL.id / "current"
    for content in (b"", b"\xff\xfe", b"no-such-build\n", b"../..\n"):
        pointer.write_bytes(content)
        with pytest.raises(IndexMismatch, match="storyqa index SOURCE --id novel --force"):
            store.open(NOVEL.id)


def test_text_of_odd_characters_is_indexed_and_found(settings: BuildSettings, tmp_path: Path) -> None:
    text = "One \U0001f40b whale. " * 200 + "\u6d77 sea " * 50
    store = IndexStore(tmp_path)
    build_book(Book("odd", "Odd", text, "odd.txt"), settings, store)
    index = store.open("odd")
    assert index.book.text == text
    assert store.verify("odd") == []
    assert index.sparse.bm25("\u6d77").argmax() == len(index.passages) - 1

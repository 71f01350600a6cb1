"""An index that is damaged, in whatever way, is refused, and hides no other book."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from novels import novel

from answering.book_qa import Ask, BookQA
from indexing.build import BookTask, BuildSettings, build_book
from indexing.build_many import build_many
from indexing.errors import IndexMismatch
from indexing.store import IndexStore

NOVEL, OTHER = novel(words=900, chapters=3), novel("other", words=700, chapters=2)
FILES = (
    *("manifest.json", "text.npy", "passages.npy", "windows.npy"),
    *("vocabulary.npy", "terms.npy", "postings.npy", "vectors.faiss"),
)
ASK = Ask(NOVEL.id, NOVEL.text[200:300], retriever="hybrid", reader="overlap")


@pytest.fixture(scope="module")
def settings(tiny_bert: Path) -> BuildSettings:
    return BuildSettings(encoder=str(tiny_bert))


@pytest.fixture(scope="module")
def built(settings: BuildSettings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two books, not to be changed."""
    root = tmp_path_factory.mktemp("store")
    for book in (NOVEL, OTHER):
        build_book(book, settings, IndexStore(root))
    return root


@pytest.fixture
def store(built: Path, tmp_path: Path) -> IndexStore:
    """A store with two books, to be changed."""
    return IndexStore(shutil.copytree(built, tmp_path / "store"))


def build_folder(store: IndexStore, id: str = NOVEL.id) -> Path:
    return store.root / "books" / id / store.current(id)


def truncated(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def flipped(content: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(content)
    damaged[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def flipped_in_its_header(content: bytes, chance: random.Random) -> bytes:
    return flipped(content[:128], chance) + content[128:]


def zeroed(content: bytes, chance: random.Random) -> bytes:
    """Zeros in place of a block that the disk has lost, as long as there was something else."""
    start = chance.randrange(len(content))
    length = min(4096, len(content) - start)
    damaged = content[:start] + bytes(length) + content[start + length :]
    return damaged if damaged != content else bytes(len(content))


def extended(content: bytes, chance: random.Random) -> bytes:
    return content + chance.randbytes(chance.randrange(1, 5000))


def shuffled(content: bytes, chance: random.Random) -> bytes:
    """Two blocks in each other's place, as long as they differ."""
    size = max(1, len(content) // 8)
    blocks = [content[at : at + size] for at in range(0, len(content), size)]
    first, second = chance.sample(range(len(blocks)), 2)
    blocks[first], blocks[second] = blocks[second], blocks[first]
    damaged = b"".join(blocks)
    return damaged if damaged != content else content[::-1]


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(truncated, flipped, flipped_in_its_header, zeroed, extended, shuffled),
)
ROUNDS = 50  # of each: with another's file, and none, 302 ways a file


def outcome(store: IndexStore, held: bool) -> object:
    """Where the book's answer lies, or that it was refused with the command that repairs it."""
    try:
        cited = BookQA(store, held=held).answer(ASK)
    except IndexMismatch as error:
        assert f"--id {NOVEL.id}" in str(error)  # noqa: PT017 - right answers are an outcome, too
        return "refused"
    assert cited.evidence is not None
    assert cited.evidence.text == NOVEL.text[cited.evidence.start : cited.evidence.end]
    return cited.text, cited.evidence.start, cited.evidence.end


@pytest.mark.parametrize("held", [True, False], ids=["by the service", "by the command line"])
@pytest.mark.parametrize("name", FILES)
def test_of_300_ways_to_damage_a_file_none_is_quoted(name: str, held: bool, store: IndexStore) -> None:
    path = build_folder(store) / name
    content = path.read_bytes()
    right = outcome(store, held)
    assert right != "refused"
    chance = random.Random(name)
    for damage in DAMAGES:
        for _ in range(ROUNDS):
            damaged = damage(content, chance)
            assert damaged != content
            path.write_bytes(damaged)
            assert outcome(store, held) in ("refused", right), damage.__name__
        assert store.verify(NOVEL.id), damage.__name__
    shutil.copyfile(build_folder(store, OTHER.id) / name, path)
    assert outcome(store, held) == "refused"
    path.unlink()
    assert outcome(store, held) == "refused"
    path.write_bytes(content)
    assert outcome(store, held) == right


def test_the_files_of_another_book_are_refused_though_they_are_whole(store: IndexStore) -> None:
    build = build_folder(store)
    shutil.rmtree(build)
    shutil.copytree(build_folder(store, OTHER.id), build)
    for held in (True, False):
        with pytest.raises(IndexMismatch, match=r"is of 'other'.*--id"):
            store.open(NOVEL.id, held)


@pytest.mark.parametrize(
    "content",
    [
        b"[" * 200_000,
        b'{"format": 1, "checksum": ' + b'{"a":' * 20_000 + b"1" + b"}" * 20_000 + b"}",
        b'{"format": 1, "checksum": ' + b"9" * 10_000 + b"}",
        b'{"format": "' + b"x" * 10_000 + b'", "checksum": ""}',
        b'{"format": 1, "checksum": "\xff"}',
        b"[]",
        b"null",
        b"",
    ],
    ids=lambda content: repr(content[:20]),
)
def test_a_file_in_place_of_the_manifest_is_refused_and_hides_no_other_book(
    content: bytes, store: IndexStore
) -> None:
    (build_folder(store) / "manifest.json").write_bytes(content)
    with pytest.raises(IndexMismatch, match="storyqa index SOURCE --id novel --force") as caught:
        store.manifest(NOVEL.id)
    assert len(str(caught.value)) < 1000
    read, damaged = store.cards()
    assert [manifest.id for manifest in read] == [OTHER.id]
    assert len(damaged) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"counts": None},
        {"counts": {}},
        {"settings": {"words": 0, "overlap": 0, "encoder": "story"}},
        {"chapters": [{"title": "I", "start": 7, "end": 7}]},
        {"files": [1]},
        {"title": 7},
        {"key": ["a"]},
    ],
    ids=str,
)
def test_a_manifest_of_other_values_is_refused_though_its_checksum_is_right(
    change: dict[str, Any], store: IndexStore
) -> None:
    path = build_folder(store) / "manifest.json"
    content = {**json.loads(path.read_text()), **change}
    del content["checksum"]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":")).encode()
    path.write_text(json.dumps({**content, "checksum": hashlib.sha256(canonical).hexdigest()}))
    with pytest.raises(IndexMismatch, match="storyqa index SOURCE --id novel --force"):
        store.open(NOVEL.id)


def test_what_else_lies_in_the_store_is_no_book_and_is_let_be(
    store: IndexStore, settings: BuildSettings
) -> None:
    others = (
        *("lost+found/current", "lost+found/#1234", "My Books/current", ".trash/x/current", ".DS_Store"),
        *("backup/notes.txt", "backup/old/text.npy", f"{NOVEL.id}/notes.txt", f"{OTHER.id}/.keep"),
    )
    for other in others:
        (store.root / "books" / other).parent.mkdir(parents=True, exist_ok=True)
        (store.root / "books" / other).write_text("what another program wrote")
    (store.root / "books" / "plain-file").write_text("of a name that a book could have")
    assert store.ids() == [NOVEL.id, OTHER.id]
    read, damaged = store.cards()
    assert ([manifest.id for manifest in read], damaged) == ([NOVEL.id, OTHER.id], [])
    [built] = build_many([BookTask("third", lambda: novel("third"))], settings, store, workers=1)
    assert built.status == "built"
    store.remove(OTHER.id)
    assert store.ids() == [NOVEL.id, "third"]
    assert all((store.root / "books" / other).exists() for other in others)


def test_a_book_whose_pointer_is_damaged_can_be_removed(store: IndexStore) -> None:
    (store.root / "books" / NOVEL.id / "current").write_bytes(b"\xff")
    store.remove(NOVEL.id)
    assert [path.name for path in (store.root / "books").iterdir()] == [OTHER.id]

"""Where a store can be, and how a build's files lie in a pack: what needs no server."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from novels import novel

from encoders.backbone import models_folder
from indexing.build import BuildSettings, build_book
from indexing.errors import IndexMismatch
from indexing.index import BookIndex
from indexing.manifest import FileRecord
from indexing.packing import PACK, pack_places, write_pack
from indexing.store import IndexStore
from indexing.store_address import BadAddress, checked_address
from indexing.stores import open_store
from service import cli
from service.settings import Settings, load_settings

NOVEL = novel(words=300)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("books", Path("books")),
        ("/srv/books", Path("/srv/books")),
        ("file:///srv/my%20books", Path("/srv/my books")),
        (Path("books"), Path("books")),
        ("~/books", Path.home() / "books"),
        ("./~/books", Path("~/books")),
        ("s3://library/novels/", "s3://library/novels"),
        ("gs://library", "gs://library"),
        ("az://library/a/b", "az://library/a/b"),
    ],
)
def test_an_address_is_a_folder_or_a_prefix_of_a_bucket(given: Path | str, meant: Path | str) -> None:
    assert checked_address(given) == meant
    assert Settings(store=given).store == meant


@pytest.mark.parametrize(
    "given",
    [
        "",
        "ftp://library/novels",
        "s3://",
        "s3:///novels",
        "file://host/books",
        "s3://key@library",
        "s3://a?b",
    ],
)
def test_what_is_no_address_is_one_line_that_says_what_is(
    given: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadAddress, match="s3://BUCKET/PREFIX"):
        open_store(given, tmp_path, 1)
    assert cli.run(["books", "--store", given]) == 2
    monkeypatch.setenv("STORYQA_STORE", given or "s3://")  # an empty variable is as one that is not set
    assert cli.run(["books"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert all(given in line and "s3://BUCKET/PREFIX" in line for line in said)


@pytest.mark.parametrize(
    "command", [["books"], ["verify"], ["gc"], ["shelves", "list"], ["index", __file__]], ids=" ".join
)
def test_a_file_is_no_store(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "book.txt"
    file.touch()
    assert cli.run([*command, "--store", str(file)]) == 2
    said = f"storyqa: {file} is a file; wanted the folder of a store, which need not exist yet\n"
    assert capsys.readouterr().err == said


def test_a_store_without_books_is_not_said_to_be_sound(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["verify", "--store", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"storyqa: {tmp_path} holds no books to check; wanted a store that has some\n"
    )


def test_folders_of_settings_may_begin_with_the_users_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("STORE", "CACHE", "STATE", "MODELS"):
        monkeypatch.setenv(f"STORYQA_{name}", f"~/{name.lower()}")
    settings = load_settings()
    assert (settings.store, settings.cache, settings.state, models_folder()) == (
        tmp_path / "store",
        tmp_path / "cache",
        tmp_path / "state",
        tmp_path / "models",
    )
    assert load_settings("~/other").store == tmp_path / "other"
    monkeypatch.setenv("STORYQA_STATE", "~no-such-user/state")
    for arguments in (["books"], ["books", "--store", "~no-such-user/store"]):
        assert cli.run(arguments) == 2
        assert "begins with no user's home" in capsys.readouterr().err
    monkeypatch.setenv("STORYQA_MODELS", "~no-such-user/models")
    assert cli.run(["models", "list"]) == 2
    assert "begins with no user's home" in capsys.readouterr().err


def test_a_bucket_without_the_extra_says_how_to_install_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "obstore", None)
    assert cli.run(["books", "--store", "s3://library/novels"]) == 2
    assert "pip install 'storyqa[s3]'" in capsys.readouterr().err


def test_files_of_a_pack_begin_at_multiples_of_64_in_the_order_of_their_names() -> None:
    files = {name: FileRecord(size, "") for name, size in {"b": 64, "a": 1, "d": 0, "c": 65}.items()}
    assert pack_places(files) == ({"a": 0, "b": 64, "c": 128, "d": 256}, 256)


def test_a_packed_build_is_opened_as_the_files_are_and_damage_is_refused(
    tiny_bert: Path, tmp_path: Path
) -> None:
    store = IndexStore(tmp_path / "store")
    manifest = build_book(NOVEL, BuildSettings(encoder=str(tiny_bert)), store).manifest
    assert manifest is not None
    folder, packed = store.folder(NOVEL.id, store.current(NOVEL.id)), tmp_path / "packed"
    packed.mkdir()
    write_pack(folder, manifest.files, packed / PACK)
    shutil.copy(folder / "manifest.json", packed)
    for held in (False, True):
        index = BookIndex(packed, NOVEL.id, held)
        assert (index.book, index.verify()) == (NOVEL, [])
        asked = np.ones((2, manifest.width), dtype=np.float32)
        assert (index.dense.scores(asked) == store.open(NOVEL.id).dense.scores(asked)).all()
        assert (index.sparse.bm25("the") == store.open(NOVEL.id).sparse.bm25("the")).all()
    content = (packed / PACK).read_bytes()
    places, size = pack_places(manifest.files)
    assert len(content) == size
    for place in places.values():
        damaged = bytearray(content)
        damaged[place] ^= 1
        (packed / PACK).write_bytes(damaged)
        with pytest.raises(IndexMismatch, match=r"--id novel --encoder .* --force"):
            BookIndex(packed, NOVEL.id)
    (packed / PACK).write_bytes(content + b"\0")
    with pytest.raises(IndexMismatch, match="pack has"):
        BookIndex(packed, NOVEL.id)


def test_a_folder_store_is_tidied_by_the_same_commands(
    tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = IndexStore(tmp_path / "store")
    build_book(NOVEL, BuildSettings(encoder=str(tiny_bert)), store)
    left = tmp_path / "store" / "books" / NOVEL.id / ".new-1234"
    left.mkdir()
    (left / "text.npy").write_bytes(b"half")
    there = ["--store", f"file://{store.root}"]
    assert cli.run(["gc", *there]) == cli.run(["catalogue", *there]) == cli.run(["verify", *there]) == 0
    assert cli.run(["copy", str(store.root), str(tmp_path / "second")]) == 0
    said = capsys.readouterr().out
    for part in ("1 deleted", "1 book listed", "1 book checked, none damaged", "1 book copied"):
        assert part in said
    assert not left.exists()
    assert IndexStore(tmp_path / "second").open(NOVEL.id).book == NOVEL

"""A full disk is called a full disk, whatever meets it, and costs no book."""

from __future__ import annotations

import errno
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import shelf
from fastapi import APIRouter
from server import problem, running, serving

from indexing.build import BuildSettings, build_book
from indexing.errors import DiskFull
from indexing.sources.fetch import save
from indexing.store import IndexStore
from service.access.api_keys import BadKeys, KeyFile, make_key
from service.app import create_app
from service.cli import run
from service.settings import Settings

ROOT = Path(__file__).parents[1]
# Runs one command line after the other, each with room for one more byte than the last one's largest file
# could have: so every file of a build is once the one that meets the full disk.
CODE = """
import resource, sys
from pathlib import Path
from service.cli import run
built, arguments = Path(sys.argv[1]), sys.argv[2:]
for size in sorted({path.stat().st_size for path in built.rglob("*") if path.is_file()}):
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size - 1, most))
    print(run(arguments))
"""


@pytest.mark.processes
def test_the_command_line_says_that_the_disk_is_full_whichever_file_meets_it(tmp_path: Path) -> None:
    source = tmp_path / "tale.txt"
    source.write_text(f"{shelf.CLOCK}\n\n{shelf.WELL}" * 3)
    arguments = ["index", str(source), "--id", "tale", "--force", "--store"]
    assert run([*arguments, str(tmp_path / "built")]) == 0
    build_book(shelf.story("well"), BuildSettings(), IndexStore(tmp_path / "store"))
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "built" / "books"), *arguments, str(tmp_path / "store")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
    )
    said = [line for line in done.stderr.splitlines() if "tale" in line]
    assert len(said) >= 8, done.stderr
    assert all("is full; make room" in line for line in said), said
    assert done.stdout.split() == ["2"] * len(said)
    assert IndexStore(tmp_path / "store").ids() == ["well"]
    assert run([*arguments, str(tmp_path / "store")]) == 0  # there is room again


def test_a_full_disk_that_a_claim_meets_is_named(tmp_path: Path) -> None:
    def write(workspace: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(DiskFull, match=f"the disk of {tmp_path} is full"), IndexStore(tmp_path).claim("tale"):
        write(tmp_path)


def test_a_full_disk_that_any_call_meets_is_a_507(tmp_path: Path) -> None:
    app = create_app(Settings(store=tmp_path, retriever="bm25", reader="overlap"))
    router = APIRouter()

    @router.get("/full")
    def full() -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    app.include_router(router)
    with running(app) as url:
        content = problem(httpx.get(f"{url}/full"), 507)
    assert content["type"] == "urn:storyqa:problem:no-room"


@contextmanager
def full_disk() -> Iterator[None]:
    """No byte more fits into any file meanwhile."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_full_disk_that_a_shelf_meets_is_a_507_that_leaves_nothing_and_names_no_place(
    tmp_path: Path,
) -> None:
    with serving(Settings(store=tmp_path, retriever="bm25", reader="overlap")) as client:
        client.put("/shelves/tales", json={"books": [], "title": "Tales"}).raise_for_status()
        with full_disk():
            refused = client.put("/shelves/tales", json={"books": []})
        content = problem(refused, 507)
        assert client.get("/shelves/tales").json()["title"] == "Tales"
    assert content["type"] == "urn:storyqa:problem:no-room"
    assert str(tmp_path) not in refused.text
    assert sorted(path.name for path in (tmp_path / "shelves").iterdir()) == [".lock", "tales.json"]


@pytest.mark.parametrize(
    "command",
    [
        ["evaluate", "natural", "--data", "nowhere", "--out", "new/out.json"],
        ["train", "span", "--data", "nowhere", "--out", "new"],
        ["index", __file__, "--report", "new/bad.jsonl"],
    ],
    ids=lambda command: str(command[0]),
)
def test_a_full_disk_that_a_place_to_write_to_meets_is_no_wrong_place(
    command: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def no_room(path: Path, *_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "mkdir", no_room)
    assert run(command) == 1
    said = capsys.readouterr().err
    assert said.startswith("storyqa: the disk is full (")
    assert "make room and run the same command again" in said


def test_a_key_that_has_no_room_leaves_nothing(tmp_path: Path) -> None:
    file = KeyFile(tmp_path / "keys.json")
    with full_disk(), pytest.raises(BadKeys, match="File too large"):
        file.add(make_key("one", "read")[1])
    assert {path.name for path in tmp_path.iterdir()} <= {"keys.lock"}


def test_a_fetched_book_that_has_no_room_leaves_nothing(tmp_path: Path) -> None:
    with full_disk(), pytest.raises(OSError, match="File too large"):
        save(tmp_path / "1.txt", b"text")
    assert list(tmp_path.iterdir()) == []

"""The command line for people who are new to it: what they type almost right, and what they wait for."""

from __future__ import annotations

import io
import json
import os
import pty
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import shelf
from chat_server import chatting, parrot
from test_cli import QUICK, ROOT, STORYQA, Run, storyqa

from answering.ask import Ask
from answering.book_qa import BookQA
from encoders.errors import ModelError
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.errors import SourceError, UnknownBook
from indexing.formats.media_type import media_of
from indexing.store import IndexStore
from readers.errors import EndpointError
from service.cli import run

__all__ = ["storyqa"]  # a fixture

BOOK, QUESTION = shelf.QUESTIONS[2]
PROSE = "The gull sat on the weir. " * 40


def test_a_book_may_be_called_by_how_only_its_id_begins(storyqa: Run, shelf_store: IndexStore) -> None:
    short = next(BOOK[:n] for n in range(1, 9) if sum(i.startswith(BOOK[:n]) for i in shelf_store.ids()) == 1)
    assert json.loads(storyqa("show", short, "--json"))["id"] == BOOK
    for command in ("ask", "search"):
        quick = QUICK if command == "ask" else QUICK[:2]
        of_short, of_full = (
            json.loads(storyqa(command, book, QUESTION, *quick, "--json")) | {"timings_ms": None}
            for book in (short.upper(), BOOK)
        )
        assert of_short == of_full
    assert "1 book checked" in storyqa("verify", short)
    # To remove a book takes its whole id, which is told.
    assert f"did you mean {BOOK}?" in storyqa("remove", short, code=2)


def test_the_ids_that_begin_alike_are_told_where_several_do(tmp_path: Path) -> None:
    for id in ("gull", "gull-and-weir-of-the-old-miller", "heron"):
        (tmp_path / "books" / id).mkdir(parents=True)
        (tmp_path / "books" / id / "current").write_text("build")
    store = IndexStore(tmp_path)
    assert store.full_id("gull") == "gull"  # an id in full is no beginning
    assert store.full_id("h") == "heron"
    with pytest.raises(UnknownBook, match="did you mean gull or gull-and-weir-of-the-old-miller") as raised:
        store.current("gul")
    assert raised.value.near == ("gull", "gull-and-weir-of-the-old-miller")
    with pytest.raises(UnknownBook, match="did you mean gull-and-weir-of-the-old-miller"):
        store.current("Gull and Weir")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "shelf"
    folder.mkdir()
    (folder / "gull.txt").write_text(PROSE)
    (folder / "paper.djvu").write_bytes(b"\x89PNG x")
    (folder / "tale.azw1").write_bytes(b"TPZ0")
    (folder / "untitled").write_text(PROSE)
    (folder / ".hidden").write_text(PROSE)
    return folder


def test_files_of_a_folder_that_are_passed_over_are_named_and_why(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["index", str(folder), "--store", str(tmp_path / "store")]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("gull: ")
    picture, kindle, unnamed = captured.err.splitlines()
    assert f"{folder / 'paper.djvu'}: passed over: paper.djvu is a picture" in picture
    assert "Kindle book" in kindle
    assert "name it by itself" in unnamed
    assert run(["index", str(folder / "untitled"), "--store", str(tmp_path / "store"), "--json"]) == 0
    assert [one["status"] for one in json.loads(capsys.readouterr().out)] == ["built"]


def test_machines_are_told_of_files_that_are_passed_over(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["index", str(folder), "--store", str(tmp_path / "store"), "--json"]) == 0
    records = json.loads(capsys.readouterr().out)
    told = {Path(one["name"]).name: one["status"] for one in records}
    assert told == dict.fromkeys(("paper.djvu", "tale.azw1", "untitled"), "ignored") | {"gull.txt": "built"}
    assert all(one["message"] for one in records if one["status"] == "ignored")


@pytest.mark.parametrize("store", ["store", "."])
def test_what_storyqa_keeps_in_a_folder_of_books_is_neither_indexed_nor_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], store: str
) -> None:
    for name in ("paper.djvu", "tale.azw1", "untitled"):
        (folder / name).unlink()
    monkeypatch.setenv("STORYQA_CACHE", str(folder / "kept" / "cache"))
    monkeypatch.setenv("STORYQA_STATE", str(folder / "kept" / "state"))
    for own in ("cache/gutenberg", "state/uploads"):
        (folder / "kept" / own).mkdir(parents=True)
        (folder / "kept" / own / "1.txt").write_text(PROSE + own)
    (folder / "kept" / "heron.txt").write_text(PROSE + "The heron left.")
    monkeypatch.chdir(folder)
    for status in ("built", "skipped"):
        assert run(["index", ".", "--store", store, "--workers", "1", "--json"]) == 0
        captured = capsys.readouterr()
        told = {record["id"]: record["status"] for record in json.loads(captured.out)}
        assert (told, captured.err) == ({"gull": status, "heron": status}, "")
        assert run(["shelves", "create", status, "gull", "--store", store]) == 0
        capsys.readouterr()
    for book in (folder / "gull.txt", folder / "kept" / "heron.txt"):
        book.unlink()
    assert run(["index", ".", "--store", store]) == 2
    assert f"{folder} holds no books; wanted files" in capsys.readouterr().err


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_book_may_come_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    index = ["index", "-", "--title", "The Gull's Weir", "--store", str(tmp_path), "--json"]
    for prose, status in ((PROSE, "built"), (PROSE, "skipped"), (PROSE * 2, "built")):
        piped(monkeypatch, prose.encode())
        assert run(index) == 0
        [record] = json.loads(capsys.readouterr().out)
        assert (record["id"], record["title"], record["status"]) == (
            "the-gulls-weir",
            "The Gull's Weir",
            status,
        )
    assert run(["index", "-", "--store", str(tmp_path)]) == 2
    assert "give it one with --id or --title" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["ask", "search"])
def test_a_question_may_come_from_standard_input(
    storyqa: Run, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    quick = QUICK if command == "ask" else QUICK[:2]
    piped(monkeypatch, f"{QUESTION}\n".encode())
    from_input, typed = (
        json.loads(storyqa(command, BOOK, question, *quick, "--json")) | {"timings_ms": None}
        for question in ("-", QUESTION)
    )
    assert from_input == typed
    for data, said in ((b" \n", "question is empty"), (b"Who?\xff", "Unicode")):
        piped(monkeypatch, data)
        assert said in storyqa(command, BOOK, "-", *quick, code=2)


@pytest.mark.parametrize("first", ["[Content_Types].xml", "mimetype"])
def test_who_has_a_table_or_slides_of_an_office_program_is_told_to_save_them_as_text(
    tmp_path: Path, first: str
) -> None:
    path = tmp_path / "gull.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(first, "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("xl/workbook.xml", "<workbook/>")
    with pytest.raises(SourceError, match=r"save it as DOCX or as text \(\.txt\)"):
        media_of("gull.xlsx", path.read_bytes())


@pytest.mark.shipped
def test_the_demo_takes_the_place_of_another_checkouts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in zip(("STORYQA_RETRIEVER", "STORYQA_READER"), QUICK[1::2], strict=True):
        monkeypatch.setenv(name, value)
    id = "weigher-of-sandry-quay"
    build_book(
        Book(id, "An Older Sample", PROSE, "/other/checkout.txt"), BuildSettings(), IndexStore(tmp_path)
    )
    assert run(["demo", "--store", str(tmp_path)]) == 0
    assert "The Weigher of Sandry Quay" in capsys.readouterr().out


def nobody() -> str:
    """An address of this machine at which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"http://127.0.0.1:{listening.getsockname()[1]}"


def test_a_chat_endpoint_that_is_down_is_told_before_the_book_is_searched(
    storyqa: Run, shelf_store: IndexStore
) -> None:
    reader = f"chat:{nobody()}/v1@model=x"
    # The retriever loads models, but not this one, which there is none of.
    said = storyqa("ask", BOOK, QUESTION, "--reader", reader, code=2)
    assert "cannot be reached (Connection refused)" in said
    with pytest.raises(EndpointError):
        BookQA(shelf_store).reach(Ask(BOOK, QUESTION, reader=reader))


def test_a_folder_without_the_reader_s_model_is_told_before_the_book_is_searched(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=r"bidaf.safetensors does not exist"):
        BookQA(shelf_store).reach(Ask(BOOK, QUESTION, reader=f"bidaf:{tmp_path}"))


def test_readers_that_answer_in_this_process_or_somewhere_can_be_reached(shelf_store: IndexStore) -> None:
    qa = BookQA(shelf_store)
    qa.reach(Ask(BOOK, QUESTION, reader="overlap"))
    with chatting(parrot) as server:
        qa.reach(Ask(BOOK, QUESTION, reader=f"chat:{server.url}@model=x"))


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_shells_can_complete_the_commands(shell: str) -> None:
    environment = os.environ | {"_STORYQA_COMPLETE": f"complete_{shell}", "COMP_WORDS": "storyqa ver"}
    environment |= {"COMP_CWORD": "1", "_TYPER_COMPLETE_ARGS": "storyqa ver"}
    done = subprocess.run(STORYQA, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "verify" in done.stdout


@pytest.mark.processes
def test_work_that_says_nothing_for_two_seconds_shows_that_it_goes_on() -> None:
    program = (
        "import time\nfrom terminal.progress import ProgressBars\n"
        "with ProgressBars('looking for books'): time.sleep(2.5)"
    )
    ours, theirs = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
    os.close(ours)
    assert process.returncode == 0
    assert b"looking for books" in shown


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 2**16)
    except OSError:  # Linux's way to say that the other end is closed
        return b""

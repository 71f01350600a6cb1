"""Lists of books: each format is read alike, each book lies in one part, and a part goes on where it was."""

from __future__ import annotations

import csv
import json
import os
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from novels import novel

from indexing.book import Book
from indexing.build import BookTask, BuildSettings, failed
from indexing.build_many import build_one
from indexing.errors import NotWritable, SourceError, StoreUnreachable
from indexing.sources.book_list import Row, Shard, read_rows
from indexing.store import IndexStore
from service.cli import run
from text.errors import StoryQAError

ROOT = Path(__file__).parents[1]
STORYQA = [sys.executable, "-c", "from service.cli import main; main()"]
PATIENCE_S = 300
ROWS: list[dict[str, Any]] = [
    {"path": "whale.txt", "id": "moby", "title": "The Whale"},
    {"path": "deep/Well.epub", "id": None, "title": None},
    {"path": "gutenberg:1342", "id": None, "title": None},
    {"path": None, "id": "lost", "title": None},
    {"path": "https://books.example/gull.html", "id": None, "title": 'A Gull, "flying"'},
]


def write(file: Path, rows: list[dict[str, Any]]) -> Path:
    """The rows as a list in the format that the file's name says."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.suffix == ".parquet":
        pyarrow = pytest.importorskip("pyarrow", reason="the extra cluster is not installed")
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), file)
    elif file.suffix == ".csv":
        with file.open("w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
    else:
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


@pytest.mark.parametrize("suffix", ["parquet", "csv", "jsonl"])
def test_a_list_is_read_alike_in_every_format(tmp_path: Path, suffix: str) -> None:
    file = write(tmp_path / f"books.{suffix}", ROWS)
    assert list(read_rows(file)) == [
        Row(1, str(tmp_path / "whale.txt"), "moby", "The Whale"),
        Row(2, str(tmp_path / "deep" / "Well.epub"), "well"),
        Row(3, "gutenberg:1342", "gutenberg-1342"),
        Row(4, "", "lost", None, "row 4 has no path; wanted a file or an address"),
        Row(5, "https://books.example/gull.html", "gull", 'A Gull, "flying"'),
    ]


def test_rows_that_are_none_and_ids_given_twice_are_said_and_stop_nothing(tmp_path: Path) -> None:
    file = tmp_path / "books.jsonl"
    file.write_text('{"path": "a/tale.txt"}\n{"path": "b/tale.txt"}\nnonsense\n[1]\n{"path": "c.txt"}\n')
    rows = list(read_rows(file))
    assert [row.number for row in rows] == [1, 2, 3, 4, 5]
    assert [row.problem is None for row in rows] == [True, False, False, False, True]
    assert "row 2 has the id 'tale' of row 1" in str(rows[1].problem)
    assert "row 3 is no JSON object" in str(rows[2].problem)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("books.txt", b"path\n", "ends in .parquet, .csv, .jsonl"),
        ("books.csv", b"file,id\na.txt,a\n", "no column 'path'.*'file', 'id'"),
        ("books.csv", b"path\n\xff\xfe\n", "UTF-8"),
        ("books.parquet", b"no parquet", "cannot be read"),
        ("missing.csv", None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_list_is_refused(
    tmp_path: Path, name: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=said):
        list(read_rows(tmp_path / name))


def test_every_book_is_in_one_part_wherever_it_stands_in_the_list(tmp_path: Path) -> None:
    rows = [{"path": f"{number}.txt"} for number in range(400)]
    there = write(tmp_path / "there.jsonl", rows)
    back = write(tmp_path / "back.jsonl", [{"path": "new.txt"}, *reversed(rows)])
    parts = [{row.id for row in read_rows(there, Shard(number, 8))} for number in range(8)]
    assert sorted(id for part in parts for id in part if id) == sorted(str(number) for number in range(400))
    assert all(30 < len(part) < 70 for part in parts)  # 50 expected of each, standard deviation 6.6
    for number, part in enumerate(parts):
        assert {row.id for row in read_rows(back, Shard(number, 8))} - {"new"} == part


def test_rows_with_one_id_meet_in_one_part(tmp_path: Path) -> None:
    rows = [{"path": f"{folder}/tale-{number}.txt"} for number in range(40) for folder in "ab"]
    file = write(tmp_path / "books.jsonl", rows)
    found = [row for number in range(8) for row in read_rows(file, Shard(number, 8))]
    assert len(found) == 80
    assert sum(row.problem is None for row in found) == 40


@pytest.mark.parametrize("text", ["8/8", "1", "-1/8", "0/0", "1/x", "1.5/2"])
def test_parts_that_there_are_not_are_refused(text: str) -> None:
    with pytest.raises(StoryQAError, match="I from 0 to N - 1"):
        Shard.parse(text)


def test_a_book_that_was_indexed_is_known_without_being_read(tiny_bert: Path, tmp_path: Path) -> None:
    def must_not_be_read() -> Book:
        raise AssertionError

    store, settings = IndexStore(tmp_path), BuildSettings(encoder=str(tiny_bert))
    book = replace(novel("tale", words=50), source_key="as it was")
    assert build_one(BookTask("tale", lambda: book), settings, store).status == "built"
    known = BookTask("tale", must_not_be_read, "tale", lambda: "as it was")
    assert build_one(known, settings, store).status == "skipped"
    changed = BookTask("tale", must_not_be_read, "tale", lambda: "changed")
    assert build_one(changed, settings, store).message.startswith("AssertionError")
    assert build_one(known, BuildSettings(100, encoder=str(tiny_bert)), store).status == "failed"
    assert build_one(known, settings, store, force=True).status == "failed"


def library(folder: Path, books: int, words: int) -> Path:
    """A list of so many texts in the folder, every fourth row of which leads to no book."""
    rows: list[dict[str, Any]] = []
    folder.mkdir(exist_ok=True)
    for number in range(books):
        (folder / f"tale-{number}.txt").write_text(novel(words=words, seed=number).text, "utf-8")
        rows.append({"path": f"tale-{number}.txt"})
        if number % 3 == 2:
            rows.append({"path": f"nowhere-{number}.txt"})
    return write(folder / "books.csv", rows)


def builds(store: IndexStore) -> dict[str, Any]:
    """What each book of the store is, its files by their hashes; when each was built is left out."""
    return {id: (store.manifest(id).key, store.manifest(id).files) for id in store.ids()}


def test_parts_put_all_books_into_the_store_and_the_bad_ones_into_reports(
    tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = library(tmp_path / "library", books=9, words=60)
    options = ["--encoder", str(tiny_bert), "--store", str(tmp_path / "store"), "--workers", "1"]
    bad = []
    for part in ("0/3", "1/3", "2/3", "2/3"):
        report = tmp_path / "reports" / f"{part[0]}.jsonl"
        code = run(["index", "--manifest", str(file), "--shard", part, "--report", str(report), *options])
        lines = [json.loads(line) for line in report.read_text("utf-8").splitlines()]
        assert code == (3 if lines else 0)
        bad += lines
    assert {line["id"] for line in bad} == {"nowhere-2", "nowhere-5", "nowhere-8"}
    assert all(line["status"] == "failed" and "does not exist" in line["message"] for line in bad)
    assert IndexStore(tmp_path / "store").ids() == [f"tale-{number}" for number in range(9)]
    capsys.readouterr()
    assert run(["index", "--manifest", str(file), "--json", *options]) == 3
    told = json.loads(capsys.readouterr().out)
    assert [one["status"] for one in told] == ["skipped", "skipped", "skipped", "failed"] * 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--shard", "0/2", "book.txt"], "--shard is for a list of books; name one with --manifest"),
        (["--ray", "local", "book.txt"], "--ray is for a list of books; name one with --manifest"),
        (["--manifest", "books.csv", "book.txt"], "leave PATH"),
        (["--manifest", "books.csv", "--id", "one"], "leave PATH"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["index", *arguments]) == 2
    assert said in capsys.readouterr().err


def test_a_store_that_does_not_answer_is_no_bad_book() -> None:
    task = BookTask("tale", lambda: novel("tale"))
    assert failed(task, None, StoreUnreachable("no answer")).transient
    for of_the_book in (SourceError("no book"), NotWritable("its folder is a file")):
        assert not failed(task, None, of_the_book).transient


@pytest.mark.processes
def test_a_full_disk_ends_the_part_and_is_no_bad_book(tmp_path: Path) -> None:
    file = library(tmp_path / "library", books=2, words=600)
    report = tmp_path / "report.jsonl"
    command = [*STORYQA, "index", "--manifest", str(file), "--workers", "1", "--report", str(report)]
    command += ["--store", str(tmp_path / "store")]

    def no_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    full = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, preexec_fn=no_room)
    assert (full.returncode, report.read_text()) == (1, "")
    assert "the disk" in full.stderr
    assert "the same command goes on" in full.stderr
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    assert len(IndexStore(tmp_path / "store").ids()) == 2


@pytest.mark.processes
def test_a_part_that_is_killed_again_and_again_ends_as_one_that_was_let_be(tmp_path: Path) -> None:
    file = library(tmp_path / "library", books=8, words=400)
    options = ["index", "--manifest", str(file), "--shard", "0/2"]
    one_thread = os.environ | {"OMP_NUM_THREADS": "1"}  # vectors differ in their last digits with more
    undisturbed, killed = IndexStore(tmp_path / "undisturbed"), IndexStore(tmp_path / "killed")
    code = subprocess.run(
        [*STORYQA, *options, "--workers", "1", "--store", str(undisturbed.root)],
        cwd=ROOT,
        env=one_thread,
        capture_output=True,
    ).returncode
    report = tmp_path / "report.jsonl"
    command = [*STORYQA, *options, "--workers", "1", "--store", str(killed.root), "--report", str(report)]
    kept: dict[str, str] = {}
    for already in (1, 3):
        with subprocess.Popen(
            command, cwd=ROOT, env=one_thread, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process:
            deadline = time.monotonic() + PATIENCE_S
            while len(killed.ids()) < already and process.poll() is None:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            process.kill()
        assert kept.items() <= killed.builds().items()
        kept = killed.builds()
    last = subprocess.run([*command, "--json"], cwd=ROOT, env=one_thread, capture_output=True, text=True)
    statuses = {one["id"]: one["status"] for one in json.loads(last.stdout)}
    assert {id for id, status in statuses.items() if status == "skipped"} >= kept.keys()
    assert last.returncode == code
    assert builds(killed) == builds(undisturbed)
    assert len(builds(killed)) > 4
    assert kept.items() <= killed.builds().items()
    bad = {line["id"] for line in map(json.loads, report.read_text("utf-8").splitlines())}
    assert bad == {id for id, status in statuses.items() if status == "failed"}

"""Who is in a book: on the command line and over HTTP; the tagger of clozes, whole and missing."""

from __future__ import annotations

import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from server import problem, serving

from encoders import tagging
from encoders.errors import ModelError
from indexing.book import Book
from indexing.build import BookTask
from indexing.build_many import build_many
from indexing.characters import named, persons
from indexing.kept_rows import MOST_BYTES, MOST_FILES, kept
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from indexing.tagged_book import sentences_of
from service.cli import run
from service.client import Client
from service.settings import Settings

TEXT = (
    "On Monday Miss Mary Turner left London, and nobody saw Mary Turner go. The museum, Miss Turner said, "
    "had paid for her. In Paris she met old Peter Brown, who works in London. Mr. Brown had never seen "
    "Paris, and laughed at Peter Brown in the glass."
)
MARY = ("Miss Mary Turner", "Mary Turner", "Miss Turner")


def test_persons_are_listed_by_how_often_they_are_named(tmp_path: Path) -> None:
    found = persons(named(TEXT, tmp_path))
    assert [(one.name, one.aliases) for one in found] == [
        ("Miss Mary Turner", ("Mary Turner", "Miss Turner")),
        ("Peter Brown", ("Mr. Brown",)),
    ]
    assert [[TEXT[start:end] for start, end in one.places] for one in found] == [
        [*MARY],
        ["Peter Brown", "Mr. Brown", "Peter Brown"],
    ]


def test_what_was_found_is_kept_and_is_the_same_again(tmp_path: Path) -> None:
    found = named(TEXT, tmp_path)
    [file] = (tmp_path / "names").iterdir()
    assert named(TEXT, tmp_path) == found
    file.write_text("[", encoding="utf-8")  # damaged
    assert named(TEXT, tmp_path) == found
    assert named("", tmp_path) == []


def old_files(folder: Path, count: int, size: int = 1) -> list[Path]:
    """Files that nobody has read for ages, the oldest first."""
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{number:05}.jsonl" for number in range(count)]
    for number, path in enumerate(paths):
        path.touch()
        os.truncate(path, size)  # which takes no room
        os.utime(path, (number, number))
    return paths


def test_so_much_is_kept_and_what_was_not_read_for_longest_goes(tmp_path: Path) -> None:
    folder = tmp_path / "names"
    named(TEXT, tmp_path)
    [kept_first] = folder.iterdir()
    os.utime(kept_first, (0, 0))
    old = old_files(folder, MOST_FILES)
    for end in range(20, 30):
        named(TEXT, tmp_path)  # which is read again and again
        named(TEXT[:end], tmp_path)
        assert len(list(folder.iterdir())) == MOST_FILES
    assert kept_first.exists()
    assert [path.exists() for path in (old[0], old[10], old[11], old[-1])] == [False, False, True, True]


def test_files_that_are_large_are_fewer(tmp_path: Path) -> None:
    old = old_files(tmp_path / "names", 4, MOST_BYTES // 2)
    named(TEXT, tmp_path)
    assert [path.exists() for path in old] == [False, False, False, True]
    assert len(list((tmp_path / "names").iterdir())) == 2


def test_who_keeps_something_at_the_same_time_is_not_in_the_way(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    old_files(tmp_path, MOST_FILES)

    def rows(number: int) -> list[Any]:
        return kept(tmp_path / f"new-{number}.jsonl", lambda: [number])

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(rows, range(64))) == [[number] for number in range(64)]
    assert caplog.text == ""
    assert len(list(tmp_path.iterdir())) <= MOST_FILES
    assert all((tmp_path / f"new-{number}.jsonl").exists() for number in range(64))


def test_nobody_is_known_who_comes_later(tmp_path: Path) -> None:
    [early] = persons(named(TEXT[: TEXT.index("In Paris")], tmp_path))
    assert (early.name, len(early.places)) == ("Miss Mary Turner", 3)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    """A store that holds the museum's story."""
    store = IndexStore(tmp_path_factory.mktemp("museum"))
    book = Book("museum", "The museum", TEXT, "museum.txt")
    [done] = build_many([BookTask("museum", lambda: book)], BuildSettings(), store, 1)
    assert done.status == "built", done.message
    return store


def test_the_command_and_the_call_list_the_same(
    store: IndexStore, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_CACHE", str(tmp_path))
    assert run(["characters", "museum", "--store", str(store.root), "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    settings = Settings(store=store.root, cache=tmp_path, retriever="bm25", reader="overlap")
    with serving(settings) as client:
        assert client.get("/books/museum/characters").json() == printed
        early = client.get("/books/museum/characters", params={"before": "50%"}).json()
        content = problem(client.get("/books/museum/characters", params={"before": "half"}), 422)
        assert content["errors"][0]["pointer"] == "query/before"
        assert problem(client.get("/books/muse/characters"), 404)["near"] == ["museum"]
        with Client(str(client.base_url)) as ours:
            assert [one.model_dump(mode="json") for one in ours.characters("museum", before="50%")] == early
    assert [one["name"] for one in printed] == [MARY[0], "Peter Brown"]
    assert [one["count"] for one in early] == [3]
    starts = [TEXT.index(words) for words in ("Miss Mary", "Mary Turner go", "Miss Turner")]
    places = [(start, start + len(name)) for start, name in zip(starts, MARY, strict=True)]
    first, last = (
        {
            "start": start,
            "end": end,
            "percent": round(100 * start / len(TEXT), 1),
            "chapter": None,
            "page": None,
        }
        for start, end in (places[0], places[-1])
    )
    assert printed[0] == {
        "name": MARY[0],
        "aliases": list(MARY[1:]),
        "count": 3,
        **first,
        "last": last,
        "places": [list(place) for place in places],
    }


def test_without_the_extra_one_line_says_so(
    store: IndexStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    monkeypatch.setitem(sys.modules, "nltk.tokenize", None)
    tagging.load_tagger.cache_clear()
    asked = {"book_id": "museum", "question": "____ laughed at Peter Brown.", "reader": "cloze-frames"}
    settings = Settings(
        store=store.root, cache=tmp_path, retriever="bm25", reader="overlap", readers=("cloze-frames",)
    )
    with serving(settings) as client:
        content = problem(client.post("/answer", json=asked), 501)
    assert "pip install 'storyqa[cloze]'" in content["detail"]
    assert "\n" not in content["detail"]
    with pytest.raises(tagging.MissingTagger, match=r"nltk.*pip install 'storyqa\[cloze\]'"):
        list(sentences_of(TEXT))


def test_another_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ner").mkdir()
    (tmp_path / "ner" / "model").write_bytes(b"other weights")
    with pytest.raises(ModelError, match=r"is not en_core_web_sm 3\.8\.0 \(SHA-256 of its parts"):
        tagging.check_model(tmp_path)

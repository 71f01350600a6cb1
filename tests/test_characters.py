"""Who is in a book: on the command line, over HTTP, and where what finds names is not installed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from server import problem, serving

from encoders import tagging
from encoders.errors import ModelError
from indexing.book import Book
from indexing.build import BookTask
from indexing.build_many import build_many
from indexing.characters import characters, find_names, names_until
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from service.cli import run
from service.client import Client
from service.settings import Settings

TEXT = (
    "Mary Turner left London on Monday. The museum, Mrs. Turner said, had paid for her. In Paris she met "
    "Peter Brown, who works for Google. Mr. Brown had never seen London. Mary Turner laughed at him."
)


@pytest.fixture
def book() -> Book:
    return Book("museum", "The museum", TEXT, "museum.txt")


def test_persons_are_listed_by_how_often_they_are_named(book: Book, tmp_path: Path) -> None:
    found = characters(TEXT, find_names(book, tmp_path))
    assert [(one.name, one.aliases, len(one.places)) for one in found] == [
        ("Mary Turner", ("Turner",), 3),
        ("Peter Brown", ("Brown",), 2),
    ]
    assert [[TEXT[start:end] for start, end in one.places] for one in found] == [
        ["Mary Turner", "Turner", "Mary Turner"],
        ["Peter Brown", "Brown"],
    ]


def test_nobody_is_known_who_comes_later(book: Book, tmp_path: Path) -> None:
    names = find_names(book, tmp_path)
    [early] = characters(TEXT, names_until(book, names, TEXT.index("In Paris")))
    assert (early.name, len(early.places)) == ("Mary Turner", 2)
    assert names_until(book, names, 0) == []
    assert names_until(book, names, None) == names


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
    assert [one["name"] for one in printed] == ["Mary Turner", "Peter Brown"]
    assert [one["count"] for one in early] == [2]
    assert printed[0] == {
        "name": "Mary Turner",
        "aliases": ["Turner"],
        "count": 3,
        "start": 0,
        "end": 11,
        "chapter": None,
        "page": None,
        "percent": 0.0,
        "last": {
            "start": TEXT.rindex("Mary Turner"),
            "end": TEXT.rindex("Mary Turner") + 11,
            "chapter": None,
            "page": None,
            "percent": round(100 * TEXT.rindex("Mary Turner") / len(TEXT), 1),
        },
        "places": [
            [start, start + len(name)]
            for start, name in (
                (0, "Mary Turner"),
                (TEXT.index("Turner said"), "Turner"),
                (TEXT.rindex("Mary Turner"), "Mary Turner"),
            )
        ],
    }


@pytest.mark.parametrize("missing", ["spacy", "nltk.tokenize"])
def test_without_the_extra_one_line_says_so(
    missing: str, store: IndexStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    tagging.load_tagger.cache_clear()
    with serving(Settings(store=store.root, cache=tmp_path, retriever="bm25", reader="overlap")) as client:
        content = problem(client.get("/books/museum/characters"), 501)
    assert "pip install 'storyqa[cloze]'" in content["detail"]
    assert "\n" not in content["detail"]


def test_another_model_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ner").mkdir()
    (tmp_path / "ner" / "model").write_bytes(b"other weights")
    with pytest.raises(ModelError, match=r"is not en_core_web_sm 3\.8\.0 \(SHA-256 of its parts"):
        tagging.check_model(tmp_path)

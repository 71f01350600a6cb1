"""Facts of a book: by command, call and library; each with its place, and what is not said listed so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from server import problem, serving

from answering.book_qa import BookQA
from answering.facts import BOOK_PROPERTIES, FactFinder
from indexing.book import Book, Chapter
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from service.cli import run
from service.client import Client
from service.local_library import Library
from service.settings import Settings

HEAD = """THE WEIGHER OF VELL

A Novel

by Odo Marsh

First published in 1897

"""
FIRST = """I. The Scales

Lisbet Corrow kept the scales at Vell. Everybody in Vell knew Lisbet Corrow, and Lisbet told nobody what a
sack had weighed. “Good morning, Lisbet,” said Mr. Thorne the ferryman. Lisbet Corrow, the weigher, said that
it was one. Mr. Thorne had come from Quill to Vell with a letter. Lisbet read it twice, and Mr. Thorne waited.

"""
SECOND = """II. The Letter

When Lisbet married Gallus in Quill, Gallus came to live in Vell. So Gallus and Lisbet lived in Vell until the
spring, and Gallus, a baker, baked for Vell. Mr. Thorne said that Gallus was welcome.
"""
TEXT = HEAD + FIRST + SECOND
LIMIT = len(HEAD + FIRST)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    made = IndexStore(tmp_path_factory.mktemp("vell"))
    chapters = (Chapter("I. The Scales", len(HEAD), LIMIT), Chapter("II. The Letter", LIMIT, len(TEXT)))
    book = Book("weigher", "The Weigher of Vell", TEXT, "weigher.txt", chapters, author="Odo Marsh")
    build_book(book, BuildSettings(words=40), made)
    plain = Book("reeds", "Reeds", "nothing is said here of anybody. " * 9, "reeds.txt")
    build_book(plain, BuildSettings(words=40), made)
    return made


@pytest.fixture
def finder(store: IndexStore, tmp_path: Path) -> FactFinder:
    return FactFinder(BookQA(store), tmp_path, "bm25", "overlap")


@pytest.fixture(scope="module")
def http(store: IndexStore, tmp_path_factory: pytest.TempPathFactory) -> Any:
    cache = tmp_path_factory.mktemp("cache")
    with serving(Settings(store=store.root, cache=cache, retriever="bm25", reader="overlap")) as client:
        yield client


def values(told: Any) -> dict[str, list[str]]:
    """The values that are taken for ones, by property."""
    return {
        fact["property"] if fact["of"] is None else f"{fact['property']} of {fact['of']}": [
            one["text"] for one in fact["values"] if one["answerable"]
        ]
        for fact in told["facts"]
    }


def test_all_facts_are_told_with_their_places_in_the_books_own_text(http: httpx.Client) -> None:
    told = http.get("/books/weigher/facts").raise_for_status().json()
    found = values(told)
    assert [*found][: len(BOOK_PROPERTIES)] == [*BOOK_PROPERTIES]
    assert found["title"] == ["The Weigher of Vell"]
    assert found["author"] == ["Odo Marsh"]
    assert found["first published"] == ["1897"]
    assert found["genre"] == ["novel"]
    assert found["narrative location"][0] == "Vell"
    assert set(found["main characters"]) == {"Lisbet Corrow", "Mr. Thorne", "Gallus"}
    assert {f"{name} of Gallus" for name in ("occupation", "spouse", "parents", "residence")} <= set(found)
    assert found["occupation of Gallus"] == ["baker"]
    assert found["spouse of Gallus"] == ["Lisbet"]
    assert found["spouse of Lisbet Corrow"] == ["Gallus"]
    places = [one["evidence"] for fact in told["facts"] for one in fact["values"] if one["evidence"]]
    assert places
    for place in places:
        assert TEXT[place["start"] : place["end"]] == place["text"]
        assert TEXT[place["sentence_start"] : place["sentence_end"]] == place["sentence"]
    [lisbet] = [one for one in fact_of(told, "main characters") if one["text"] == "Lisbet Corrow"]
    assert (lisbet["aliases"], lisbet["mentions"]) == (["Lisbet"], TEXT.count("Lisbet"))


def fact_of(told: Any, property: str) -> list[Any]:
    return [one for fact in told["facts"] if fact["property"] == property for one in fact["values"]]


def test_what_is_not_said_is_listed_as_not_said(finder: FactFinder, store: IndexStore) -> None:
    found = finder.find(store.open("reeds"), None)
    assert set(found.not_said) == {*BOOK_PROPERTIES, *("occupation", "spouse", "parents", "residence")} - {
        "title",  # which its file states
        *("occupation", "spouse", "parents", "residence"),  # of nobody
    }
    [title] = found.facts[0].values
    assert (title.text, title.evidence, title.source) == ("Reeds", None, "file")


def test_of_what_lies_behind_the_limit_nothing_is_told(finder: FactFinder, store: IndexStore) -> None:
    index = store.open("weigher")
    for limit in (0, 5, len(HEAD), LIMIT):
        found = finder.find(index, limit, [*BOOK_PROPERTIES, "spouse", "baker of Vell"])
        assert "Gallus" not in str(found)
        ends = [one.evidence.end for fact in found.facts for one in fact.values if one.evidence]
        assert all(end <= limit for end in ends)
    assert "Gallus" in str(finder.find(index, None, ["main characters"]))
    told = {fact.property: fact.values for fact in finder.find(index, 0).facts if fact.values}
    assert told.keys() == {"title", "author"}  # which stand on the cover, as the file has them
    assert {(one.evidence, one.source) for values in told.values() for one in values} == {(None, "file")}


def test_facts_found_are_kept_for_that_build_limit_and_those_properties(
    finder: FactFinder, store: IndexStore, tmp_path: Path
) -> None:
    index = store.open("weigher")
    assert finder.known(index, None, ["author"]) is None
    found = finder.find(index, None, ["author"])
    assert finder.known(index, None, ["author"]) == found
    assert finder.known(index, len(TEXT), ["author"]) == found  # the same text
    assert finder.known(index, LIMIT, ["author"]) is None
    assert finder.known(index, None, ["genre"]) is None
    other = FactFinder(BookQA(store), tmp_path, "bm25", "overlap", "rnn-labeler:elsewhere")
    assert other.known(index, None, ["author"]) is None


def test_any_words_are_asked_as_a_question(http: httpx.Client) -> None:
    asked = ["weigher of Vell", "Who married Gallus?", "spouse of Gallus"]
    told = http.get("/books/weigher/facts", params={"property": asked}).raise_for_status().json()
    assert [fact["property"] for fact in told["facts"]] == [*asked[:2], "spouse"]
    assert "weigher" in fact_of(told, "weigher of Vell")[0]["evidence"]["sentence"].lower()
    assert told["facts"][2]["of"] == "Gallus"


def test_what_the_extractor_finds_as_well_is_surer(store: IndexStore, tmp_path: Path) -> None:
    index = store.open("weigher")
    found = [
        FactFinder(BookQA(store), tmp_path, "bm25", "overlap", extractor).find(
            index, None, ["weigher of Vell"]
        )
        for extractor in ("random-rank", "overlap")  # any reader extracts, but one that only ranks
    ]
    (alone,), (both,) = (one.facts[0].values for one in found)
    assert alone.text == both.text
    assert 0 < alone.confidence < both.confidence < 1


def test_command_client_and_library_tell_what_the_call_does(
    http: httpx.Client,
    store: IndexStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = ["author", "main characters", "weigher of Vell", "the [/weigher] of Vell"]
    wanted = http.get("/books/weigher/facts", params={"property": asked, "before": "90%"}).json()
    with Client(str(http.base_url)) as client:
        assert client.facts("weigher", asked, before="90%").model_dump() == wanted
    monkeypatch.setenv("STORYQA_CACHE", str(tmp_path))
    library = Library(store.root, retriever="bm25", reader="overlap")
    assert library.facts("weigher", asked, before="90%").model_dump() == wanted
    alone = library.facts("weigher", "author")
    assert [one.property for one in alone.facts] == ["author"]
    with Client(str(http.base_url)) as client:
        assert client.facts("weigher", "author") == alone
    monkeypatch.setenv("STORYQA_RETRIEVER", "bm25")
    monkeypatch.setenv("STORYQA_READER", "overlap")
    properties = [part for one in asked for part in ("--property", one)]
    command = ["facts", "weigher", *properties, "--before", "90%", "--store", str(store.root)]
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == wanted
    assert run(command) == 0
    shown = capsys.readouterr().out
    for word in ("Odo Marsh", "Lisbet Corrow", "named 8x", "0.90", "[/weigher]"):
        assert word in shown
    assert run(["facts", "reeds", "--property", "author", "--store", str(store.root)]) == 0
    assert capsys.readouterr().out == "not said: author\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["weigher", "--property", " "], "the property is empty"),
        (["weigher", "--property", "x" * 201], "wanted at most 200"),
        (["wiegher"], "did you mean weigher"),
        (["weigher", "--before", "half"], "wanted a character offset"),
        (["weigher", "--property", "heir", "--extractor", "nobody"], "unknown reader 'nobody'"),
        (["weigher", "--property", "heir", "--extractor", "rnn-labeler:none"], "does not exist"),
    ],
)
def test_a_wrong_command_is_one_line(
    store: IndexStore,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.setenv("STORYQA_CACHE", str(tmp_path))
    assert run(["facts", *arguments, "--store", str(store.root)]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "params", "status", "field"),
    [
        ("/books/weigher/facts", {"property": " "}, 422, "query/property"),
        ("/books/weigher/facts", {"property": ["a"] * 21}, 422, "query/property"),
        ("/books/weigher/facts", {"before": "half"}, 422, "query/before"),
        ("/books/nobody/facts", {}, 404, None),
    ],
)
def test_a_wrong_call_is_a_problem(
    http: httpx.Client, path: str, params: dict[str, Any], status: int, field: str | None
) -> None:
    told = problem(http.get(path, params=params), status)
    assert field is None or field in json.dumps(told)

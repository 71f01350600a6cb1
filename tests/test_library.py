"""The library of this process refuses what the service refuses, and by our own errors alone."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

import numpy as np
import pytest
import shelf
from chat_server import chatting, held
from pydantic import BaseModel
from server import running

import storyqa
from answering.ask import BadRequest
from indexing.errors import SourceError
from indexing.store import IndexStore
from service.app import create_app
from service.async_client import AsyncClient
from service.client import Client
from service.client_requests import JobFailed, JobStatus
from service.local_library import Library
from service.settings import Settings
from text.errors import StoryQAError
from text.registry import UnknownName


@pytest.fixture(scope="module")
def library(shelf_store: IndexStore) -> Library:
    return Library(shelf_store.root, retriever="bm25", reader="overlap")


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda library: library.books(limit=-1), "limit"),
        (lambda library: library.books(limit=0), "limit"),
        (lambda library: library.search("lantern", "Who?", k="5"), "k"),
        (lambda library: library.search("lantern", "Who?", k=True), "k"),
        (lambda library: library.ask("lantern", "Who?", n_best=1.5), "n_best"),
        (lambda library: library.ask("lantern", "Who?", candidates="abc"), "candidates"),
        (lambda library: library.facts("lantern", ""), "property"),
        (lambda library: library.facts("lantern", [5]), "property"),
        (lambda library: library.facts(["lantern"]), "book"),
        (lambda library: library.text(None), "book"),
        (lambda library: library.remove(None), "book"),
        (lambda library: library.ask("lantern", None), "question"),
        (lambda library: library.ask("lantern", b"Who?"), "question"),
        (lambda library: library.ask(None, "Who?"), "book"),
        (lambda library: library.ask([], "Who?"), "book"),
        (lambda library: library.ask([1], "Who?"), "book"),
        (lambda library: library.ask("lantern", "Who?", candidates=[1, 2]), "candidates"),
        (lambda library: library.ask("lantern", "Who?", before={1: "40%"}), "before"),
        (lambda library: library.ask("lantern", "Who?", conversation="Who?"), "conversation"),
        (lambda library: library.ask("lantern", "Who?", conversation=[{"answer": "Ines"}]), "conversation"),
        (lambda library: library.who("lantern", "Ines", k=11), "k"),
        (lambda library: library.recap("lantern", sentences=0), "sentences"),
    ],
)
def test_arguments_that_are_none_are_bad_requests(
    library: Library, call: Callable[[Any], Any], field: str
) -> None:
    with pytest.raises(BadRequest) as refused:
        call(library)
    assert refused.value.field == field


def test_a_limit_may_be_of_any_size_and_before_any_mapping(library: Library) -> None:
    assert [book.id for book in library.books(limit=10**30)] == sorted(shelf.STORIES)
    assert library.search("lantern", "Who?", before=MappingProxyType({"lantern": 0})).hits == []


def test_books_and_counts_may_be_what_numpy_and_sets_hold(library: Library) -> None:
    books: Any = {"lantern", "well"}
    k: Any = np.int64(2)
    assert len(library.search(books, shelf.QUESTIONS[2][1], k=k).hits) == 2


def test_no_book_is_made_of_the_folder_one_is_in_where_none_is_named(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mill.txt").write_text("The mill had a door of oak.")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="'' is no book; wanted a file"):
        library.index("")


def test_the_store_the_retriever_and_the_reader_are_those_of_the_commands_where_none_is_named(
    shelf_store: IndexStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_STORE", str(shelf_store.root))
    monkeypatch.setenv("STORYQA_RETRIEVER", "tfidf")
    monkeypatch.setenv("STORYQA_READER", "overlap")
    versions = Library().ask(*shelf.QUESTIONS[2]).versions
    assert (versions["retriever"], versions["reader"]) == ("tfidf", "overlap")
    named = Library(retriever="bm25").ask(*shelf.QUESTIONS[2]).versions
    assert (named["retriever"], named["reader"]) == ("bm25", "overlap")


@pytest.mark.parametrize("names", [{"reader": "overlp"}, {"retriever": "bm52"}])
def test_names_that_are_none_are_refused_at_once(shelf_store: IndexStore, names: dict[str, str]) -> None:
    with pytest.raises(UnknownName):
        Library(shelf_store.root, **names)


def test_a_question_that_follows_others_is_understood(library: Library) -> None:
    before = [{"question": "Who is Ines?", "answer": "the keeper"}]
    assert library.ask("lantern", "Where did she go?", conversation=before).rewritten == "Where did Ines go?"


def test_what_is_told_of_a_book_is_what_the_service_tells(shelf_store: IndexStore, library: Library) -> None:
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap")
    with running(create_app(settings)) as url, Client(url) as client:
        assert library.book("lantern") == client.book("lantern")
        for before in (None, "60%"):
            assert library.characters("lantern", before=before) == client.characters("lantern", before=before)
            assert library.recap("lantern", before=before) == client.recap("lantern", before=before)
            told = library.who("lantern", "Ines", before=before, k=2)
            assert told == client.who("lantern", "Ines", before=before, k=2)


def test_what_stands_around_a_story_is_searched_where_that_is_wanted(tmp_path: Path) -> None:
    book = tmp_path / "mill.html"
    story = "<h2>Chapter 1</h2><p>The mill had a door of oak.</p>"
    book.write_text(f"<h1>The Mill</h1><p>by Odo Hale</p>{story}")
    library = Library(tmp_path / "store", retriever="bm25", reader="overlap")
    left_out = []
    for everything in (False, True):
        library.index(book, everything=everything)
        left_out.append(library.book("mill").left_out)
    assert [bool(parts) for parts in left_out] == [True, False]


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_a_copy_of_a_library_answers_as_it_does(library: Library, again: Callable[[Any], Library]) -> None:
    question = shelf.QUESTIONS[2]
    assert again(library).ask(*question).versions == library.ask(*question).versions


def test_threads_that_share_a_library_wait_for_one_another(library: Library) -> None:
    asked, release = threading.Event(), threading.Event()
    with chatting(held(release, asked)) as server, ThreadPoolExecutor(2) as threads:
        answering = threads.submit(library.ask, *shelf.QUESTIONS[2], reader=f"chat:{server.url}@model=parrot")
        assert asked.wait(60)
        searching = threads.submit(library.search, *shelf.QUESTIONS[2])
        with pytest.raises(TimeoutError):
            searching.result(0.5)
        release.set()
        assert searching.result(60).hits
        assert answering.result(60).answer


@pytest.mark.parametrize(
    "wrong",
    [
        lambda library: library.ask("lantem", "Who?"),
        lambda library: library.ask("lantern", ""),
        lambda library: library.ask("lantern", "Who?", reader="overlp"),
        lambda library: library.who("lantern", "Nobody"),
        lambda library: Client(key="ключ"),
    ],
)
def test_an_error_is_the_same_in_another_process(library: Library, wrong: Callable[[Any], Any]) -> None:
    with pytest.raises(StoryQAError) as raised:
        wrong(library)
    told = raised.value
    again = pickle.loads(pickle.dumps(told))
    assert (type(again), str(again), vars(again)) == (type(told), str(told), vars(told))


def test_a_job_that_failed_is_told_in_another_process() -> None:
    job = JobStatus(id="7", status="failed", progress=0.0, book_id=None, error="the file is empty")
    again = pickle.loads(pickle.dumps(JobFailed(job)))
    assert (str(again), again.job) == ("job 7 failed: the file is empty", job)


def records(given: Any) -> set[type[BaseModel]]:
    """The records in a type, and those in their fields."""
    if not (inspect.isclass(given) and issubclass(given, BaseModel)):
        return set().union(*map(records, get_args(given)))
    return {given}.union(*(records(field.annotation) for field in given.model_fields.values()))


@pytest.mark.parametrize("source", [Library, Client, AsyncClient])
def test_every_record_that_a_method_gives_is_a_public_name(source: type) -> None:
    for name, method in inspect.getmembers(source, inspect.isfunction):
        if not name.startswith("_"):
            for record in records(get_type_hints(method).get("return")):
                assert getattr(storyqa, record.__name__) is record
                assert record.__name__ in storyqa.__all__

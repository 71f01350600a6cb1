"""Retrievers for LangChain, LlamaIndex and Haystack, each in the real framework, and no spoilers in any."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shelf
from server import serving, wait_until_ready

from indexing.store import IndexStore
from service.client import Client
from service.local_library import Library
from service.settings import Settings

# Before anything imports Haystack, which would tell its makers of every pipeline that is run.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

QUESTION = shelf.QUESTIONS[2][1]
LIMITS: list[Any] = [None, 300, "60%", {"lantern": 300, "*": 0}]


@pytest.fixture(scope="module")
def library(shelf_store: IndexStore) -> Library:
    return Library(shelf_store.root, retriever="bm25", reader="overlap")


@pytest.fixture(scope="module")
def url(shelf_store: IndexStore) -> Iterator[str]:
    with serving(Settings(store=shelf_store.root, retriever="bm25", reader="overlap")) as http:
        wait_until_ready(http)
        yield str(http.base_url)


def limit(before: Any, id: str) -> int:
    given = before.get(id, before["*"]) if isinstance(before, dict) else before
    length = len(shelf.STORIES[id][1])
    return length if given is None else length * 6 // 10 if given == "60%" else int(given)


def check(found: list[tuple[str, dict[str, Any]]], before: Any) -> None:
    """Every text is the book's at its place, and lies before the limit."""
    assert found
    for text, place in found:
        assert text == shelf.STORIES[place["book_id"]][1][place["start"] : place["end"]]
        assert place["title"] == shelf.STORIES[place["book_id"]][0]
        assert place["end"] <= limit(before, place["book_id"])


@pytest.mark.parametrize("before", LIMITS)
def test_langchain_gets_documents_with_their_places(library: Library, url: str, before: Any) -> None:
    pytest.importorskip("langchain_core")
    from storyqa.langchain import StoryQARetriever

    with Client(url) as client:
        for source in (library, client):
            retriever = StoryQARetriever(source=source, book="*", before=before, k=20)
            documents = retriever.invoke(QUESTION)
            check([(one.page_content, one.metadata) for one in documents], before)
            assert documents == asyncio.run(retriever.ainvoke(QUESTION))


def test_langchain_may_tell_a_limit_with_the_question_and_none_by_another_name(library: Library) -> None:
    pytest.importorskip("langchain_core")
    from storyqa.langchain import StoryQARetriever

    retriever = StoryQARetriever(source=library, book="*")
    for found in (
        retriever.invoke(QUESTION, before=300, k=1),
        asyncio.run(retriever.ainvoke(QUESTION, before=300, k=1)),
    ):
        assert len(found) == 1
        check([(one.page_content, one.metadata) for one in found], 300)
    with pytest.raises(TypeError, match="befor"):
        retriever.invoke(QUESTION, befor=300)
    with pytest.raises(ValueError, match="befor"):
        StoryQARetriever(source=library, book="*", befor=300)


@pytest.mark.parametrize("before", LIMITS)
def test_llama_index_gets_nodes_with_their_places(library: Library, url: str, before: Any) -> None:
    pytest.importorskip("llama_index.core")
    from storyqa.llama_index import StoryQARetriever

    with Client(url) as client:
        for source in (library, client):
            nodes = StoryQARetriever(source, ["lantern", "well", "clock"], before=before, k=20).retrieve(
                QUESTION
            )
            check([(one.node.text, one.node.metadata) for one in nodes], before)
            for one in nodes:
                bounds = one.node.metadata["start"], one.node.metadata["end"]
                assert (one.node.start_char_idx, one.node.end_char_idx) == bounds


@pytest.mark.parametrize("before", LIMITS)
def test_haystack_runs_it_in_a_pipeline_that_can_be_kept(library: Library, url: str, before: Any) -> None:
    haystack = pytest.importorskip("haystack")
    from storyqa.haystack import StoryQARetriever

    for given in ({"library": str(library.path)}, {"library": library.path}, {"url": url}):
        pipeline = haystack.Pipeline()
        retriever = StoryQARetriever("*", **given, before=before, top_k=20, retriever="bm25")
        pipeline.add_component("books", retriever)
        trusted = [StoryQARetriever.__module__]  # of what is not its own Haystack loads what is trusted
        again = haystack.Pipeline.loads(pipeline.dumps(), allowed_modules=trusted)
        for one in (pipeline, again):
            documents = one.run({"books": {"query": QUESTION}})["books"]["documents"]
            check([(one.content, one.meta) for one in documents], before)
        fewer = again.run({"books": {"query": QUESTION, "before": 300, "top_k": 1}})["books"]["documents"]
        assert len(fewer) == 1
        with pytest.raises(haystack.core.errors.PipelineRuntimeError, match=r"\bk\b"):
            again.run({"books": {"query": QUESTION, "top_k": 0}})
        check([(one.content, one.meta) for one in fewer], 300)


def test_a_key_of_haystacks_is_kept_by_its_name_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("haystack")
    from haystack.utils import Secret

    from storyqa.haystack import StoryQARetriever

    monkeypatch.setenv("SHELF_KEY", "sesame")
    kept = StoryQARetriever("a", key=Secret.from_env_var("SHELF_KEY")).to_dict()
    assert "sesame" not in str(kept)
    again = StoryQARetriever.from_dict(kept)
    assert again.key is not None
    assert again.key.resolve_value() == "sesame"


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index", "llama-index"),
        ("haystack", "haystack", "haystack"),
    ],
)
def test_a_framework_that_is_missing_is_named_with_its_extra(
    tmp_path: Path, module: str, package: str, extra: str
) -> None:
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(f"raise ImportError('gone', name={package!r})")
    done = subprocess.run(
        [sys.executable, "-c", f"import storyqa.{module}"],
        env=os.environ | {"PYTHONPATH": f"{tmp_path}:{Path(__file__).parents[1]}"},
        capture_output=True,
        text=True,
    )
    assert f"pip install 'storyqa[{extra}]'" in done.stderr

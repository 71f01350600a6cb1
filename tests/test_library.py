"""The library of this process refuses what the service refuses, and by our own errors alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, get_args, get_type_hints

import pytest
import shelf
from pydantic import BaseModel

import storyqa
from answering.ask import BadRequest
from indexing.store import IndexStore
from service.async_client import AsyncClient
from service.client import Client
from service.local_library import Library


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


@pytest.mark.parametrize("source", [Library, Client, AsyncClient])
def test_every_record_that_a_method_gives_is_a_public_name(source: type) -> None:
    for name, method in inspect.getmembers(source, inspect.isfunction):
        given = get_type_hints(method).get("return") if not name.startswith("_") else None
        for record in get_args(given) or [given]:
            if inspect.isclass(record) and issubclass(record, BaseModel):
                assert record.__name__ in storyqa.__all__

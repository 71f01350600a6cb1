"""The book by which a request finds its replica where there is no proxy: the rules are the proxy's."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_ring_rules import BODIES, CALLS

from service.access.authorization import scope_of
from service.load.book_routing import SHELF, changes, routing_key


@pytest.mark.parametrize(("path", "body", "book"), BODIES)
def test_a_body_names_the_book_that_the_proxy_finds_in_it(path: str, body: object, book: str) -> None:
    assert routing_key("POST", path, json.dumps(body).encode()) == book


@pytest.mark.parametrize(("method", "path", "backend", "book"), CALLS)
def test_a_call_goes_where_the_proxy_sends_it(method: str, path: str, backend: str, book: str) -> None:
    found = routing_key(method, path.partition("?")[0], b"")
    assert found == (SHELF if backend == "shelf" else book)
    assert changes(method, path.partition("?")[0]) == (backend == "shelf")


@pytest.mark.parametrize(("method", "path", "backend", "book"), CALLS)
def test_whatever_needs_a_key_that_may_change_the_store_is_never_sent_twice(
    method: str, path: str, backend: str, book: str
) -> None:
    if scope_of(method, path) == "admin":
        assert changes(method, path)


def test_a_question_to_every_book_goes_by_the_question() -> None:
    bodies = [json.dumps({"book_id": "*", "question": one}).encode() for one in ("Who?", "Where?", "Who?")]
    first, second, again = (routing_key("POST", "/answer", body) for body in bodies)
    assert first == again != second
    assert "" not in (first, second)


@given(
    path=st.sampled_from(["/answer", "/search", "/answers", "/v1/chat/completions", "/mcp"]),
    body=st.binary()
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["book_id", "model", "params", "arguments"]), inner)
        ),
    ).map(lambda content: json.dumps(content).encode()),
)
def test_a_body_of_any_kind_has_a_key_and_is_left_to_the_replica_to_refuse(path: str, body: bytes) -> None:
    assert isinstance(routing_key("POST", path, body), str)

"""The page of all calls at ``/docs``, which has to work where there is no other network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import shelf
from server import running

from indexing.store import IndexStore
from service.app import create_app
from service.settings import Settings

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)


@pytest.fixture(scope="module")
def url(shelf_store: IndexStore) -> Iterator[str]:
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap")
    with running(create_app(settings)) as url:
        yield url


def test_the_page_of_calls_names_no_other_host_and_its_policy_lets_none_in(url: str) -> None:
    response = httpx.get(f"{url}/docs")
    assert response.status_code == 200
    assert not re.search(r"(https?:)?//[a-z]", response.text)
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    for file in re.findall(r'(?:src|href)="(page/[^"]+)"', response.text):
        assert httpx.get(f"{url}/{file}").status_code == 200, file


@pytest.mark.browser
def test_a_call_can_be_looked_up_and_tried_without_another_network(url: str) -> None:
    elsewhere: list[str] = []

    def local_only(route: Any) -> None:
        if route.request.url.startswith((url, "data:")):
            route.continue_()
        else:
            elsewhere.append(route.request.url)
            route.abort()

    with browsing.chromium() as chromium, browsing.visiting(chromium, url) as page:
        page.route("**/*", local_only)
        page.goto("/docs")
        paths = httpx.get(f"{url}/openapi.json").json()["paths"]
        calls = sum(len(operations) for operations in paths.values())
        expect(page.locator(".opblock")).to_have_count(calls)
        page.locator("#operations-books-book_books__book_id__get .opblock-summary-control").click()
        page.get_by_role("button", name="Try it out").click()
        page.get_by_placeholder("book_id").fill("lantern")
        page.get_by_role("button", name="Execute").click()
        expect(page.locator(".responses-inner .live-responses-table")).to_contain_text(
            shelf.STORIES["lantern"][0]
        )
    assert elsewhere == []

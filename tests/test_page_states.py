"""What the page looks like when there is little to show: no fault that axe finds, and it fits a phone.

The other states are gone through where they are tested: test_page, test_page_several, test_page_overviews,
test_page_models.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import shelf
from server import new_key, running
from test_covers import epub

from indexing.build import BuildSettings, build_book
from indexing.formats.read import read_book
from indexing.sources.fetch import Fetched
from indexing.sources.locate import Source
from indexing.store import IndexStore
from service.app import create_app

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

pytestmark = [
    pytest.mark.browser,
    # Contrast is a matter of colours, width one of size: no need for all four.
    pytest.mark.parametrize(("colours", "size"), [("light", "desk"), ("dark", "phone")]),
]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A service that believes no answer, with the books of the shelf and ``gull``, which has a cover."""
    store = shelf.stock(tmp_path_factory.mktemp("shelf"))
    build_book(read_book(Source("gull.epub", "gull", lambda: Fetched(epub()))), BuildSettings(), store)
    with running(create_app(browsing.settings(store, answerable=1.0))) as url:
        yield url


def test_a_library_without_books(chromium: Any, tmp_path: Path, colours: str, size: str) -> None:
    app = create_app(browsing.settings(IndexStore(tmp_path)))
    with running(app) as url, browsing.visiting(chromium, url, **browsing.looks(colours, size)) as page:
        page.goto("/")
        page.locator("#sample h2").wait_for()
        browsing.check(page, "empty")
        page.goto("/#book=lantern&q=Who%3F")
        expect(page.locator("#error")).to_contain_text("not here")
        browsing.check(page, "a book that is not here, where there is none")


def test_a_key_that_is_wanted(
    chromium: Any, shelf_store: IndexStore, tmp_path: Path, colours: str, size: str
) -> None:
    new_key(tmp_path / "keys.json", "page", "read")
    app = create_app(browsing.settings(shelf_store, state=tmp_path))
    with running(app) as url, browsing.visiting(chromium, url, **browsing.looks(colours, size)) as page:
        page.goto("/")
        page.locator("#key-text").wait_for()
        browsing.check(page, "key")


def test_a_cover_a_guess_no_answer_and_a_service_that_is_gone(
    chromium: Any, url: str, colours: str, size: str
) -> None:
    with browsing.visiting(chromium, url, **browsing.looks(colours, size)) as page:
        page.goto("/#book=gull")
        page.locator("#cover").wait_for()
        browsing.check(page, "cover")
        browsing.ask(page, *shelf.QUESTIONS[2])
        expect(page.locator("#answer h2")).to_have_text("The book may not say; the best guess")
        browsing.check(page, "guess")
        page.context.set_offline(True)
        page.locator("#question").fill("Who?")
        page.keyboard.press("Enter")
        expect(page.locator("#error")).to_contain_text("cannot be reached")
        browsing.check(page, "gone")

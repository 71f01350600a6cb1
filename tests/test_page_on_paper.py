"""The page as it is printed: all of the place that an answer stands in, or of the open book, on white."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]
import pytest
from server import running

from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from service.app import create_app

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

pytestmark = pytest.mark.browser

DAYS = [f"On day {n} the miller counted {n} sacks, and the ferryman took them across." for n in range(90)]
LAST = "Then the ice came."
QUESTION = "What did the ferryman take across on day 40?"


@pytest.fixture
def page(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    store = IndexStore(tmp_path)
    text = "\n\n".join([*DAYS, LAST])
    build_book(Book("mill", "The Mill", text, "mill.txt"), BuildSettings(words=500), store)
    with running(create_app(browsing.settings(store))) as url, browsing.visiting(chromium, url) as page:
        browsing.ask(page, "mill", QUESTION)
        yield page


def printed(page: Any) -> str:
    """What stands on the paper, its lines as one."""
    paper = pypdfium2.PdfDocument(page.pdf())
    return " ".join(" ".join(sheet.get_textpage().get_text_range() for sheet in paper).split())


def test_all_of_the_place_is_printed_and_no_button(page: Any) -> None:
    shown = page.locator("figure blockquote p").all_text_contents()
    assert len(shown) > 30
    paper = printed(page)
    assert [text for text in shown if text.strip() not in paper] == []
    for kept in ("#book-title", "#answer h2", ".said", "figcaption .quiet"):
        assert " ".join(page.locator(kept).text_content().split()) in paper
    for pressed in ("Copy citation", "Open in the book", "Who is in it", "Asked before", "All calls"):
        assert pressed not in paper


def test_of_an_open_book_all_that_is_there_is_printed_and_nothing_of_the_page_behind_it(page: Any) -> None:
    page.locator(".open").click()
    page.locator("#pages mark").first.wait_for()
    paper = printed(page)
    assert [day for day in [*DAYS, LAST] if day not in paper] == []
    assert paper.startswith("The Mill")
    for behind in ("storyqa", "Your question", "I have read up to here"):
        assert behind not in paper


def test_what_is_dark_on_the_screen_is_dark_on_white_on_paper(page: Any) -> None:
    for _ in range(2):
        page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    ink = "getComputedStyle(document.querySelector('.said')).color"
    on_screen = page.evaluate(ink)
    page.emulate_media(media="print")
    on_paper = page.evaluate(ink)
    assert on_paper != on_screen
    page.emulate_media(media="screen")
    page.locator("#theme").click()
    page.locator("#theme").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "light")
    assert page.evaluate(ink) == on_paper

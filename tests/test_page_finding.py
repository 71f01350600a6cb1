"""A book is found in the page's list by what it is called and who wrote it, however that is typed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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

BOOKS = (
    ("ferry", "The Ferry", "Ada Quill"),
    ("ferry-2", "The Ferry", "Ada Quill"),
    ("geese", "Forty Geese", None),
    ("hat", "Le chapeau brûlé", "Zoé Delorme"),
    ("lamp", "The Lamp", "Ada Quill"),
    ("mill", "The Mill", None),
)


@pytest.fixture
def page(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    store = IndexStore(tmp_path)
    for id, title, author in BOOKS:
        build_book(
            Book(id, title, f"{title} was a tale.", f"{id}.txt", author=author), BuildSettings(), store
        )
    with running(create_app(browsing.settings(store))) as url, browsing.visiting(chromium, url) as page:
        page.goto("/")
        expect(page.locator("#book-about")).to_have_text("6 books to ask.")
        page.locator("#book").click()
        yield page


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("quill lamp", ["lamp"]),
        ("BRULE", ["hat"]),
        ("zoe", ["hat"]),
        ("bru\u0302le\u0301", ["hat"]),
        ("ferry-2", ["ferry-2"]),
        ("geese  forty", ["geese"]),
    ],
)
def test_title_author_and_id_are_looked_through_in_any_order_and_without_accents(
    page: Any, typed: str, found: list[str]
) -> None:
    page.locator("#filter").fill(typed)
    rows = page.locator("#books li")
    expect(rows).to_have_count(len(found))
    assert [row.get_attribute("data-asked") for row in rows.all()] == found


def test_authors_are_named_and_ids_where_titles_are_the_same(page: Any) -> None:
    lines = page.locator("#books .byline").all_text_contents()
    assert sorted(lines) == sorted(["Ada Quill · ferry", "Ada Quill · ferry-2", "Zoé Delorme", "Ada Quill"])


def test_the_keys_of_an_input_method_choose_no_book(page: Any) -> None:
    page.locator("#filter").evaluate("""(filter) => {
      for (const key of ["ArrowDown", "Enter"]) {
        filter.dispatchEvent(new KeyboardEvent("keydown", {key, isComposing: true, bubbles: true}));
      }
    }""")
    expect(page.locator("#filter")).to_be_focused()
    page.locator("#filter").fill("geese")
    page.keyboard.press("Enter")
    expect(page.locator("#book-title")).to_have_text("Forty Geese")


def test_what_was_typed_can_be_taken_back_where_few_books_are_left(page: Any) -> None:
    page.locator("#filter").fill("geese")
    for _ in range(2):
        page.locator(".remove").click()
    expect(page.locator("#books-about")).to_have_text("No book is called that.")
    page.locator("#filter").fill("")
    expect(page.locator("#books li")).to_have_count(5)


def test_books_of_one_title_that_may_have_been_meant_are_told_apart(page: Any) -> None:
    page.goto("/?#book=ferri")
    near = page.locator("#near button")
    expect(near).to_have_text(["The Ferry (ferry)", "The Ferry (ferry-2)"])
    near.last.click()
    expect(page).to_have_url(re.compile(r"book=ferry-2$"))

"""The page's places and books: cited and linked to, leafed through by keys, marked on the strip, removed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import new_key, running

from indexing.book import Book, Chapter
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from service.app import create_app

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

pytestmark = pytest.mark.browser

LONG_TITLE = " ".join(["The Whole and Truthful Account of the Weighing of Forty Geese"] * 12)
SAID = " ".join(["Irene kept the key.", *["Nobody spoke of it for a whole year."] * 12, "It was Irene."])


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """A service with the books of the shelf, one by an author, and one whose answer stands at two places."""
    store = shelf.stock(tmp_path)
    build_book(
        Book("key", LONG_TITLE, f"{SAID} {SAID}", "key.txt", author="Ada Quill"),
        BuildSettings(words=40),
        store,
    )
    with running(create_app(browsing.settings(store))) as url:
        yield url


@pytest.fixture
def page(chromium: Any, url: str) -> Iterator[Any]:
    with browsing.visiting(chromium, url, permissions=["clipboard-read", "clipboard-write"]) as page:
        yield page


def copied(page: Any, button: str) -> str:
    """What the clipboard holds after a button has been pressed."""
    page.locator(".copy").filter(has_text=button).click()
    expect(page.locator(".copy").filter(has_text="Copied")).to_have_count(1)
    return str(page.evaluate("navigator.clipboard.readText()"))


def test_a_citation_names_the_sentence_the_work_and_the_place(page: Any, url: str) -> None:
    book, question = shelf.QUESTIONS[0]
    evidence = httpx.post(f"{url}/answer", json={"book_id": book, "question": question}).json()["evidence"]
    browsing.ask(page, book, question)
    assert copied(page, "Copy citation") == (
        f"“{evidence['sentence'].strip()}” (The Lamp at Quill Point, {evidence['chapter']}, "
        f"{evidence['percent']:g} % into the book)"
    )
    browsing.ask(page, "key", "Who kept the key?")
    assert "(Ada Quill, The Whole" in copied(page, "Copy citation")


def test_no_other_place_is_cited_for_an_answer_whose_own_cannot_be_fetched(page: Any) -> None:
    browsing.ask(page, *shelf.QUESTIONS[0])
    figure = page.locator("figure")
    here = figure.locator("figcaption .quiet").inner_text()
    page.context.set_offline(True)
    page.locator("#answer .others button").last.click()
    expect(figure).to_contain_text("cannot be reached")
    expect(figure.locator(".copy")).to_have_count(0)
    page.context.set_offline(False)
    figure.locator("button").click()
    expect(figure.locator("mark").first).to_be_visible()
    expect(figure.locator("figcaption .quiet")).not_to_have_text(here)


def test_another_answers_place_is_not_shown_while_its_own_is_on_the_way(page: Any) -> None:
    browsing.ask(page, *shelf.QUESTIONS[0])
    held: list[Any] = []
    page.route("**/text?*", lambda route: held.append(route))
    page.locator("#answer .others button").last.click()
    expect(page.locator("figure mark").first).to_be_hidden()
    expect(page.locator("figure .copy").first).to_be_hidden()
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(page.locator("figure mark").first).to_be_visible()


def test_a_link_from_somebody_who_has_read_so_far_shows_others_no_more(
    page: Any, chromium: Any, url: str
) -> None:
    browsing.ask(page, "lantern", "Where had Ines hidden the good oil?", read=60)
    link = copied(page, "Copy link")
    with browsing.visiting(chromium, url) as other:
        other.goto(link)
        expect(other.locator("#pages")).to_contain_text("You have read up to here.")
        assert browsing.marked(other, "#pages")[:2] == browsing.marked(page, "blockquote")[:2]
        expect(other.locator("#read")).to_have_value("60")


def test_a_link_opens_the_book_at_the_place_and_shows_nothing_beyond_what_has_been_read(
    page: Any, chromium: Any, url: str
) -> None:
    browsing.ask(page, "lantern", "What did Captain Thorne bring to thank her?")
    link = copied(page, "Copy link")
    start, end = browsing.marked(page, "blockquote")[:2]
    with browsing.visiting(chromium, url) as other:
        other.goto(link)
        expect(other.locator("#reader")).to_be_visible()
        assert browsing.marked(other, "#pages")[:2] == (start, end)
        other.keyboard.press("Escape")
        other.locator("#read").fill("40")
        expect(other).to_have_url(re.compile(r"read=40\b"))
        other.goto("/#book=clock")
        expect(other.locator("#book-title")).to_have_text("The Clock of Vell")
        other.goto(link)
        expect(other.locator("#pages")).to_contain_text("You have read up to here.")
        expect(other.locator("#pages mark")).to_have_count(0)


def test_the_address_says_which_of_the_answers_is_in_view(page: Any) -> None:
    browsing.ask(page, "lantern", "What did Captain Thorne bring to thank her?")
    second = page.locator(".others button").nth(1)
    second.click()
    expect(page).to_have_url(re.compile("&nth=2$"))
    expect(page.locator("#answer .said")).to_have_text(second.locator(".text").inner_text())
    shown = browsing.marked(page, "blockquote")
    page.locator("#question").fill("Who kept the lamp?")
    page.keyboard.press("Enter")
    expect(page).not_to_have_url(re.compile("nth="))
    browsing.answered(page)
    expect(page.locator(".others button").first).to_have_attribute("aria-pressed", "true")
    page.go_back()
    expect(second).to_have_attribute("aria-pressed", "true")
    assert browsing.marked(page, "blockquote") == shown
    page.reload()
    expect(second).to_have_attribute("aria-pressed", "true")


def test_an_address_whose_place_is_no_place_opens_the_book_alone(page: Any) -> None:
    page.goto("/#book=lantern&at=12-x")
    expect(page.locator("#book-title")).to_have_text("The Lamp at Quill Point")
    expect(page.locator("#reader")).to_be_hidden()


def test_the_chapters_can_be_gone_through_by_keys(page: Any) -> None:
    page.goto("/#book=lantern&at=0-5")
    expect(page.locator("#pages")).to_be_focused()
    at = page.locator("#chapter option:checked")
    for key, chapter in (
        ("ArrowRight", "II. The Storm"),
        ("ArrowRight", "III. The Bill"),
        ("ArrowLeft", "II. The Storm"),
        ("Home", "I. The Lamp"),
    ):
        page.keyboard.press(key)
        expect(at).to_have_text(chapter)
    page.keyboard.press("End")
    expect(page.locator("#pages p[data-end]").last).to_be_in_viewport()


def test_a_selection_can_be_made_longer_by_keys(page: Any) -> None:
    page.goto("/#book=lantern&at=0-5")
    expect(page.locator("#pages")).to_be_focused()
    browsing.select(page, "Old Ines")
    page.keyboard.press("Control+Shift+ArrowRight")
    page.keyboard.press("Shift+ArrowRight")
    expect(page.locator("#selected q")).to_have_text("Old Ines kept")
    page.keyboard.press("Shift+End")
    expect(page.locator("#selected q")).to_contain_text("Old Ines kept the")
    expect(page.locator("#chapter option:checked")).to_have_text("I. The Lamp")


def test_every_place_that_supports_an_answer_is_marked_on_the_strip(
    chromium: Any, tmp_path: Path, url: str
) -> None:
    served = browsing.settings(IndexStore(tmp_path)).model_copy(update={"reader": "span"})
    with running(create_app(served)) as own, browsing.visiting(chromium, own) as page:
        answer = httpx.post(f"{own}/answer", json={"book_id": "key", "question": "Who kept the key?"}).json()
        also = [one["start"] for one in answer["candidates"][0]["also"]]
        assert also
        page.goto("/#book=key")
        page.locator("#question").fill("Who kept the key?")
        page.keyboard.press("Enter")
        browsing.answered(page)
        marks = page.locator("#strip .others button")
        expect(marks).to_have_count(len(also))
        assert sorted(int(marks.nth(i).get_attribute("data-start")) for i in range(len(also))) == sorted(also)
        # The place that is looked at is the pin; the one before is a mark now.
        page.locator(".also button").first.click()
        expect(page.locator("#strip .pin button")).to_have_attribute("data-start", str(also[0]))
        expect(marks).to_have_count(len(also))


def test_a_book_is_removed_when_that_has_been_said_twice(page: Any, url: str) -> None:
    browsing.ask(page, *shelf.QUESTIONS[0])
    page.locator("#book").click()
    remove = page.locator("#books li").filter(has_text="Quill Point").locator(".remove")
    remove.click()
    assert len(httpx.get(f"{url}/books").json()) == 4
    expect(remove).to_have_text("Really?")
    page.locator("#library [data-close]").focus()
    expect(remove).to_have_text("Remove")  # second thoughts
    remove.click()
    remove.click()
    expect(page.locator("#books li")).to_have_count(3)
    assert "lantern" not in [book["id"] for book in httpx.get(f"{url}/books").json()]
    page.keyboard.press("Escape")
    expect(page.locator("#book-title")).to_have_text("Choose a book")
    expect(page.locator("#answer")).to_be_empty()


def test_a_book_that_is_being_indexed_is_not_removed_and_that_is_said(page: Any, tmp_path: Path) -> None:
    page.goto("/")
    expect(page.locator("#book-about")).to_have_text("4 books to ask.")
    page.locator("#book").click()
    remove = page.locator("#books li").filter(has_text="Quill Point").locator(".remove")
    with IndexStore(tmp_path).claim("lantern"):
        remove.click()
        remove.click()
        expect(page.locator("#removing")).to_contain_text("is being read just now. Remove it")
    expect(page.locator("#books li")).to_have_count(4)


def test_a_book_that_may_not_be_removed_stays_and_that_is_said(chromium: Any, tmp_path: Path) -> None:
    key = new_key(tmp_path / "state" / "keys.json", "reader", "read")
    app = create_app(browsing.settings(shelf.stock(tmp_path / "books"), state=tmp_path / "state"))
    with running(app) as url, browsing.visiting(chromium, url) as page:
        page.goto("/")
        page.locator("#key-text").fill(key)
        page.keyboard.press("Enter")
        expect(page.locator("#book-about")).to_contain_text("3 books")
        page.locator("#book").click()
        remove = page.locator(".remove").first
        remove.click()
        remove.click()
        expect(page.locator("#removing")).to_contain_text("is still there.")
        expect(page.locator("#books li")).to_have_count(3)


def test_long_titles_and_answers_are_folded(page: Any) -> None:
    page.goto("/#book=key")
    title = page.locator("#book-title")
    expect(title).to_have_attribute("title", LONG_TITLE)
    assert title.evaluate("t => t.clientHeight < t.scrollHeight")
    text = "It rained and rained, said the long sentence, " * 40
    page.route(
        "**/answer",
        lambda route: route.fulfill(
            content_type="text/event-stream",
            body=_answer(route.fetch().text(), text),
        ),
    )
    page.locator("#question").fill("Who kept the key?")
    page.keyboard.press("Enter")
    browsing.answered(page)
    said = page.locator(".said")
    assert said.evaluate("s => s.clientHeight < s.scrollHeight")
    page.get_by_role("button", name="Show all of it").click()
    assert said.evaluate("s => s.clientHeight >= s.scrollHeight")
    page.locator("#question").fill("Who kept the key? " * 60)
    page.keyboard.press("Enter")
    noted = page.locator("#asked .text").filter(has_text="Who kept the key? Who kept the key?")
    noted.wait_for()
    assert noted.evaluate("n => n.clientHeight < n.scrollHeight")


def test_names_without_spaces_make_no_view_wider_than_a_phone(chromium: Any, tmp_path: Path) -> None:
    store = shelf.stock(tmp_path)
    title, heading = "the_well_behind_the_barn_" * 8, "chapter_the_first_of_all_" * 8
    id, text = "the_well_" * 12, f"{heading}\n\n{shelf.WELL}"
    build_book(
        Book(id, title, text, "well.txt", (Chapter(heading, 0, len(text)),)), BuildSettings(words=30), store
    )
    phone = browsing.looks("light", "phone")
    with (
        running(create_app(browsing.settings(store))) as url,
        browsing.visiting(chromium, url, **phone) as page,
    ):
        for asked in (id, f"{id},well"):
            browsing.ask(page, asked, shelf.QUESTIONS[7][1])
            page.locator("#answer details").click()
            assert _fits(page), asked
        browsing.ask(page, id, shelf.QUESTIONS[7][1])
        page.locator('[aria-controls="recap"]').click()
        page.locator("#recap blockquote").first.wait_for()
        assert _fits(page), "recap"
        page.goto(f"/?#book={id[:-1]}")
        expect(page.locator("#near button").first).to_have_text(title)
        assert _fits(page), "error"


def _fits(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


def test_every_book_can_be_chosen_on_a_phone_that_lies_on_its_side(chromium: Any, url: str) -> None:
    with browsing.visiting(chromium, url, viewport={"width": 740, "height": 360}) as page:
        many = [{"id": f"b{n}", "title": f"Book {n}", "words": n, "author": None} for n in range(1, 21)]
        page.route("**/books?*", lambda route: route.fulfill(json=many))
        page.goto("/")
        expect(page.locator("#book-about")).to_have_text("20 books to ask.")
        page.locator("#book").click()
        for row in page.locator("#books li").all()[::6]:
            row.scroll_into_view_if_needed()
            expect(row).to_be_in_viewport(ratio=0.9)
        page.locator("#library [data-close]").click()
        expect(page.locator("#library")).to_be_hidden()


def _answer(stream: str, text: str) -> str:
    """The stream of an answer, its words replaced."""
    return re.sub(r'"text": ?"[^"]*", ?"confidence"', f'"text": "{text}", "confidence"', stream)


def test_questions_about_the_open_book_come_before_those_about_others(page: Any) -> None:
    for book, question in (shelf.QUESTIONS[0], shelf.QUESTIONS[4]):
        browsing.ask(page, book, question)
    expect(page.locator("#asked .text")).to_have_text([shelf.QUESTIONS[4][1]])
    expect(page.locator("#asked-elsewhere .text")).to_have_text([shelf.QUESTIONS[0][1]])
    expect(page.locator("#asked-elsewhere .quiet")).to_contain_text("The Lamp at Quill Point")

"""The page where several books are asked at once: each is named, opened, and read up to its own limit."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import running

from service.app import create_app

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

pytestmark = pytest.mark.browser

QUESTION = "What did the small grey woman pay with?"  # of the well
STORM = "What did Captain Thorne bring to thank her?"  # of the last chapter of the lantern


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    store = shelf.stock(tmp_path)
    store.shelves().put("water", ["lantern", "well", "gone"], "By the water")
    with running(create_app(browsing.settings(store))) as url:
        yield url


@pytest.fixture
def page(chromium: Any, url: str) -> Iterator[Any]:
    with browsing.visiting(chromium, url) as page:
        yield page


@pytest.fixture
def asked(page: Any) -> list[dict[str, Any]]:
    """What the page asks, as it sends it."""
    bodies: list[dict[str, Any]] = []
    page.on("request", lambda one: bodies.append(one.post_data_json) if one.url.endswith("/answer") else None)
    return bodies


def type_question(page: Any, question: str) -> None:
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")
    browsing.answered(page)


@pytest.mark.parametrize(
    ("name", "book_id", "books"),
    [("All books", "*", 3), ("By the water", "shelf:water", 2)],
)
def test_a_shelf_or_all_books_are_chosen_from_the_list_and_asked(
    page: Any, asked: list[dict[str, Any]], name: str, book_id: str, books: int
) -> None:
    page.goto("/")
    page.locator("#book").click()
    page.get_by_role("list", name="Several books at once").get_by_role("button", name=name).click()
    expect(page.locator("#book-title")).to_have_text(name)
    expect(page.locator("#together summary")).to_have_text(f"{books} books")
    expect(page.locator("#length")).to_be_hidden()
    expect(page.locator("#overviews")).to_be_hidden()
    type_question(page, QUESTION)
    assert asked[-1]["book_id"] == book_id
    assert "before" not in asked[-1]
    assert page.title() == f"{QUESTION} · {name}"


def test_books_are_ticked_with_the_keyboard_alone_and_asked_together(
    page: Any, asked: list[dict[str, Any]]
) -> None:
    page.goto("/")
    page.locator("#book").click()
    for title in ("The Clock of Vell", "The Well"):
        page.get_by_role("checkbox", name=f"Ask {title} together with others").focus()
        page.keyboard.press("Space")
    page.locator("#ticked button").focus()
    expect(page.locator("#ticked button")).to_have_text("Ask these 2 books")
    page.keyboard.press("Enter")
    expect(page.locator("#book-title")).to_have_text("The Clock of Vell and The Well")
    expect(page.locator("#question")).to_be_focused()
    type_question(page, QUESTION)
    assert asked[-1]["book_id"] == ["clock", "well"]
    page.reload()
    browsing.answered(page)
    expect(page.locator("#book-title")).to_have_text("The Clock of Vell and The Well")


def test_the_arrow_keys_go_from_the_shelves_to_the_books(page: Any) -> None:
    page.goto("/")
    page.locator("#book").click()
    page.locator("#shelves .choose").first.focus()
    for name in ("By the water", "The Clock of Vell"):
        page.keyboard.press("ArrowDown")
        expect(page.locator(":focus .title")).to_have_text(name)
    page.keyboard.press("ArrowUp")
    expect(page.locator(":focus .title")).to_have_text("By the water")


def test_answers_and_passages_name_their_book_and_open_it_at_the_place(page: Any, url: str) -> None:
    answer = httpx.post(f"{url}/answer", json={"book_id": "*", "question": QUESTION, "n_best": 5}).json()
    evidence = answer["evidence"]
    assert evidence["book_id"] == "well"
    browsing.ask(page, "*", QUESTION)
    expect(page.locator("figcaption .quiet")).to_contain_text(re.compile("^The Well · "))
    assert browsing.marked(page, "blockquote") == (evidence["start"], evidence["end"], evidence["text"])
    page.locator(".open").click()
    expect(page.locator("#reader-title")).to_have_text("The Well")
    assert browsing.marked(page, "#pages")[:2] == (evidence["start"], evidence["end"])
    page.keyboard.press("Escape")
    page.locator("#answer details").click()
    for i, passage in enumerate(answer["passages"]):
        button = page.locator("#answer details li button").nth(i)
        expect(button).to_contain_text(re.compile(f"^{passage['title']} · Passage {passage['number']}"))
        button.click()
        expect(page.locator("#reader-title")).to_have_text(passage["title"])
        expect(page.locator(f'#pages .sentence[data-start="{passage["start"]}"]')).to_be_in_viewport()
        page.keyboard.press("Escape")


def test_the_address_says_in_which_of_several_books_a_place_is_open(
    page: Any, chromium: Any, url: str
) -> None:
    browsing.ask(page, "*", QUESTION)
    start, end, _ = browsing.marked(page, "blockquote")
    page.locator(".open").click()
    expect(page).to_have_url(re.compile(rf"&at=well%3A{start}-{end}$"))
    with browsing.visiting(chromium, url) as other:
        other.goto(page.url)
        expect(other.locator("#reader-title")).to_have_text("The Well")
        assert browsing.marked(other, "#pages")[:2] == (start, end)
        other.keyboard.press("Escape")
        expect(other).not_to_have_url(re.compile("at="))
        other.goto("/#book=clock,lantern&at=well:0-9")
        expect(other.locator("#book-title")).to_have_text("The Clock of Vell and The Lamp at Quill Point")
        expect(other).not_to_have_url(re.compile("at="))
        expect(other.locator("#reader")).to_be_hidden()


def test_a_link_copied_from_an_answer_of_several_books_opens_the_one(chromium: Any, url: str) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with browsing.visiting(chromium, url, permissions=permissions) as page:
        browsing.ask(page, "shelf:water", QUESTION)
        start, end = browsing.marked(page, "blockquote")[:2]
        page.locator(".copy").filter(has_text="Copy link").click()
        expect(page.locator(".copy").filter(has_text="Copied")).to_have_count(1)
        link = page.evaluate("navigator.clipboard.readText()")
        assert link.endswith(f"#book=well&at={start}-{end}")
        page.goto(link)
        expect(page.locator("#reader")).to_be_visible()
        expect(page.locator("#book-title")).to_have_text("The Well")


def test_each_book_is_asked_and_shown_up_to_where_it_has_been_read(
    page: Any, asked: list[dict[str, Any]]
) -> None:
    page.goto("/#book=lantern&read=50")
    expect(page.locator("#read-about")).to_contain_text("50\u00a0%")
    browsing.ask(page, "*", STORM)
    assert asked[-1]["book_id"] == "*"
    assert asked[-1]["before"] == {"lantern": "50%"}
    expect(page.locator("#together summary")).to_have_text("3 books, 1 not yet read to the end")
    limit = len(shelf.LANTERN) // 2
    page.locator("#answer details").click()
    for button in page.locator("#answer details li button").all():
        button.click()
        page.locator("#pages p[data-end]").first.wait_for()
        if page.locator("#reader-title").text_content() == shelf.STORIES["lantern"][0]:
            expect(page.locator("#pages")).to_contain_text("You have read up to here.")
            ends = page.locator("#pages p[data-end]").evaluate_all("all => all.map(p => +p.dataset.end)")
            assert max(ends) <= limit
            assert page.locator("#chapter option").all_text_contents() == ["I. The Lamp", "II. The Storm"]
        else:
            expect(page.locator("#pages")).not_to_contain_text("You have read up to here.")
        page.keyboard.press("Escape")
    expect(page.locator("body")).not_to_contain_text("plums")


def test_saying_in_one_book_how_far_it_has_been_read_asks_all_of_them_anew(
    page: Any, asked: list[dict[str, Any]]
) -> None:
    page.set_viewport_size({"width": 800, "height": 400})  # the end of the book is not in view
    browsing.ask(page, "*", shelf.QUESTIONS[0][1])
    page.locator(".open").click()
    page.locator("#pages mark").first.wait_for()
    page.locator("#read-here").click()
    browsing.answered(page)
    [(book, share)] = asked[-1]["before"].items()
    assert book == "lantern"
    expect(page.locator("#together summary")).to_have_text("3 books, 1 not yet read to the end")
    page.locator("#together summary").click()
    first = page.locator("#together li button").first
    expect(first).to_have_text(f"The Lamp at Quill Point{share[:-1]}\u00a0% read")
    first.click()
    expect(page.locator("#length")).to_be_visible()
    assert page.locator("#read").input_value() == share[:-1]


def test_the_history_keeps_back_an_answer_from_further_on_than_has_been_read_since(page: Any) -> None:
    browsing.ask(page, "shelf:water", STORM)
    browsing.ask(page, "shelf:water", QUESTION)
    expect(page.locator("#asked .text")).to_have_text([QUESTION, STORM])
    page.goto("/#book=clock")
    expect(page.locator("#asked-elsewhere .quiet").first).to_contain_text("By the water")
    page.goto("/#book=lantern&read=30")
    kept_back = page.locator("#asked-elsewhere li").filter(has_text=STORM)
    expect(kept_back).to_contain_text("Answered from further on than you have read")
    kept_back.locator("button").click()
    expect(page.locator("#book-title")).to_have_text("By the water")
    browsing.answered(page)
    expect(page.locator("#asked li").first).not_to_contain_text("further on")


# Goes on to another book in the very moment in which the one that is opened has come.
GO_ON = """() => {
  const { json } = Response.prototype;
  Response.prototype.json = async function () {
    const read = await json.call(this);
    if (new URL(this.url).pathname === "/books/clock") location.hash = "#book=lantern&read=30";
    return read;
  };
  location.hash = "#book=clock";
}"""


def test_who_goes_on_while_a_book_is_opened_is_not_taken_back(page: Any) -> None:
    page.goto("/#book=well")
    expect(page.locator("#book-title")).to_have_text("The Well")
    page.evaluate(GO_ON)
    expect(page.locator("#book-title")).to_have_text("The Lamp at Quill Point")
    assert page.locator("#read").input_value() == "30"


def test_a_book_that_is_removed_is_asked_no_more(page: Any, asked: list[dict[str, Any]]) -> None:
    browsing.ask(page, "clock,lantern,well", QUESTION)
    page.locator("#book").click()
    remove = page.locator("#books li").filter(has_text="The Well").locator(".remove")
    remove.click()
    remove.click()
    expect(page.locator("#books li")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator("#book-title")).to_have_text("The Clock of Vell and The Lamp at Quill Point")
    page.goto("/#book=clock,well")
    expect(page.locator("#error")).to_contain_text("not here")


def test_a_shelf_that_is_not_there_is_said_to_be_and_another_can_be_chosen(page: Any) -> None:
    page.goto(f"/#book=shelf:watre&q={QUESTION.replace(' ', '+')}")
    expect(page.locator("#error")).to_contain_text("This shelf is not here")
    page.locator("#near button").filter(has_text="By the water").click()
    browsing.answered(page)
    expect(page.locator("#book-title")).to_have_text("By the water")


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", browsing.WIDTHS)
def test_several_books_have_no_fault_that_axe_finds_and_fit_the_screen(
    chromium: Any, url: str, colours: str, size: str
) -> None:
    with browsing.visiting(chromium, url, **browsing.looks(colours, size)) as page:
        page.goto("/#book=lantern&read=50")
        expect(page.locator("#read-about")).to_contain_text("50\u00a0%")
        page.locator("#book").click()
        page.locator("#books input").first.check()
        browsing.check(page, "choosing")
        page.locator("#books input").last.check()
        page.locator("#ticked button").click()
        expect(page.locator("#question")).to_be_focused()
        page.locator("#together summary").click()
        browsing.check(page, "chosen")
        held: list[Any] = []
        page.route("**/answer", lambda route: held.append(route))
        page.locator("#question").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_have_text("Searching 2 books …")
        browsing.check(page, "answering")
        held.pop().continue_()
        page.unroute("**/answer")
        browsing.answered(page)
        page.locator("#answer details").click()
        browsing.check(page, "answer")
        page.locator(".open").click()
        page.locator("#pages mark").first.wait_for()
        browsing.check(page, "reader")
        page.goto("/#book=shelf:watre")
        page.locator("#near button").wait_for()
        browsing.check(page, "error")

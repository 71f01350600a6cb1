"""The page before there is a book, and when there is none: the first screen, files, and what goes wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import new_key, running

from indexing.formats.media_type import FOLDER_SUFFIXES
from indexing.store import IndexStore
from service import problems
from service.app import create_app
from service.http_errors import Refused
from service.page import FILES
from service.sample_story import BOOK_ID, story, suggested_questions

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

browser_test = pytest.mark.browser


@pytest.fixture
def empty(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """A page of a service without books."""
    app = create_app(browsing.settings(IndexStore(tmp_path)))
    with running(app) as url, browsing.visiting(chromium, url) as page:
        page.goto("/")
        yield page


@pytest.fixture
def stocked(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """A page of a service whose books may change."""
    app = create_app(browsing.settings(shelf.stock(tmp_path)))
    with running(app) as url, browsing.visiting(chromium, url) as page:
        yield page


def posts(page: Any) -> list[str]:
    """The addresses that are posted to, from now on."""
    found: list[str] = []
    page.on("request", lambda request: found.append(request.url) if request.method == "POST" else None)
    return found


def file(name: str, text: str = "The mill stood by the river.", kind: str = "text/plain") -> dict[str, Any]:
    return {"name": name, "mimeType": kind, "buffer": text.encode()}


# The first screen


def test_the_sample_story_is_served_to_whoever_may_see_the_page(tmp_path: Path) -> None:
    new_key(tmp_path / "keys.json", "reader", "read")
    app = create_app(browsing.settings(IndexStore(tmp_path / "store"), state=tmp_path))
    with running(app) as url:
        about = httpx.get(f"{url}/page/sample.json").json()
        assert about == {"book_id": BOOK_ID, "questions": suggested_questions()}
        assert len(about["questions"]) == 5
        text = httpx.get(f"{url}/page/sample.txt")
    assert text.headers["content-type"] == "text/plain; charset=utf-8"
    assert text.content == story().read_bytes()


def in_pages_of_two(page: Any) -> list[str]:
    """Have the page fetch two books at once, not a thousand; the lists that it asks for, from now on."""

    def shorten(route: Any) -> None:
        script = route.fetch()
        assert script.text().count("PAGE = 1000;") == 1
        route.fulfill(response=script, body=script.text().replace("PAGE = 1000;", "PAGE = 2;"))

    page.route("**/library.js", shorten)
    found: list[str] = []
    page.on(
        "request", lambda one: found.append(one.url.partition("/books")[2]) if "/books" in one.url else None
    )
    return found


@browser_test
def test_a_page_of_books_is_fetched_and_more_on_request(stocked: Any) -> None:
    lists = in_pages_of_two(stocked)
    stocked.goto("/")
    expect(stocked.locator("#book-about")).to_have_text("More than 2 books to ask.")
    stocked.locator("#book").click()
    expect(stocked.locator("#books .title")).to_have_text(["The Clock of Vell", "The Lamp at Quill Point"])
    expect(stocked.locator("#shelves .choose")).to_have_text("All booksmore than 2 books")
    stocked.locator("#more-books").click()
    expect(stocked.locator("#books li")).to_have_count(3)
    expect(stocked.locator("#more-books")).to_be_hidden()
    expect(stocked.locator("#shelves .choose")).to_have_text("All books3 books")
    expect(stocked.locator("#book-about")).to_have_text("3 books to ask.")
    assert lists == ["?after=&limit=3", "?after=lantern&limit=3"]


@browser_test
@pytest.mark.parametrize("chosen", ["well", "clock,well"])
def test_what_was_asked_last_is_opened_though_it_is_not_on_the_first_page(stocked: Any, chosen: str) -> None:
    lists = in_pages_of_two(stocked)
    browsing.ask(stocked, chosen, "What was behind the barn?")
    stocked.goto("about:blank")
    stocked.goto("/")
    expect(stocked.locator("#book-title")).to_contain_text("The Well")
    assert {one for one in lists if not one.startswith("/")} == {"?after=&limit=3"}


@browser_test
def test_the_first_screen_takes_a_file(empty: Any) -> None:
    expect(empty.locator("#start")).to_be_visible()
    expect(empty.locator("#ask")).to_be_hidden()
    with empty.expect_file_chooser() as chooser:
        empty.locator("#choose").click()
    chooser.value.set_files(file("mill.txt"))
    expect(empty.locator("#book-title")).to_have_text("mill")
    expect(empty.locator("#start")).to_be_hidden()
    expect(empty.locator("#question")).to_be_focused()


@browser_test
def test_a_question_of_the_first_screen_adds_the_sample_story_and_is_answered(empty: Any) -> None:
    question = suggested_questions()[1]
    empty.locator("#sample button").filter(has_text=question).click()
    browsing.answered(empty)
    expect(empty.locator("#book-title")).to_have_text(re.compile("the weigher of sandry quay", re.I))
    expect(empty.locator("#question")).to_have_value(question)
    expect(empty.locator("#library")).to_be_hidden()
    assert f"book={BOOK_ID}&" in empty.url


@browser_test
def test_the_sample_story_is_added_once_and_suggests_questions_where_all_of_it_may_be_known(
    empty: Any,
) -> None:
    empty.locator("#open-sample").click()
    suggestions = empty.locator("#suggestions button")
    expect(suggestions).to_have_text(suggested_questions())
    empty.locator("#read").focus()
    empty.keyboard.press("PageDown")
    expect(empty.locator("#suggestions")).to_be_hidden()
    empty.keyboard.press("End")
    suggestions.first.click()
    browsing.answered(empty)
    expect(empty.locator("#suggestions")).to_be_hidden()
    sent = posts(empty)
    empty.goto("/?#book=nothing")
    empty.locator("#open-sample").click()
    expect(empty.locator("#suggestions")).to_be_visible()
    assert sent == []


# Files


def test_the_page_takes_the_files_that_can_be_read() -> None:
    html = (FILES / "index.html").read_text(encoding="utf-8")
    [accept] = re.findall(r'accept="([^"]+)"', html)
    assert {*accept.split(",")} == {*FOLDER_SUFFIXES, ".md", ".markdown"} - {".content"}


@browser_test
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (file("mill.XLSX", "PK", "application/octet-stream"), "XLSX files cannot be read"),
        (file("mill.kfx", "CONT", ""), "KFX files cannot be read"),
        (file("mill.txt", ""), "This file is empty"),
    ],
)
def test_what_cannot_be_a_book_is_refused_before_it_is_sent(
    empty: Any, given: dict[str, Any], reason: str
) -> None:
    sent = posts(empty)
    empty.locator("#file").set_input_files(given)
    expect(empty.locator("#uploads .failed")).to_contain_text(reason)
    assert sent == []


@browser_test
@pytest.mark.parametrize("name", ["mill", "Mr. Smith's mill", "mill.log", "mill.MD"])
def test_text_is_sent_whatever_it_is_called(empty: Any, name: str) -> None:
    empty.locator("#file").set_input_files(file(name))
    expect(empty.locator("#question")).to_be_focused()
    expect(empty.locator("#book-about")).to_contain_text("6 words")


# What goes wrong


@browser_test
def test_nothing_of_a_book_stays_in_sight_where_the_next_one_is_not_there(stocked: Any) -> None:
    browsing.ask(stocked, *shelf.QUESTIONS[2], read=80)
    stocked.evaluate("location.hash = '#book=lantem'")
    expect(stocked.locator("#error")).to_contain_text("not here")
    expect(stocked.locator("#book-title")).to_have_text("Choose a book")
    expect(stocked.locator("#book-about")).to_have_text("3 books to ask.")
    expect(stocked.locator("#start")).to_be_visible()
    for gone in ("#ask", "#answer", "#suggestions"):
        expect(stocked.locator(gone)).to_be_hidden()
    expect(stocked.locator("#strip button")).to_have_count(0)
    assert stocked.title() == "storyqa"
    stocked.go_back()
    browsing.answered(stocked)
    expect(stocked.locator("#error")).to_be_hidden()


@browser_test
def test_a_book_that_is_removed_while_it_is_open_is_closed(stocked: Any, tmp_path: Path) -> None:
    browsing.ask(stocked, *shelf.QUESTIONS[2])
    IndexStore(tmp_path).remove("lantern")
    stocked.locator("#question").fill("Who owed Ines a ship?")
    stocked.keyboard.press("Enter")
    expect(stocked.locator("#error")).to_contain_text("not here")
    expect(stocked.locator("#book-about")).to_have_text("2 books to ask.")
    expect(stocked.locator("#answer")).to_be_hidden()


@browser_test
def test_what_went_wrong_is_tried_again_and_not_what_was_done_since(stocked: Any) -> None:
    held: list[Any] = []
    stocked.route("**/answer", lambda route: held.append(route))
    stocked.goto("/#book=lantern&q=Who+kept+the+lighthouse%3F")
    expect(stocked.locator("#status")).to_contain_text("Searching")
    stocked.locator("#strip button").first.press("Enter")
    stocked.locator("#pages p").first.wait_for()
    stocked.keyboard.press("Escape")
    held[0].abort()
    expect(stocked.locator("#error")).to_contain_text("cannot be reached")
    stocked.unroute("**/answer")
    stocked.locator("#retry").click()
    browsing.answered(stocked)


@browser_test
def test_what_something_else_than_the_service_answers_is_said_in_words(stocked: Any) -> None:
    stocked.route(
        "**/books/lantern", lambda route: route.fulfill(content_type="text/html", body="<h1>Sign in</h1>")
    )
    stocked.goto("/#book=lantern")
    expect(stocked.locator("#error p")).to_have_text(
        "Something else than this service has answered, such as the sign-in page of a network. Try again."
    )
    stocked.unroute("**/books/lantern")
    stocked.locator("#retry").click()
    expect(stocked.locator("#book-title")).to_have_text("The Lamp at Quill Point")


@browser_test
def test_a_book_is_waited_for_while_the_service_cannot_be_reached(empty: Any) -> None:
    lost: list[Any] = []

    def cut(route: Any) -> None:
        lost.append(route.abort())
        if len(lost) == 2:
            empty.unroute("**/jobs/**")

    empty.route("**/jobs/**", cut)
    empty.locator("#file").set_input_files(file("mill.txt"))
    expect(empty.locator("#book-title")).to_have_text("mill", timeout=5 * browsing.PATIENCE_MS)
    assert len(lost) == 2


ADVICE = "run: storyqa index SOURCE --force, set STORYQA_STATE, send id=mill and the header Authorization"


def kinds() -> dict[str, int]:
    """Every kind of problem with a status that it comes with, but those that the service says to readers."""
    source = Path(problems.__file__).read_text(encoding="utf-8")
    found = {kind: int(status) for status, kind in re.findall(r'_problem\((\d+), detail, "([\w-]+)"', source)}
    found |= {refused.kind: refused.status for refused in Refused.__subclasses__()}
    found |= dict.fromkeys(("overloaded", "not-ready", "model-endpoint"), 503)
    return {kind: status for kind, status in found.items() if kind != "invalid-request"}


@browser_test
def test_no_kind_of_problem_gives_advice_for_a_command_line(stocked: Any) -> None:
    stocked.goto("/#book=lantern")
    now: dict[str, Any] = {}
    closed: list[str] = []

    def refuse(route: Any) -> None:
        body = {"type": f"urn:storyqa:problem:{now['kind']}", "status": now["status"], "detail": ADVICE}
        route.fulfill(status=now["status"], content_type="application/problem+json", body=json.dumps(body))

    stocked.route("**/books/lantern/text*", refuse)
    assert len(kinds()) > 12
    for kind, status in {**kinds(), "anything-new": 500, "something-new": 503}.items():
        if status in (401, 429, 503):
            continue  # asked again first, or a key is asked for
        now.update(kind=kind, status=status)
        stocked.locator("#strip button").first.press("Enter")
        stocked.keyboard.press("Escape")
        expect(stocked.locator("#error")).to_be_visible()  # it is hidden from the click on
        expect(stocked.locator("#error p")).to_have_text(re.compile(r"^[A-Z].*\.$"))
        said = stocked.locator("#error p").text_content()
        assert not re.search(r"storyqa|STORYQA|--|id=|header", said), f"{kind}: {said}"
        if stocked.locator("#ask").is_hidden():  # a book that is not here is closed
            closed.append(kind)
            stocked.locator("#book").click()
            stocked.locator("#books button").filter(has_text="Lamp").click()
            expect(stocked.locator("#question")).to_be_focused()
    assert closed == ["unknown-book", "unknown-shelf", "no-book"]


@browser_test
def test_a_key_that_no_header_may_have_is_asked_for_anew_or_cleaned(chromium: Any, tmp_path: Path) -> None:
    right = new_key(tmp_path / "keys.json", "page", "read")
    app = create_app(browsing.settings(IndexStore(tmp_path / "store"), state=tmp_path))
    with running(app) as url, browsing.visiting(chromium, url) as page:
        page.goto("/docs")
        page.evaluate("sessionStorage.setItem('storyqa.key', 'sqa\u2013wrong')")
        with page.expect_response("**/shelves"):  # which wants a key, too, and must not ask for it later
            page.goto("/")
        expect(page.locator("#key-about")).to_have_text("That key is unknown, or was revoked.")
        page.keyboard.press("Escape")
        expect(page.locator("#error")).to_be_visible()
        expect(page.locator("#book-about")).to_be_empty()  # nobody has said that there are no books
        page.locator("#retry").click()
        page.locator("#key-text").fill(f"{right}\u200b")
        page.keyboard.press("Enter")
        expect(page.locator("#book-about")).to_have_text("There are no books yet.")


@browser_test
def test_the_dialog_for_a_key_says_whom_to_ask_and_what_was_wrong_with_the_last(
    chromium: Any, tmp_path: Path
) -> None:
    read_only = new_key(tmp_path / "keys.json", "page", "read")
    app = create_app(browsing.settings(IndexStore(tmp_path / "store"), state=tmp_path))
    with running(app) as url, browsing.visiting(chromium, url) as page:
        page.goto("/")
        expect(page.locator("#key-about")).to_have_text("Ask whoever runs this service for one.")
        page.locator("#key-text").fill("wrong")
        page.keyboard.press("Enter")
        expect(page.locator("#key-about")).to_have_text("That key is unknown, or was revoked.")
        page.locator("#key-text").fill(read_only)
        page.keyboard.press("Enter")
        expect(page.locator("#book-about")).to_have_text("There are no books yet.")
        page.locator("#open-sample").click()
        expect(page.locator("#uploads .failed")).to_contain_text("for asking and reading")

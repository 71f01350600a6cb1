"""The page as one reads: what was read is remembered, nothing later is shown, every place is at hand."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import httpx
import last_place
import pytest
import shelf
from chat_server import chatting, held
from server import running

from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from service.app import create_app

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

pytestmark = pytest.mark.browser

LATE = ("lantern", "What did Captain Thorne bring to thank her?")  # which the last chapter tells
FOLLOW_UP = "Where had she hidden the good oil?"


@pytest.fixture(scope="module")
def url(shelf_store: IndexStore) -> Iterator[str]:
    with running(create_app(browsing.settings(shelf_store))) as url:
        yield url


@pytest.fixture
def page(chromium: Any, url: str) -> Iterator[Any]:
    with browsing.visiting(chromium, url) as page:
        yield page


def choose(page: Any, title: str) -> None:
    page.locator("#book").click()
    page.locator("#books button").filter(has_text=title).click()
    expect(page.locator("#book-title")).to_have_text(title)


def read_up_to(page: Any, share: int) -> None:
    """Move the slider there, as a hand does."""
    page.locator("#read").evaluate(
        """(slider, share) => {
          slider.value = share;
          for (const type of ["input", "change"]) slider.dispatchEvent(new Event(type, {bubbles: true}));
        }""",
        share,
    )
    expect(page).to_have_url(re.compile(rf"read={share}\b") if share != 100 else re.compile(r"^[^=]*book="))


# What has been read


def test_what_has_been_read_is_remembered_for_each_book(page: Any) -> None:
    page.goto("/#book=lantern")
    expect(page.locator("#question")).to_be_focused()
    read_up_to(page, 40)
    choose(page, "The Well")
    expect(page.locator("#read")).to_have_value("100")
    choose(page, "The Lamp at Quill Point")
    expect(page.locator("#read")).to_have_value("40")
    page.goto("/?")
    expect(page.locator("#book-title")).to_have_text("The Lamp at Quill Point")
    expect(page.locator("#read")).to_have_value("40")


def test_an_address_may_say_less_than_has_been_read_but_not_more(page: Any) -> None:
    page.goto("/#book=lantern&read=30")
    expect(page.locator("#read")).to_have_value("30")
    bodies: list[Any] = []
    page.on("request", lambda request: bodies.append(request.post_data_json) if request.post_data else None)
    for given, share in (("&read=80", 30), ("", 30), ("&read=20", 20)):
        page.goto(f"/?{share}#book=lantern&q=Who+kept+the+lighthouse%3F{given}")
        browsing.answered(page)
        assert bodies.pop()["before"] == f"{share}%"
        expect(page).to_have_url(re.compile(rf"read={share}\b"))


@pytest.mark.parametrize(
    ("said", "share"),
    [("40%", 40), ("40%25", 40), ("40.96+%25", 40.9), ("100%", 100), ("half", 0), ("-1", 0), ("400", 0)],
)
def test_an_address_may_end_a_share_with_a_sign_and_what_is_no_share_is_nothing(
    page: Any, said: str, share: float
) -> None:
    page.goto(f"/#book=lantern&read={said}")
    expect(page.locator("#read")).to_have_value(str(share))
    expect(page.locator("#read-about")).not_to_have_text("the whole book" if share < 100 else "nothing yet")


def test_without_storage_what_has_been_read_is_known_for_this_visit(chromium: Any, url: str) -> None:
    with browsing.visiting(chromium, url) as page:
        page.add_init_script(
            "Object.defineProperty(window, 'localStorage', {get() { throw new Error('off') }})"
        )
        page.goto("/#book=lantern&read=40")
        expect(page.locator("#read")).to_have_value("40")
        choose(page, "The Well")
        choose(page, "The Lamp at Quill Point")
        expect(page.locator("#read")).to_have_value("40")


def test_moving_the_slider_leaves_the_focus_on_it(page: Any) -> None:
    page.goto("/#book=lantern")
    expect(page.locator("#question")).to_be_focused()
    page.locator("#read").focus()
    page.keyboard.press("PageDown")
    expect(page).to_have_url(re.compile("read=90"))
    expect(page.locator("#read")).to_be_focused()


def test_what_is_being_typed_stays_when_the_slider_is_moved(page: Any) -> None:
    page.goto("/#book=lantern")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type("Who kept the lighthouse?")
    read_up_to(page, 40)
    expect(page.locator("#question")).to_have_value("Who kept the lighthouse?")
    page.locator("#submit").click()
    browsing.answered(page)
    expect(page).to_have_url(re.compile(r"q=Who\+kept\+the\+lighthouse%3F&read=40"))


def test_the_history_hides_answers_from_further_on_than_has_been_read(page: Any) -> None:
    browsing.ask(page, *LATE)
    answer = page.locator(".said").text_content()
    asked = page.locator("#asked button")
    expect(asked).to_contain_text(answer)
    read_up_to(page, 40)
    browsing.answered(page)
    later = asked.filter(has_text="Answered from further on")
    expect(later).to_contain_text(LATE[1])
    expect(later).not_to_contain_text(answer)
    later.click()
    browsing.answered(page)
    expect(page.locator("#read")).to_have_value("40")
    read_up_to(page, 100)
    browsing.answered(page)
    expect(asked.first).to_contain_text(answer)
    expect(asked.filter(has_text="Answered from further on")).to_have_count(0)


def test_an_answer_that_comes_after_the_slider_was_moved_back_is_never_shown(page: Any) -> None:
    held: list[Any] = []
    page.route("**/answer", lambda route: route.continue_() if held else held.append(route))
    page.goto(f"/#book=lantern&q={LATE[1].replace(' ', '+')}")
    expect(page.locator("#status")).to_contain_text("Searching")
    while not held:
        page.wait_for_timeout(20)
    page.evaluate("""() => {
      window.latest = 0;
      new MutationObserver(() => {
        for (const p of document.querySelectorAll("#answer p[data-end]")) {
          window.latest = Math.max(window.latest, Number(p.dataset.end));
        }
      }).observe(document.querySelector("#answer"), {subtree: true, childList: true});
    }""")
    read_up_to(page, 40)
    browsing.answered(page)
    assert 0 < page.evaluate("window.latest") <= 40 * len(shelf.LANTERN) // 100


def test_reading_less_than_a_hundredth_is_not_taken_for_a_hundredth(page: Any) -> None:
    page.goto("/#book=lantern&read=0&q=Who+kept+the+lighthouse%3F")
    expect(page.locator("#answer")).to_contain_text("nothing to read before that place")
    expect(page.locator("#read")).to_have_value("0")
    expect(page.locator("#read-about")).to_have_text("nothing yet")


def test_reading_to_the_end_of_what_may_be_read_takes_nothing_back(page: Any) -> None:
    for share in (40, 37, 100):
        page.goto(f"/?{share}#book=lantern")
        expect(page.locator("#question")).to_be_focused()
        read_up_to(page, share)
        page.locator("#strip").click(position={"x": 2, "y": 4})
        page.locator("#pages p").first.wait_for()
        page.locator("#pages").evaluate("pages => { pages.scrollTop = pages.scrollHeight; }")
        page.locator("#read-here").click()
        expect(page.locator("#reader")).to_be_hidden()
        expect(page.locator("#read")).to_have_value(str(share))


def test_a_book_that_cannot_be_fetched_is_said_to_and_takes_nothing_back(page: Any) -> None:
    page.goto("/#book=lantern&read=40")
    expect(page.locator("#question")).to_be_focused()
    page.context.set_offline(True)
    page.locator("#strip").click(position={"x": 2, "y": 4})
    expect(page.locator("#error")).to_contain_text("cannot be reached")
    expect(page.locator("#reader")).to_be_hidden()
    page.context.set_offline(False)
    page.locator("#retry").click()
    page.locator("#pages p").first.wait_for()
    page.context.set_offline(True)
    page.locator("#chapter").select_option(index=1)
    expect(page.locator("#reader-at")).to_contain_text("cannot be reached")
    page.locator("#read-here").click()
    expect(page.locator("#reader")).to_be_visible()
    expect(page.locator("#read")).to_have_value("40")


def test_going_back_to_another_book_closes_the_one_that_is_being_read(page: Any) -> None:
    page.goto("/#book=lantern")
    choose(page, "The Well")
    page.locator("#strip").click(position={"x": 2, "y": 4})
    page.locator("#pages p").first.wait_for()
    page.go_back()
    expect(page.locator("#book-title")).to_have_text("The Lamp at Quill Point")
    expect(page.locator("#reader")).to_be_hidden()


def test_going_to_an_address_that_lets_less_be_read_closes_the_book(page: Any) -> None:
    page.goto("/#book=lantern&at=0-5")
    expect(page.locator("#pages")).to_contain_text("The Bill")
    page.goto("/#book=lantern&read=40")
    expect(page.locator("#read")).to_have_value("40")
    expect(page.locator("#reader")).to_be_hidden()


def test_going_back_to_another_question_closes_the_book_that_would_hide_it(page: Any) -> None:
    for _, question in (shelf.QUESTIONS[0], shelf.QUESTIONS[2]):
        browsing.ask(page, "lantern", question)
    page.locator(".open").click()
    page.locator("#pages mark").first.wait_for()
    page.go_back()
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator("#question")).to_have_value(shelf.QUESTIONS[0][1])
    browsing.answered(page)


def test_the_place_that_the_book_is_open_at_is_kept_in_the_address(chromium: Any, tmp_path: Path) -> None:
    days = [f"On day {n} the ferryman wrote {n} words in his book and slept." for n in range(600)]
    store = IndexStore(tmp_path)
    for id in ("ferry", "weir"):
        build_book(Book(id, f"The {id}", "\n\n".join(days), id), BuildSettings(), store)
    question = "What did the ferryman do on day 300?"
    with running(create_app(browsing.settings(store))) as url, browsing.visiting(chromium, url) as page:
        browsing.ask(page, "ferry", question)
        asked = re.escape(page.url)
        page.locator(".open").click()
        start, end, words = browsing.marked(page, "#pages")
        expect(page).to_have_url(re.compile(f"^{asked}&at={start}-{end}$"))
        page.reload()
        expect(page.locator("#pages mark").first).to_be_in_viewport()
        assert browsing.marked(page, "#pages") == (start, end, words)
        page.locator("#pages").evaluate("pages => (pages.scrollTop += 600)")
        expect(page).to_have_url(re.compile(r"&at=\d+$"))
        first = page.locator("#pages p").evaluate_all(
            """(all) => all.find((p) => p.getBoundingClientRect().bottom
                > p.closest("#pages").getBoundingClientRect().top + 8).textContent"""
        )
        assert first not in (days[0], days[300])
        page.goto("/?#book=weir")
        expect(page.locator("#book-title")).to_have_text("The weir")
        expect(page.locator("#reader")).to_be_hidden()
        for back in (page.go_back, page.reload):
            back()
            expect(page.locator("#book-title")).to_have_text("The ferry")
            expect(page.locator("#pages p").filter(has_text=first)).to_be_in_viewport()
        page.keyboard.press("Escape")
        expect(page).to_have_url(re.compile(f"^{asked}$"))
        browsing.answered(page)
        expect(page.locator("#question")).to_have_value(question)


def test_another_tab_learns_how_far_a_book_has_been_read(page: Any) -> None:
    browsing.ask(page, *LATE)
    other = page.context.new_page()
    other.goto("/#book=lantern")
    expect(other.locator("#read")).to_have_value("100")
    page.locator(".open").click()
    page.locator("#pages mark").first.wait_for()
    bodies: list[Any] = []
    page.on("request", lambda request: bodies.append(request.post_data_json) if request.post_data else None)
    for share in (40, 70):
        read_up_to(other, share)
        expect(page.locator("#read")).to_have_value(str(share))
        expect(page).to_have_url(re.compile(rf"read={share}\b"))
        browsing.answered(page)
        assert bodies[-1]["before"] == f"{share}%"
    expect(page.locator("#reader")).to_be_hidden()
    choose(other, "The Well")
    read_up_to(other, 20)
    expect(other.locator("#read")).to_have_value("20")
    page.wait_for_function("localStorage.getItem('storyqa.read').includes('well')")
    expect(page.locator("#read")).to_have_value("70")
    assert len(bodies) == 2


@pytest.mark.parametrize("joint", ["\n\n", " "])
def test_one_has_read_up_to_the_last_line_in_view_to_a_thousandth_of_the_book(
    chromium: Any, tmp_path: Path, joint: str
) -> None:
    sentences = [f"On day {n} the ferryman wrote {n} words in his book and slept." for n in range(1400)]
    text = joint.join(sentences)
    store = IndexStore(tmp_path)
    build_book(Book("ferry", "The Ferry", text, "ferry.txt"), BuildSettings(), store)
    with running(create_app(browsing.settings(store))) as url, browsing.visiting(chromium, url) as page:
        bodies: list[Any] = []
        page.on("request", lambda one: bodies.append(one.post_data_json) if one.post_data else None)
        at = text.index(sentences[400])
        page.goto(f"/#book=ferry&at={at}-{at + len(sentences[400])}")
        page.locator("#pages mark").first.wait_for()
        below = page.locator("#pages").evaluate(FIRST_BELOW)
        assert at < below < len(text)
        page.locator("#read-here").click()
        expect(page.locator("#reader")).to_be_hidden()
        share = page.locator("#read").input_value()
        limit = int(Fraction(share) * len(text) / 100)
        line = 100  # characters, which may be in view but for its lower edge
        assert below - len(text) / 1000 - line < limit <= below
        page.locator("#question").fill("What did the ferryman do on day 100?")
        page.keyboard.press("Enter")
        browsing.answered(page)
        assert bodies[-1]["before"] == f"{share}%"
        page.locator("#strip").click(position={"x": 400, "y": 4})
        expect(page.locator("#pages")).to_contain_text("You have read up to here.")
        assert page.locator("#pages p[data-end]").last.get_attribute("data-end") == str(limit)
        page.reload()
        expect(page.locator("#read")).to_have_value(share)


# The offset of the first character of the open book that stands, in part at least, below the lower edge.
FIRST_BELOW = """(pages) => {
  const bottom = pages.getBoundingClientRect().bottom;
  const range = document.createRange();
  for (const p of pages.querySelectorAll("p[data-start]")) {
    let at = Number(p.dataset.start);
    const texts = document.createTreeWalker(p, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      for (let i = 0; i < texts.currentNode.length; i += 1, at += 1) {
        range.setStart(texts.currentNode, i);
        range.setEnd(texts.currentNode, i + 1);
        if (range.getBoundingClientRect().bottom > bottom) return at;
      }
    }
  }
}"""


def test_what_opens_slowly_is_said_to_be_on_its_way(page: Any) -> None:
    page.goto("/#book=lantern")
    held: list[Any] = []
    page.route("**/text?*", lambda route: held.append(route))
    page.locator("#strip button").first.press("Enter")
    expect(page.locator("#reader-at")).to_have_text("Fetching the text …")
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    expect(page.locator("#reader-at")).to_have_text("0\u00a0%")


def test_the_skip_link_leaves_the_question_in_the_address(page: Any) -> None:
    browsing.ask(page, *LATE)
    before = page.url
    page.locator(".skip").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_be_focused()
    assert page.url == before


# The stages


def test_the_passages_are_shown_before_the_answer_is_read(chromium: Any, shelf_store: IndexStore) -> None:
    gate = threading.Event()
    with chatting(held(gate)) as endpoint:
        settings = browsing.settings(shelf_store).model_copy(
            update={"reader": f"chat:{endpoint.url}@model=parrot"}
        )
        app = create_app(settings)
        threading.Timer(0, gate.set).start()  # the reader is warmed before the first question
        with running(app) as url, browsing.visiting(chromium, url) as page:
            try:
                while httpx.get(f"{url}/readyz").status_code != 200:
                    pass
                gate.clear()
                page.goto("/#book=lantern&q=Who+kept+the+lighthouse%3F")
                expect(page.locator("#status")).to_have_text("Found 5 passages; reading …")
                expect(page.locator(".found li")).to_have_count(5)
                expect(page.locator(".found li").first).to_contain_text("Old Ines kept the lighthouse")
                expect(page.locator("#strip .passages button")).to_have_count(5)
                assert page.locator("#answer").get_attribute("aria-busy") == "true"
                gate.set()
                browsing.answered(page)
                expect(page.locator(".found")).to_have_count(0)
                expect(page.locator("#answer summary")).to_have_text("Read for this: 5 passages")
            finally:
                gate.set()


def test_a_stream_that_breaks_off_or_tells_of_a_problem_is_said_to(page: Any) -> None:
    page.route(
        "**/answer",
        lambda route: route.fulfill(content_type="text/event-stream", body=": still at it\n\n"),
    )
    page.goto("/#book=lantern&q=Who+kept+the+lighthouse%3F")
    expect(page.locator("#error")).to_contain_text("ended before the answer")
    page.unroute("**/answer")
    failed = {"type": "urn:storyqa:problem:model-endpoint", "status": 502, "detail": "at http://model"}
    page.route(
        "**/answer",
        lambda route: route.fulfill(
            content_type="text/event-stream", body=f"event: problem\ndata: {json.dumps(failed)}\n\n"
        ),
    )
    page.locator("#retry").click()
    expect(page.locator("#error")).to_contain_text("The model that answers cannot be reached")
    page.unroute("**/answer")
    page.locator("#retry").click()
    browsing.answered(page)


def test_a_book_that_is_replaced_while_it_is_asked_is_opened_anew(chromium: Any, tmp_path: Path) -> None:
    store = shelf.stock(tmp_path)
    with running(create_app(browsing.settings(store))) as url, browsing.visiting(chromium, url) as page:
        browsing.ask(page, "well", shelf.QUESTIONS[7][1])
        longer = shelf.WELL + "\n\n" + shelf.CLOCK
        build_book(Book("well", "The Well, continued", longer, "tests/well"), BuildSettings(words=30), store)
        page.locator("#question").fill(shelf.QUESTIONS[6][1])
        page.keyboard.press("Enter")
        expect(page.locator("#book-title")).to_have_text("The Well, continued")
        browsing.answered(page)
        start = int(page.locator("#strip .pin button").get_attribute("data-start"))
        left = page.locator("#strip .pin button").evaluate("pin => parseFloat(pin.style.left)")
        assert left == pytest.approx(100 * start / len(longer), abs=0.01)


# The strip


def test_the_places_on_the_strip_can_be_visited_and_opened_with_the_keyboard(page: Any, url: str) -> None:
    book, question = shelf.QUESTIONS[2]
    answer = httpx.post(f"{url}/answer", json={"book_id": book, "question": question, "n_best": 5}).json()
    browsing.ask(page, book, question)
    page.locator("#submit").focus()
    page.keyboard.press("Tab")
    here = page.locator("#strip button:focus")
    expect(here).to_have_attribute("aria-label", re.compile(r"^The answer, II\. The Storm, "))
    page.keyboard.press("Home")
    expect(here).to_have_attribute("aria-label", re.compile(r"^The beginning, 0"))
    starts = []
    for _ in range(page.locator("#strip button").count()):
        starts.append(int(here.get_attribute("data-start")))
        page.keyboard.press("ArrowRight")
    wanted = [0, *(passage["start"] for passage in answer["passages"]), answer["evidence"]["start"]]
    assert starts == sorted(starts)
    assert set(wanted) <= set(starts)
    page.keyboard.press("Tab")
    expect(page.locator("#read")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(here).to_have_attribute("data-start", str(starts[-1]))
    while int(here.get_attribute("data-start")) > answer["evidence"]["start"]:
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(page.locator("#reader")).to_be_visible()
    expect(page.locator("#pages mark").first).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(here).to_have_attribute("data-start", str(answer["evidence"]["start"]))


def test_the_strip_names_no_chapter_that_has_not_been_reached(page: Any) -> None:
    page.goto("/#book=lantern&read=40")
    expect(page.locator("#strip .chapters i")).to_have_count(1)
    names = page.locator("#strip button").evaluate_all("all => all.map(b => b.ariaLabel).join()")
    assert "The Storm" in names
    assert "The Bill" not in names


def test_a_follow_up_is_understood_by_what_was_asked_before_it_and_not_in_another_book(page: Any) -> None:
    page.goto("/#book=lantern")
    for question in ("Who kept the lighthouse at Quill Point?", "Where had she hidden the good oil?"):
        page.locator("#question").fill(question)
        page.locator("#submit").click()
        browsing.answered(page)
        expect(page.locator("#asked")).to_contain_text(question)
    expect(page.locator("#answer .rewritten")).to_have_text(
        re.compile("Where had .*Ines hidden the good oil?")
    )
    choose(page, "The Well")
    page.locator("#question").fill("Where had she hidden the good oil?")
    page.locator("#submit").click()
    browsing.answered(page)
    expect(page.locator("#answer .rewritten")).to_be_hidden()


def test_a_follow_up_is_the_same_question_when_one_goes_back_to_it_or_loads_it_anew(page: Any) -> None:
    bodies: list[Any] = []
    page.on("request", lambda request: bodies.append(request.post_data_json) if request.post_data else None)
    page.goto("/#book=lantern")
    for question in (
        "Who kept the lighthouse at Quill Point?",
        FOLLOW_UP,
        "Who rowed ashore with salted plums?",
    ):
        type_question(page, question)
    first = bodies[1]
    assert (first["question"], len(first["conversation"])) == (FOLLOW_UP, 1)
    page.go_back()
    expect(page.locator("#question")).to_have_value(FOLLOW_UP)
    browsing.answered(page)
    assert bodies[-1] == first
    page.reload()
    browsing.answered(page)
    assert len(bodies) == 5
    assert bodies[-1] == first
    expect(page.locator("#answer .rewritten")).to_have_text(re.compile("Where had .*Ines hidden"))
    read_up_to(page, 10)  # what it followed was answered from further on
    expect(page.locator("#status")).not_to_have_text(re.compile("Searching|reading"))
    assert "conversation" not in bodies[-1]


def test_the_address_of_a_follow_up_asks_others_what_it_was_understood_as(
    page: Any, chromium: Any, url: str
) -> None:
    page.goto("/#book=lantern")
    for question in ("Who kept the lighthouse at Quill Point?", FOLLOW_UP):
        type_question(page, question)
    answer = page.locator(".said").text_content()
    understood = page.locator("#answer .rewritten").text_content().removeprefix("Asked as: ")
    with browsing.visiting(chromium, url) as other:
        other.goto(page.url)
        expect(other.locator("#question")).to_have_value(understood)
        browsing.answered(other)
        assert other.locator(".said").text_content() == answer
    page.reload()
    expect(page.locator("#question")).to_have_value(FOLLOW_UP)
    browsing.answered(page)


def test_a_follow_up_that_was_asked_before_is_asked_as_it_was_understood(page: Any) -> None:
    page.goto("/#book=lantern")
    for question in ("Who kept the lighthouse at Quill Point?", FOLLOW_UP):
        type_question(page, question)
    page.goto("/?#book=lantern")
    asked = page.locator("#asked button").filter(has_text=FOLLOW_UP)
    asked.click()
    browsing.answered(page)
    expect(page.locator("#question")).to_have_value(re.compile("^Where had .*Ines hidden the good oil"))
    page.goto("/?again#book=lantern&read=10")
    expect(page.locator("#read")).to_have_value("10")
    asked.filter(has_text="Answered from further on").click()
    expect(page.locator("#question")).to_have_value(FOLLOW_UP)  # whose name it has may lie ahead


def type_question(page: Any, question: str) -> None:
    page.locator("#question").fill(question)
    page.locator("#submit").click()
    browsing.answered(page)
    expect(page.locator("#asked")).to_contain_text(question)


def test_the_facts_that_an_answer_follows_from_can_be_looked_at(
    chromium: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last_place.install(monkeypatch)
    served = browsing.settings(last_place.stock(tmp_path)).model_copy(update={"reader": last_place.NAME})
    with running(create_app(served)) as url, browsing.visiting(chromium, url) as page:
        browsing.ask(page, last_place.BOOK, last_place.QUESTION)
        facts = page.locator(".chain button")
        expect(facts.locator(".text")).to_have_text(list(last_place.CHAIN))
        facts.last.click()
        expect(page.locator("figure mark")).to_have_text(last_place.CHAIN[-1])
        expect(facts).to_have_count(len(last_place.CHAIN))


def test_the_other_places_of_an_answer_can_be_looked_at(chromium: Any, tmp_path: Path) -> None:
    said = ["Irene kept the key.", *["Nobody spoke of it for a whole year."] * 12, "It was Irene."]
    store = IndexStore(tmp_path)
    build_book(Book("key", "The Key", " ".join(said * 2), "key.txt"), BuildSettings(words=40), store)
    served = browsing.settings(store).model_copy(update={"reader": "span"})
    with running(create_app(served)) as url, browsing.visiting(chromium, url) as page:
        page.goto("/#book=key")
        page.locator("#question").fill("Who kept the key?")
        page.keyboard.press("Enter")
        also = page.locator(".also")
        expect(also).to_contain_text("The same answer also stands at")
        before = page.locator("figure figcaption .quiet").inner_text()
        also.locator("button").last.click()
        expect(page.locator("figure figcaption .quiet")).not_to_have_text(before)
        expect(page.locator("figure mark")).to_have_text(page.locator(".said").inner_text())

"""What the page tells without a question: who is in a book, where they are named, who they are, a recap."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from server import running

from indexing.book import Book, Chapter
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from service.app import create_app

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

pytestmark = pytest.mark.browser

STORY = """\
I. The Ferry

The mayor of Sandry was Aldith Sarn, who owned two thirds of the salt pans. On Monday Aldith Sarn went
down to the harbour with Peter Brown. Nobody answered them there.

Peter Brown kept the ferry. He had never learned to swim. On Tuesday Peter Brown rowed the mayor across,
and she paid him in salt.

II. The Bell

In the evening Mr. Brown told Mary Turner, the mayor's sister, what he had seen. Mary Turner laughed at
Peter. It was Aldith Sarn, he said, who had stolen the bell.

III. The Bill

In the morning Aldith Sarn paid Mary Turner for the bell.
"""
HEADING = "II. In Which Aldith Sarn Sells the Ferry, the Bell and in the End the Salt Pans to a Stranger"
DAYS = " ".join(
    f"On day {day} Aldith Sarn went to the harbour, and there Peter Brown rowed her across."
    for day in range(20)
)
TOLL = f"I. The Toll\n\n{DAYS}\n\n{HEADING}\n\n{DAYS}"


def with_chapters(id: str, title: str, text: str, *headings: str) -> Book:
    starts = [text.index(heading) for heading in headings]
    chapters = tuple(
        Chapter(text[start : text.index("\n", start)], start, end)
        for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
    )
    return Book(id, title, text, f"{id}.txt", chapters)


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("ferry")
    store = IndexStore(folder / "store")
    ferry = with_chapters("ferry", "The Ferry", STORY, "I. The Ferry", "II. The Bell", "III. The Bill")
    build_book(ferry, BuildSettings(words=30), store)
    build_book(with_chapters("toll", "The Toll", TOLL, "I. The Toll", HEADING), BuildSettings(words=5), store)
    with running(create_app(browsing.settings(store, cache=folder / "cache"))) as url:
        yield url


@pytest.fixture
def page(chromium: Any, url: str) -> Iterator[Any]:
    with browsing.visiting(chromium, url) as page:
        yield page


def opened(page: Any, part: str, read: int = 100) -> None:
    """Open one of the parts of the ferry's story."""
    page.goto(f"/?#book=ferry&read={read}")
    page.locator(f'[aria-controls="{part}"]').click()
    page.locator(f"#{part} > :not([role])").first.wait_for()


def people(url: str, before: str = "100%") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = httpx.get(f"{url}/books/ferry/characters", params={"before": before}).json()
    return found


def test_everybody_is_shown_with_a_line_at_each_place_that_names_them(page: Any, url: str) -> None:
    opened(page, "people")
    wanted = people(url)
    assert len(wanted) > 1
    assert page.locator(".who .text").all_text_contents() == [one["name"] for one in wanted]
    for i, one in enumerate(wanted):
        strip = page.locator(".places").nth(i)
        lines = strip.locator("path").first.get_attribute("d")
        at = {round(1000 * start / len(STORY)) for start, _ in one["places"]}
        assert {int(line.partition(" ")[0]) for line in lines.split("M")[1:]} == at
        assert strip.get_attribute("aria-valuemax") == str(one["count"])


def test_the_places_are_gone_through_and_opened_with_the_keyboard(page: Any, url: str) -> None:
    opened(page, "people")
    first = people(url)[0]
    page.locator(".who").first.focus()
    page.keyboard.press("Tab")
    strip = page.locator(".places").first
    expect(strip).to_be_focused()
    expect(strip).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("ArrowLeft")
    expect(strip).to_have_attribute("aria-valuenow", "1")
    page.keyboard.press("End")
    expect(strip).to_have_attribute("aria-valuenow", str(first["count"]))
    expect(strip).to_have_attribute(
        "aria-valuetext", f"{first['last']['percent']:g}\u00a0%, {first['last']['chapter']}"
    )
    page.keyboard.press("Enter")
    expect(page.locator("#reader")).to_be_visible()
    assert browsing.marked(page, "#pages")[:2] == (first["last"]["start"], first["last"]["end"])


def test_a_click_on_the_strip_opens_the_nearest_place(page: Any, url: str) -> None:
    opened(page, "people")
    box = page.locator(".places").first.bounding_box()
    page.mouse.click(box["x"] + 1, box["y"] + box["height"] / 2)
    expect(page.locator("#reader")).to_be_visible()
    assert list(browsing.marked(page, "#pages")[:2]) == people(url)[0]["places"][0]
    expect(page.locator(".places").first).to_have_attribute("aria-valuenow", "1")


def test_who_somebody_is_is_quoted_and_each_quote_opens_the_book(page: Any, url: str) -> None:
    opened(page, "people")
    name = people(url)[0]["name"]
    told = httpx.get(f"{url}/books/ferry/who", params={"name": name}).json()["sentences"]
    page.locator(".who").first.press("Enter")
    expect(page.locator(".who").first).to_have_attribute("aria-expanded", "true")
    expect(page.locator(".told blockquote")).to_have_count(len(told))
    assert page.locator(".told blockquote").all_text_contents() == [one["text"] for one in told]
    page.locator(".told figcaption button").last.click()
    mark = page.locator("#pages .sentence").first
    expect(mark).to_have_attribute("data-start", str(told[-1]["start"]))
    page.keyboard.press("Escape")
    page.locator(".who").first.click()
    expect(page.locator(".told").first).to_be_hidden()


def test_of_words_that_are_selected_the_book_tells_who_that_is_so_far(page: Any, url: str) -> None:
    browsing.ask(page, "ferry", "Who kept the ferry?", read=60)
    page.locator(".open").first.click()
    page.locator("#pages mark").first.wait_for()
    limit = int(0.6 * len(STORY))
    told = httpx.get(f"{url}/books/ferry/who", params={"name": "Peter Brown", "before": limit}).json()
    assert told["sentences"]
    assert all(one["end"] <= limit for one in told["sentences"])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    browsing.select(page, "Peter Brown")
    page.get_by_role("button", name="Who is that, so far?").click()
    quotes = page.locator("#selected-told blockquote")
    expect(quotes).to_have_count(len(told["sentences"]))
    assert quotes.all_text_contents() == [one["text"] for one in told["sentences"]]
    assert [one for one in asked if "/who" in one and f"before={limit}" in one]
    page.locator("#selected-told button").last.click()
    last = str(told["sentences"][-1]["start"])
    expect(page.locator("#pages .sentence").first).to_have_attribute("data-start", last)
    expect(quotes).to_have_count(len(told["sentences"]))  # they stay while their places are looked at


def test_who_that_is_comes_too_late_once_the_limit_has_been_moved_back(page: Any, url: str) -> None:
    name, limit = "Aldith Sarn", int(0.6 * len(STORY))
    known = httpx.get(f"{url}/books/ferry/who", params={"name": name, "before": limit}).json()["sentences"]
    everything = httpx.get(f"{url}/books/ferry/who", params={"name": name}).json()["sentences"]
    assert [one for one in everything if one["end"] > limit]
    held: list[Any] = []
    page.route("**/who?*", lambda route: route.continue_() if held else held.append(route))
    browsing.ask(page, "ferry", "Who kept the ferry?")
    page.locator(".open").first.click()
    page.locator("#pages mark").first.wait_for()
    browsing.select(page, name)
    page.locator("#selected-who").click()
    expect(page.locator("#selected-told")).to_have_text("Reading …")
    page.keyboard.press("Escape")
    page.locator("#read").fill("60")
    page.locator("#strip .chapters button").first.press("Enter")
    page.locator("#pages p").first.wait_for()
    browsing.select(page, name)
    page.evaluate("""() => {
      window.told = "";
      const box = document.querySelector("#selected-told");
      new MutationObserver(() => { window.told += box.textContent; }).observe(box, {childList: true});
    }""")
    with page.expect_response("**/who?*") as late:
        held[0].continue_()
    late.value.finished()
    page.locator("#selected-who").click()
    quotes = page.locator("#selected-told blockquote")
    expect(quotes).to_have_text([one["text"] for one in known])
    told = page.evaluate("window.told")
    assert [one["text"] for one in everything if one["end"] > limit and one["text"] in told] == []


def test_of_words_that_are_selected_a_question_can_be_asked(page: Any) -> None:
    browsing.ask(page, "ferry", "Who kept the ferry?")
    page.locator(".open").first.click()
    page.locator("#pages mark").first.wait_for()
    expect(page.locator("#selected")).to_be_hidden()
    browsing.select(page, "two thirds of the salt pans")
    page.get_by_role("button", name="Who is that, so far?").click()
    nobody = "Nobody is called so up to here, or several people are."
    expect(page.locator("#selected-told")).to_have_text(nobody)
    page.get_by_role("button", name="Ask about it").press("Enter")
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator("#question")).to_have_value("two thirds of the salt pans")
    expect(page.locator("#question")).to_be_focused()


def test_what_is_said_of_a_selection_goes_with_it(page: Any) -> None:
    browsing.ask(page, "ferry", "Who kept the ferry?")
    page.locator(".open").first.click()
    page.locator("#pages mark").first.wait_for()
    browsing.select(page, "Aldith Sarn")
    page.locator("#selected-who").click()
    page.locator("#selected-told blockquote").first.wait_for()
    browsing.select(page, "rowed the mayor across")
    expect(page.locator("#selected-told")).to_be_empty()
    page.evaluate("getSelection().collapseToStart()")
    expect(page.locator("#selected")).to_be_hidden()
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()


def test_nothing_from_behind_the_limit_is_asked_for_and_what_is_open_closes_when_it_moves(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    opened(page, "recap", read=50)
    limit = len(STORY) // 2
    assert (
        [url for url in asked if "/recap" in url]
        == [url for url in asked if f"/recap?before={limit}" in url]
        != []
    )
    assert "III. The Bill" not in page.locator("#recap").text_content()
    page.locator('[aria-controls="people"]').click()
    page.locator(".who").first.wait_for()
    expect(page.locator("#recap")).to_be_hidden()
    page.locator(".who").first.click()
    page.locator(".told blockquote").first.wait_for()
    for url in asked:
        assert "/characters" not in url or url.endswith(f"/characters?before={limit}")
        assert "/who" not in url or f"/who?before={limit}&" in url
    page.locator("#read").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#people")).to_be_hidden()
    expect(page.locator("#people")).to_be_empty()


def test_no_part_of_the_page_tells_a_chapters_title_before_its_heading_is_read(page: Any) -> None:
    inside, behind = 51, 53  # percent; the heading is read in part, or to its end
    name, last = TOLL.index("Aldith Sarn Sells"), TOLL.index("Stranger")
    assert name + 20 < inside * len(TOLL) // 100 < last < behind * len(TOLL) // 100 - 10
    told = titles_told(page, behind)
    assert {part for part in told if "Stranger" in told[part]} == set(told)
    told = titles_told(page, inside)
    assert {part for part in told if "Stranger" in told[part]} == set()


def titles_told(page: Any, read: int) -> dict[str, str]:
    """What each part of the page that names chapters says of the toll's, which has been read so far."""
    page.goto("about:blank")  # or the page would stay as it is
    browsing.ask(page, "toll", "In which does Aldith Sarn sell the ferry?", read)
    page.locator('[aria-controls="people"]').click()
    page.locator(".places").first.wait_for()
    for place in page.locator(".places").all():
        place.press("End")
    told = {
        "slider": page.locator("#read").get_attribute("aria-valuetext"),
        "below the slider": page.locator("#read-about").inner_text(),
        "where somebody is named": labels(page, ".places", "aria-valuetext"),
        "chapters on the strip": labels(page, "#strip .chapters button", "aria-label"),
        "passages on the strip": labels(page, "#strip .passages button", "aria-label"),
    }
    page.locator("#strip .chapters button").last.press("Enter")
    page.locator("#pages p").first.wait_for()
    return told | {"menu": ", ".join(page.locator("#chapter option").all_text_contents())}


def labels(page: Any, selector: str, attribute: str) -> str:
    return ", ".join(one.get_attribute(attribute) for one in page.locator(selector).all())


def test_without_the_model_for_names_the_page_says_so(page: Any) -> None:
    page.goto("/?#book=ferry")
    problem = {"type": "urn:storyqa:problem:missing-extra", "status": 501, "detail": "pip install"}
    page.route("**/characters*", lambda route: route.fulfill(status=501, json=problem))
    page.locator('[aria-controls="people"]').click()
    expect(page.locator("#people [role=status]")).to_contain_text("cannot find names")


def test_facts_are_shown_and_each_opens_the_book_where_it_says_so(page: Any, url: str) -> None:
    opened(page, "facts")
    told = httpx.get(f"{url}/books/ferry/facts").json()
    said = [one for fact in told["facts"] for one in fact["values"] if one["answerable"]]
    assert page.locator("#facts dd").all_text_contents() == [one["text"].replace("\n", " ") for one in said]
    expect(page.locator("#facts p")).to_have_text(f"Not said: {', '.join(told['not_said'])}.")
    [aldith] = [one["evidence"] for one in said if one["text"] == "Aldith Sarn"]
    page.locator("#facts dd button", has_text="Aldith Sarn").first.click()
    expect(page.locator("#pages .sentence").first).to_have_attribute("data-start", str(aldith["start"]))


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", browsing.WIDTHS)
def test_no_part_has_a_fault_that_axe_finds_or_is_wider_than_the_screen(
    chromium: Any, url: str, colours: str, size: str
) -> None:
    with browsing.visiting(chromium, url, **browsing.looks(colours, size)) as page:
        opened(page, "people")
        page.locator(".who").first.click()
        page.locator(".told blockquote").first.wait_for()
        browsing.check(page, "people")
        opened(page, "facts")
        browsing.check(page, "facts")
        page.locator('[aria-controls="recap"]').click()
        page.locator("#recap blockquote").first.wait_for()
        browsing.check(page, "recap")
        page.locator("#recap figcaption button").first.click()
        browsing.select(page, "Aldith Sarn")
        page.locator("#selected-who").click()
        page.locator("#selected-told blockquote").first.wait_for()
        browsing.check(page, "what is selected")

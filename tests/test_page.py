"""The page at ``/``, used as people use it: in a browser, against a real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import new_key, running

from indexing.store import IndexStore
from service.app import create_app
from service.page import FILES

browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
expect = pytest.importorskip("playwright.sync_api").expect
expect.set_options(timeout=browsing.PATIENCE_MS)

browser_test = pytest.mark.browser


@pytest.fixture(scope="module")
def url(shelf_store: IndexStore) -> Iterator[str]:
    with running(create_app(browsing.settings(shelf_store))) as url:
        yield url


@pytest.fixture
def page(chromium: Any, url: str) -> Iterator[Any]:
    with browsing.visiting(chromium, url) as page:
        yield page


# The files


def test_the_page_and_its_files_are_served_with_a_policy_that_lets_nothing_else_in(url: str) -> None:
    for path, kind in (("/", "text/html"), ("/page/main.js", "javascript"), ("/page/base.css", "text/css")):
        response = httpx.get(url + path)
        assert response.status_code == 200
        assert kind in response.headers["content-type"]
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "http" not in policy
        unchanged = httpx.get(url + path, headers={"if-none-match": response.headers["etag"]})
        assert unchanged.status_code == 304
    assert httpx.head(url + "/").status_code == 200


@pytest.mark.parametrize(
    "path", ["/page/", "/page/nothing.js", "/page/..%2f__init__.py", "/page/../../app.py"]
)
def test_nothing_but_the_pages_files_is_served(url: str, path: str) -> None:
    response = httpx.get(url + path)
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"


def test_the_files_hold_no_inline_script_or_style_and_name_no_other_host() -> None:
    for file in FILES.iterdir():
        text = file.read_text(encoding="utf-8")
        assert not re.search(
            r"<script>|<style|\sstyle=|\son[a-z]+=\"|javascript:|\binnerHTML\b|\beval\(", text
        )
        assert not re.search(r"(https?:)?//[a-z]", text.replace("http://www.w3.org/2000/svg", "")), file.name


def test_every_file_that_the_page_names_is_there() -> None:
    named: list[str] = []
    for html in FILES.glob("*.html"):
        named += re.findall(r'(?:src|href)="page/([^"/]+)"', html.read_text(encoding="utf-8"))
    for script in FILES.glob("*.js"):
        named += re.findall(r'from "\./([^"]+)"', script.read_text(encoding="utf-8"))
    assert {*named} == {file.name for file in FILES.iterdir()} - {"index.html", "docs.html"}


def test_each_colour_has_one_value_in_the_light_and_one_in_the_dark() -> None:
    light, dark = ((FILES / name).read_text("utf-8") for name in ("colours.css", "dark.css"))
    names = re.findall(r"^ +(--[a-z-]+):", dark, re.MULTILINE)
    assert len(names) > 10
    for name in names:
        declared = [file.name for file in FILES.glob("*.css") if f"{name}:" in file.read_text("utf-8")]
        assert sorted(declared) == ["colours.css", "dark.css"]
        assert light.count(f" {name}:") == dark.count(f" {name}:") == 1


# Asking


@browser_test
@pytest.mark.parametrize(("book", "question"), shelf.QUESTIONS)
def test_the_highlight_stands_where_the_api_says(page: Any, url: str, book: str, question: str) -> None:
    asked = {"book_id": book, "question": question, "n_best": 5}
    answer = httpx.post(f"{url}/answer", json=asked).json()
    browsing.ask(page, book, question)
    likely = [one for one in answer["candidates"][1:] if one["confidence"] >= 0.02]
    assert page.locator(".others button").count() == (len(likely) + 1 if likely else 0)
    for i, candidate in enumerate([answer["candidates"][0], *likely]):
        if i > 0:
            page.locator(".others button").nth(i).click()
        evidence = candidate["evidence"]
        expect(page.locator("#answer mark").first).to_have_attribute("data-start", str(evidence["start"]))
        assert browsing.marked(page, "blockquote") == (evidence["start"], evidence["end"], evidence["text"])
        assert page.locator(".said").text_content() == candidate["text"]
        expect(page.locator("figcaption")).to_contain_text(f"{evidence['percent']:g}\u00a0% into the book")
        if evidence["chapter"]:
            expect(page.locator("figcaption")).to_contain_text(evidence["chapter"])


@browser_test
def test_offsets_are_code_points_where_the_text_has_emoji(page: Any) -> None:
    browsing.ask(page, "lantern", "Where does the jar of blue oil 🜁 stand?")
    page.locator(".open").click()
    last = page.locator("#pages p[data-start]").last
    start, end = (int(last.get_attribute(f"data-{name}")) for name in ("start", "end"))
    assert "🜁" in last.text_content()
    assert shelf.LANTERN[start:end] == last.text_content()
    assert end == len(shelf.LANTERN)


@browser_test
def test_a_question_can_be_asked_and_read_with_the_keyboard_alone(page: Any) -> None:
    page.goto("/")
    page.locator("#book").wait_for()
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(page.locator("#book")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#library")).to_be_visible()
    page.locator("#books button").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.locator("#book-title")).to_have_text("The Lamp at Quill Point")
    expect(page.locator("#question")).to_be_focused()
    page.keyboard.type("Where had Ines hidden the good oil?")
    page.keyboard.press("Enter")
    expect(page.locator("#status")).to_contain_text("Answer: ")
    page.locator(".open").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#reader")).to_be_visible()
    expect(page.locator("#pages")).to_be_focused()
    expect(page.locator("#pages mark").first).to_be_in_viewport()
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()
    expect(page.locator(".open")).to_be_focused()


@browser_test
def test_the_strip_shows_where_passages_were_found_and_where_the_answer_stands(page: Any, url: str) -> None:
    book, question = shelf.QUESTIONS[2]
    answer = httpx.post(f"{url}/answer", json={"book_id": book, "question": question, "n_best": 5}).json()
    browsing.ask(page, book, question)
    characters = len(shelf.LANTERN)

    def places(layer: str) -> list[float]:
        marks = page.locator(f"#strip .{layer} button")
        return [float(marks.nth(i).evaluate("i => parseFloat(i.style.left)")) for i in range(marks.count())]

    wanted = [100 * passage["start"] / characters for passage in answer["passages"]]
    assert places("passages") == pytest.approx(wanted, abs=0.01)
    assert places("pin") == pytest.approx([100 * answer["evidence"]["start"] / characters], abs=0.01)
    assert len(places("chapters")) == 3
    page.locator("#strip").click(position={"x": 2, "y": 4})
    expect(page.locator("#reader-at")).to_have_text("0\u00a0%")


@browser_test
def test_a_question_is_kept_in_the_address_and_in_what_was_asked_before(page: Any) -> None:
    for book, question in (shelf.QUESTIONS[4], shelf.QUESTIONS[7]):
        browsing.ask(page, book, question)
    assert page.title() == f"{question} · The Well"
    page.go_back()
    expect(page.locator("#book-title")).to_have_text("The Clock of Vell")
    expect(page.locator("#question")).to_have_value(shelf.QUESTIONS[4][1])
    page.locator("#asked-elsewhere button").filter(has_text=question).click()
    expect(page.locator("#book-title")).to_have_text("The Well")
    browsing.answered(page)
    page.locator("#forget").click()
    expect(page.locator("#history")).to_be_hidden()


# Without spoilers


@browser_test
def test_nothing_after_the_place_one_has_read_to_is_asked_for_or_shown(page: Any) -> None:
    bodies: list[Any] = []
    page.on("request", lambda request: bodies.append(request.post_data_json) if request.post_data else None)
    page.goto("/#book=lantern&q=Who+owed+Ines+a+ship%3F")
    page.locator("#answer figcaption").wait_for()
    assert "before" not in bodies[-1]
    slider = page.locator("#read")
    slider.focus()
    page.keyboard.press("Home")
    for _ in range(4):
        page.keyboard.press("PageUp")
    expect(page.locator("#read-about")).to_contain_text("II. The Storm")
    share = int(slider.input_value())
    limit = share * len(shelf.LANTERN) // 100
    expect(page).to_have_url(re.compile(f"read={share}\\b"))
    expect(page.locator("#answer:not([aria-busy]) figcaption")).to_be_visible()
    assert bodies[-1]["before"] == f"{share}%"
    shown = page.locator("#answer p[data-end]")
    assert max(int(shown.nth(i).get_attribute("data-end")) for i in range(shown.count())) <= limit
    page.locator(".open").click()
    expect(page.locator("#pages")).to_contain_text("You have read up to here.")
    text = page.locator("#pages p[data-end]").last
    assert text.get_attribute("data-end") == str(limit)
    assert page.locator("#chapter option").all_text_contents() == ["I. The Lamp", "II. The Storm"]


@browser_test
def test_reading_on_in_the_book_can_move_the_slider(page: Any) -> None:
    browsing.ask(page, "lantern", shelf.QUESTIONS[0][1])
    page.locator(".open").click()
    page.locator("#pages mark").first.wait_for()
    page.locator("#read-here").click()
    expect(page.locator("#reader")).to_be_hidden()
    assert 1 <= float(page.locator("#read").input_value()) <= 100


# The whole book


@browser_test
def test_a_long_book_is_fetched_as_one_reads_and_no_character_is_lost(chromium: Any, tmp_path: Path) -> None:
    from indexing.book import Book
    from indexing.build import BuildSettings, build_book

    paragraphs = [f"Chapter {i} of the long road 🜁 had {i} milestones and no inn. " * 5 for i in range(200)]
    text = "\n\n".join(paragraphs)
    store = IndexStore(tmp_path)
    build_book(Book("road", "The Road", text, "tests"), BuildSettings(words=100), store)
    with running(create_app(browsing.settings(store))) as url, browsing.visiting(chromium, url) as page:
        browsing.ask(page, "road", "How many milestones had chapter 120?")
        page.locator(".open").click()
        page.locator("#pages mark").first.wait_for()
        for edge, last, offset, wanted in (
            ("0", 0, "start", 0),
            ("pages.scrollHeight", -1, "end", len(text)),
        ):
            page.wait_for_function(
                f"""wanted => {{
                  const pages = document.querySelector("#pages");
                  pages.scrollTop = {edge};
                  const shown = [...pages.querySelectorAll("p[data-start]")];
                  return Number(shown.at({last}).dataset.{offset}) === wanted;
                }}""",
                arg=wanted,
            )
        shown = page.locator("#pages p[data-start]").evaluate_all(
            "all => all.map(p => [Number(p.dataset.start), Number(p.dataset.end), p.textContent])"
        )
    assert [text[start:end] for start, end, _ in shown] == [content for _, _, content in shown]
    assert [content for _, _, content in shown] == paragraphs


# Adding books


@pytest.fixture
def library(chromium: Any, tmp_path: Path) -> Iterator[Any]:
    """A page of a service to which books can be added."""
    app = create_app(browsing.settings(shelf.stock(tmp_path), largest_upload_mb=1))
    with running(app) as url, browsing.visiting(chromium, url) as page:
        page.goto("/")
        yield page


MILL = "The mill stood by the river. Its door was oak."
# Long enough to be seen on its way.
LONG_MILL = "\n\n".join(
    [
        MILL,
        *(f"On day {day} the wheel turned {day} times; the miller wrote it down. " * 6 for day in range(200)),
    ]
)


def file(name: str, text: str = MILL) -> dict[str, Any]:
    return {"name": name, "mimeType": "text/plain", "buffer": text.encode()}


@browser_test
def test_a_file_is_sent_its_progress_shown_and_the_book_opened(library: Any) -> None:
    library.locator("#book").click()
    library.locator("#file").set_input_files(file("mill.txt", LONG_MILL))
    row = library.locator("#uploads li")
    expect(row).to_contain_text("Reading the book")
    indexing_ms = 5 * browsing.PATIENCE_MS  # in a process that starts now, beside all else
    library.wait_for_function(
        """() => {
          const bar = document.querySelector("#uploads progress");
          return bar !== null && bar.value > 0 && bar.value < 1;
        }""",
        timeout=indexing_ms,
    )
    expect(library.locator("#library")).to_be_hidden(timeout=indexing_ms)
    expect(library.locator("#book-title")).to_have_text("mill")
    library.keyboard.type("What was the door?")
    library.keyboard.press("Enter")
    expect(library.locator("#answer mark").first).to_be_visible()


@browser_test
def test_who_stands_in_the_list_stays_there_while_books_are_added(library: Any) -> None:
    library.locator("#book").click()
    lamp = library.locator("#books li").filter(has_text="The Lamp at Quill Point")
    lamp.locator(".choose").focus()
    other = MILL.replace("mill", "tower")
    library.locator("#file").set_input_files([file("mill.txt"), file("tower.txt", other)])
    expect(library.locator("#books li")).to_have_count(5, timeout=5 * browsing.PATIENCE_MS)
    expect(library.locator("#uploads li")).to_have_count(0)
    expect(lamp.locator(".choose")).to_be_focused()


@browser_test
def test_all_files_that_were_given_are_listed_and_none_is_lost_by_mistake(library: Any) -> None:
    held: list[Any] = []
    library.route("**/books", lambda route: held.append(route))
    library.locator("#book").click()
    library.locator("#file").set_input_files([file("mill.txt"), file("tower.txt"), file("bad.txt", "")])
    rows = library.locator("#uploads li")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("Sending")
    expect(rows.nth(1)).to_contain_text("Waiting to be sent")
    with library.expect_event("dialog") as asked:
        library.close(run_before_unload=True)
    assert asked.value.type == "beforeunload"
    asked.value.dismiss()
    for _ in range(2):
        while not held:
            library.wait_for_timeout(20)
        held.pop().abort()
    expect(library.locator("#uploads .failed")).to_have_count(3)
    with library.expect_event("close"):
        library.close(run_before_unload=True)


@browser_test
def test_a_file_can_be_dropped_anywhere(library: Any) -> None:
    library.evaluate("""() => {
      const files = new DataTransfer();
      files.items.add(new File(["The mill stood by the river."], "mill.txt", {type: "text/plain"}));
      for (const type of ["dragenter", "dragover", "drop"]) {
        const event = new DragEvent(type, {dataTransfer: files, bubbles: true, cancelable: true});
        document.querySelector("main").dispatchEvent(event);
      }
    }""")
    expect(library.locator("#book-title")).to_have_text("mill")
    expect(library.locator("#dropping")).to_be_hidden()


@browser_test
def test_words_can_be_dropped_into_the_question_and_lead_nowhere_else(library: Any) -> None:
    dropped = """id => {
      const words = new DataTransfer();
      words.setData("text/plain", "Ines");
      return ["dragover", "drop"].map((type) => {
        const event = new DragEvent(type, {dataTransfer: words, bubbles: true, cancelable: true});
        document.getElementById(id).dispatchEvent(event);
        return event.defaultPrevented;
      });
    }"""
    assert library.evaluate(dropped, "question") == [False, False]
    assert library.evaluate(dropped, "answer") == [True, True]
    expect(library.locator("#library")).to_be_hidden()


@browser_test
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("bad.txt", "\n", "is empty"),
        ("mill.txt", "%PDF-1.7\n\0\1", "cannot be read as a PDF"),
        ("lantern.txt", MILL, "already"),
        ("long.txt", MILL * 2**15, "larger than the service takes, which is at most 1 MB"),
    ],
)
def test_a_file_that_cannot_be_added_is_said_to_be_and_why(
    library: Any, name: str, text: str, reason: str
) -> None:
    library.locator("#book").click()
    library.locator("#file").set_input_files(file(name, text))
    expect(library.locator("#uploads .failed")).to_contain_text(reason)
    library.locator("#uploads button").click()
    expect(library.locator("#uploads li")).to_have_count(0)
    expect(library.locator("#file")).to_be_focused()
    expect(library.locator("#books li")).to_have_count(3)


# What goes wrong


@browser_test
def test_a_book_that_is_gone_is_said_to_be_and_another_can_be_chosen(page: Any) -> None:
    page.goto("/#book=lantem&q=Who%3F")
    expect(page.locator("#error")).to_contain_text("not here")
    expect(page.locator("#retry")).to_be_hidden()
    page.locator("#near button").filter(has_text="The Lamp at Quill Point").click()
    expect(page.locator("#error")).to_be_hidden()
    expect(page.locator("#book-title")).to_have_text("The Lamp at Quill Point")
    expect(page.locator("#question")).to_have_value("Who?")


@browser_test
def test_a_service_that_cannot_be_reached_is_said_to_be_and_asked_again_on_request(page: Any) -> None:
    page.goto("/#book=lantern")
    expect(page.locator("#question")).to_be_focused()
    page.context.set_offline(True)
    page.keyboard.type("Who kept the lighthouse?")
    page.keyboard.press("Enter")
    expect(page.locator("#error")).to_contain_text("cannot be reached")
    page.context.set_offline(False)
    page.locator("#retry").click()
    expect(page.locator("#answer mark").first).to_be_visible()
    expect(page.locator("#error")).to_be_hidden()


@browser_test
def test_a_busy_service_is_asked_again_after_as_long_as_it_says(page: Any) -> None:
    busy = [503, 429]

    def proxy(route: Any) -> None:
        if busy:
            route.fulfill(status=busy.pop(), headers={"Retry-After": "1"}, body='{"detail": "busy"}')
        else:
            route.continue_()

    page.route("**/answer", proxy)
    page.goto("/#book=lantern&q=Who+kept+the+lighthouse%3F")
    expect(page.locator("#status")).to_contain_text("busy; asking again in 1 s")
    expect(page.locator("#answer mark").first).to_be_visible()
    assert busy == []


@browser_test
def test_an_answer_below_the_threshold_is_called_a_guess(chromium: Any, shelf_store: IndexStore) -> None:
    app = create_app(browsing.settings(shelf_store, answerable=1.0))
    with running(app) as url, browsing.visiting(chromium, url) as page:
        browsing.ask(page, *shelf.QUESTIONS[2])
        expect(page.locator("#answer h2")).to_have_text("The book may not say; the best guess")


@browser_test
def test_a_key_is_asked_for_once_and_shown_from_then_on(
    chromium: Any, shelf_store: IndexStore, tmp_path: Path
) -> None:
    right = new_key(tmp_path / "keys.json", "page", "read")
    app = create_app(browsing.settings(shelf_store, state=tmp_path))
    with running(app) as url, browsing.visiting(chromium, url) as page:
        page.goto("/")
        for key in ("wrong", right):
            expect(page.locator("#key")).to_be_visible()
            expect(page.locator("#key-text")).to_have_value("")
            page.locator("#key-text").fill(key)
            page.keyboard.press("Enter")
        expect(page.locator("#book-about")).to_contain_text("3 books")
        page.reload()
        expect(page.locator("#book-about")).to_contain_text("3 books")
        expect(page.locator("#key")).to_be_hidden()


# Everybody


@browser_test
@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize("size", browsing.WIDTHS)
def test_no_view_has_a_fault_that_axe_finds_or_is_wider_than_the_screen(
    chromium: Any, url: str, colours: str, size: str
) -> None:
    with browsing.visiting(chromium, url, **browsing.looks(colours, size)) as page:
        page.goto("/")
        expect(page.locator("#book-about")).to_contain_text("3 books")
        browsing.check(page, "start")
        browsing.ask(page, *shelf.QUESTIONS[2], read=80)
        page.locator("#answer details").click()
        browsing.check(page, "answer")
        page.locator(".open").click()
        page.locator("#pages mark").first.wait_for()
        browsing.check(page, "reader")
        page.keyboard.press("Escape")
        page.locator("#book").click()
        page.locator("#file").set_input_files(file("mill.pdf"))
        page.locator("#uploads .failed").wait_for()
        browsing.check(page, "library")
        page.locator(".remove").first.click()
        browsing.check(page, "removing")
        held: list[Any] = []

        def hold(route: Any) -> None:
            held.append(route)

        page.route("**/books", hold)
        page.locator("#file").set_input_files(file("mill.txt"))
        page.locator("#uploads progress").wait_for()
        browsing.check(page, "uploading")
        held.pop().abort()
        page.unroute("**/books")
        page.route("**/answer", hold)
        page.goto("/?#book=lantern&q=Who+owed+Ines+a+ship%3F")
        expect(page.locator("#status")).to_contain_text("Searching")
        browsing.check(page, "answering")
        held.pop().abort()
        page.unroute("**/answer")
        page.goto("/?#book=lantem")
        page.locator("#near button").wait_for()
        browsing.check(page, "error")
        many = [{"id": f"b{n}", "title": f"Book {n} " * n, "words": n} for n in range(1, 101)]
        page.route("**/books?*", lambda route: route.fulfill(json=many))
        page.goto("/?many")
        page.locator("#book").click()
        expect(page.locator("#books li")).to_have_count(100)
        browsing.check(page, "a hundred books")


@browser_test
def test_the_colours_that_were_chosen_are_kept(page: Any) -> None:
    page.goto("/")
    paper = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(paper)
    for _ in range(2):
        page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_attribute("aria-label", "Colours: dark")
    assert page.evaluate(paper) != light
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.evaluate(paper) != light
    # Whatever the system has is asked for again, until light or dark is chosen.
    page.locator("#theme").click()
    for system, is_light in (("dark", False), ("light", True)):
        page.emulate_media(color_scheme=system)
        assert (page.evaluate(paper) == light) == is_light
    page.locator("#theme").click()
    expect(page.locator("#theme")).to_have_attribute("aria-label", "Colours: light")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate(paper) == light

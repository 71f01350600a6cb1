"""The page with books in other languages: named to voices, from right to left, in lines without spaces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

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

HEADINGS = ("פרק ראשון", "פרק שני")  # Chapter one, chapter two
# In Hebrew: Miriam hid the brass lamp under the stairs of the old mill, and told nobody of it.
HEBREW = "\n\n".join(
    f"{head}\n\nמרים החביאה את המנורה מתחת למדרגות הטחנה הישנה ולא סיפרה לאיש." for head in HEADINGS
)
# In Chinese, a paragraph a line: the ferryman tied up his boat and asked the miller for a lamp for the night.
CHINESE_LINES = [
    f"第{n}天船夫把小船系在岸边的老柳树上然后走到磨坊门口向磨坊主人借了一盏灯照着夜里的路回家去看他的孩子们。"
    for n in range(9)
]
# In German, a chapter of long paragraphs, a line each, and a word that English breaks elsewhere.
GERMAN_LINES = [
    f"Am {n}. Tag {'ging der Müller wieder durch den Wald zur Staustufe, ' * 5}und ruhte." for n in range(5)
]


@pytest.fixture(scope="module")
def page(chromium: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    store = IndexStore(tmp_path_factory.mktemp("languages"))
    starts = [HEBREW.index(head) for head in HEADINGS]
    chapters = [Chapter(HEADINGS[0], 0, starts[1]), Chapter(HEADINGS[1], starts[1], len(HEBREW))]
    for book in (
        Book("lamp", "המנורה", HEBREW, "lamp.epub", tuple(chapters), language="he"),
        Book("ferry", "渡船", "\n".join(CHINESE_LINES), "ferry.epub", language="zh-Hans"),
        Book("mill", "Die Mühle", "\n".join(GERMAN_LINES), "mill.epub", language="de"),
        Book("well", "The Well", "Odo dug a well behind his barn and struck a door.", "well.txt"),
    ):
        build_book(book, BuildSettings(words=30), store)
    with running(create_app(browsing.settings(store))) as url, browsing.visiting(chromium, url) as page:
        yield page


def opened(page: Any, book: str) -> Any:
    """The pages of a book, opened at its beginning."""
    page.goto(f"/?{book}#book={book}&at=0-0")
    page.locator("#pages p").first.wait_for()
    return page.locator("#pages")


@pytest.mark.parametrize(
    ("book", "language", "question"),
    [("lamp", "he", "מרים"), ("mill", "de", "Wer ging durch den Wald?"), ("well", "en", "Who dug a well?")],
)
def test_the_texts_language_is_that_of_its_file(page: Any, book: str, language: str, question: str) -> None:
    assert opened(page, book).get_attribute("lang") == language
    browsing.ask(page, book, question)
    assert page.locator("figure blockquote").get_attribute("lang") == language
    page.locator('[aria-controls="recap"]').click()
    expect(page.locator("#recap blockquote").first).to_have_attribute("lang", language)


# Where the first and the last of some characters stand on the screen, from the left.
LEFT = """(shown, [first, last]) => {
  const texts = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
  const at = {};
  while (texts.nextNode()) {
    for (const one of [first, last]) {
      const index = texts.currentNode.data.indexOf(one);
      if (index < 0) continue;
      const range = document.createRange();
      range.setStart(texts.currentNode, index);
      range.setEnd(texts.currentNode, index + one.length);
      at[one] = range.getBoundingClientRect().left;
    }
  }
  return [at[first], at[last]];
}"""


def test_what_stands_behind_a_hebrew_chapter_is_shown_behind_it(page: Any) -> None:
    browsing.ask(page, "lamp", "מרים")
    percent = page.locator("figcaption .quiet").text_content().partition(" into")[0].split("· ")[-1]
    for shown in ("figcaption .quiet", "#answer details button >> nth=0"):
        if "details" in shown:
            page.locator("#answer details summary").click()
            percent = page.locator(shown).text_content().split("· ")[-1]
        chapter, number = page.locator(shown).evaluate(LEFT, ["פרק", percent])
        assert chapter < number
    assert page.locator(".said").evaluate("said => getComputedStyle(said).direction") == "rtl"
    for title in ("#book-title", "#question"):
        assert page.locator(title).evaluate("one => getComputedStyle(one).direction") == "rtl"


@pytest.mark.parametrize(("book", "lines"), [("ferry", CHINESE_LINES), ("mill", GERMAN_LINES)])
def test_a_paragraph_to_a_line_is_shown_as_such(page: Any, book: str, lines: list[str]) -> None:
    pages = opened(page, book)
    tops = pages.evaluate(
        """(pages, lines) => {
          const [text] = pages.querySelector("p").childNodes;
          return lines.map((line) => {
            const range = document.createRange();
            range.setStart(text, text.data.indexOf(line));
            range.setEnd(text, text.data.indexOf(line) + 1);
            const box = range.getBoundingClientRect();
            return [box.left, box.top];
          });
        }""",
        lines,
    )
    assert {left for left, _ in tops} == {tops[0][0]}
    assert [top for _, top in tops] == sorted({top for _, top in tops})

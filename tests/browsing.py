"""A browser for the tests of the page: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from indexing.store import IndexStore
from service.settings import Settings

# For what the page does at once, on a machine that is busy with other things.
PATIENCE_MS = 60_000
CHROMIUM = shutil.which("chromium")


@contextmanager
def chromium() -> Iterator[Browser]:
    """Chromium without a window."""
    # Its sandbox needs a user that is not root, which a container seldom has.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def visiting(browser: Browser, url: str, **options: Any) -> Iterator[Page]:
    """A page that nobody has visited before; its scripts must not fail, nor its policy be violated."""
    context: BrowserContext = browser.new_context(base_url=url, **options)
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        # A refused request is logged by the browser as well; what the page makes of it is tested.
        lambda message: (
            complaints.append(message.text)
            if message.type == "error" and "Failed to load resource" not in message.text
            else None
        ),
    )
    try:
        yield page
        assert not complaints, complaints
    finally:
        context.close()


def settings(store: IndexStore, **more: Any) -> Settings:
    """Of a service that answers at once."""
    return Settings(store=store.root, retriever="bm25", reader="overlap", **more)


def ask(page: Page, book: str, question: str, read: int = 100) -> None:
    """Ask by the address, as a bookmark does, and wait for the answer."""
    page.goto(f"/?#book={book}&read={read}&q={question.replace(' ', '+')}")
    expect(page.locator("#question")).to_have_value(question)
    answered(page)


def answered(page: Page) -> None:
    """Wait until the answer is shown, and noted in the history."""
    page.locator("#answer:not([aria-busy]) figcaption").wait_for()


# What axe is run on: the looks of the page for people who see little, or on a phone.
WIDTHS = {"desk": {"width": 1280, "height": 900}, "phone": {"width": 360, "height": 740}}


def looks(colours: str, size: str) -> dict[str, Any]:
    """The options of a visit in ``light`` or ``dark`` colours, at a ``desk`` or on a ``phone``."""
    return {"color_scheme": colours, "viewport": WIDTHS[size], "reduced_motion": "reduce"}


def check(page: Page, view: str) -> None:
    """Fail where axe finds a fault in what is shown, or it is wider than the screen; ``view`` is its name."""
    from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

    results = Axe().run(page, options={"resultTypes": ["violations"]})
    assert results.violations_count == 0, f"{view}: {results.generate_report()}"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view


# The offset at which an element's text begins, counted in its paragraph, and how much text it holds:
# what is seen, not what the page says of itself.
OFFSETS = """mark => {
  const p = mark.closest("p");
  const range = document.createRange();
  range.setStart(p, 0);
  range.setEnd(mark, 0);
  const start = Number(p.dataset.start) + [...range.toString()].length;
  return [start, start + [...mark.textContent].length];
}"""


def marked(page: Page, within: str) -> tuple[int, int, str]:
    """Where the highlighted answer starts and ends in the book, and its text."""
    pieces = page.locator(f"{within} mark")
    pieces.first.wait_for()
    offsets = [pieces.nth(i).evaluate(OFFSETS) for i in range(pieces.count())]
    return offsets[0][0], offsets[-1][1], "".join(pieces.all_text_contents())


SELECT = """(pages, words) => {
  const p = [...pages.querySelectorAll("p")].find((p) => p.textContent.includes(words));
  const texts = document.createTreeWalker(p, NodeFilter.SHOW_TEXT);
  while (!texts.nextNode().data.includes(words)) ;
  const at = texts.currentNode.data.indexOf(words);
  getSelection().setBaseAndExtent(texts.currentNode, at, texts.currentNode, at + words.length);
}"""


def select(page: Page, words: str) -> None:
    """Select words of the open book, and wait until the page has noticed."""
    page.locator("#pages p", has_text=words).first.wait_for()  # what has just been opened is still fetched
    page.locator("#pages").evaluate(SELECT, words)
    expect(page.locator("#selected q")).to_have_text(words)

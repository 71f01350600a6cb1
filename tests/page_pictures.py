"""The pictures of the page in docs/page.md, taken of a real service with the sample story.

``python tests/page_pictures.py`` takes them anew, in Debian's Chromium; with names after it, those alone.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import browsing
import shelf
from server import running

from indexing.build import BuildSettings, build_book
from service.app import create_app
from service.sample_story import BOOK_ID, story
from service.settings import Settings
from storyqa import Library

PICTURES = Path(__file__).parents[1] / "docs" / "page"
DESK = {"width": 1120, "height": 800}
PHONE = {"width": 390, "height": 844}
QUESTION = "Where did Mrs. Wimpole take a room?"
DOUBTFUL = "Why did the goose leave?"

TOGETHER = "How many eggs were in the nest?"

View = Callable[[Any], None]
Look = tuple[View, str, dict[str, Any]]

held: list[Any] = []  # requests that are not answered while a picture is taken


def hold(route: Any) -> None:
    """Leave a request waiting."""
    held.append(route)


def start(page: Any) -> None:
    """The first screen, of a service without books."""
    page.route("**/books", lambda route: route.fulfill(json=[]))
    page.goto("/")
    page.locator("#sample h2").wait_for()


def answer(page: Any, question: str = QUESTION) -> None:
    """An answer in its place."""
    browsing.ask(page, BOOK_ID, question)


def maybe(page: Any) -> None:
    """An answer that may be none, with less than half of the book read."""
    browsing.ask(page, BOOK_ID, DOUBTFUL, read=45)


def reader(page: Any) -> None:
    """The book, opened at the place."""
    answer(page)
    page.locator(".open").click()
    page.locator("#pages mark").first.wait_for()


def selected(page: Any) -> None:
    """Who somebody is whose name is selected in the book."""
    reader(page)
    browsing.select(page, "Mrs. Lunt")
    page.locator("#selected-who").click()
    page.locator("#selected-told blockquote").first.wait_for()


def people(page: Any) -> None:
    """Who is in the book, and where they are named."""
    page.goto(f"/#book={BOOK_ID}&read=60")
    page.locator("#overviews button").first.click()
    page.locator("#people svg").first.wait_for()


def library(page: Any) -> None:
    """A hundred books."""
    many = [
        {"id": f"b{n}", "title": f"The Voyage of the Marigold, part {n}", "words": 900 * n}
        for n in range(1, 101)
    ]
    page.route("**/books", lambda route: route.fulfill(json=many))
    page.goto("/")
    page.locator("#book").click()
    page.locator("#books li").first.wait_for()


def uploading(page: Any) -> None:
    """A book on its way."""
    page.goto("/")
    page.route("**/books", hold)
    page.locator("#book").click()
    page.locator("#file").set_input_files(
        {"name": "lighthouse.txt", "mimeType": "text/plain", "buffer": b"Old Ines kept the lamp. " * 9000}
    )
    page.locator("#uploads progress").wait_for()


def answering(page: Any) -> None:
    """A question that is being answered."""
    page.route("**/answer", hold)
    page.goto(f"/#book={BOOK_ID}&q={QUESTION.replace(' ', '+')}")
    page.locator("#status").filter(has_text="Searching").wait_for()


def error(page: Any) -> None:
    """A book that is not there."""
    page.goto("/#book=weigher-of-sandy-quay")
    page.locator("#near button").wait_for()


def cover(page: Any) -> None:
    """A book with a cover."""
    page.goto("/#book=lantern")
    page.locator("#cover").wait_for()


def several(page: Any) -> None:
    """All books asked at once, one of them read half."""
    page.goto("/#book=lantern&read=50")
    page.locator("#cover").wait_for()
    page.goto(f"/#book=*&q={TOGETHER.replace(' ', '+')}")
    browsing.answered(page)
    page.locator("#together summary").click()


VIEWS: tuple[View, ...] = (
    *(start, answer, maybe, reader, selected),
    *(people, library, uploading, answering, error),
)
# Of a library of several books, of which one has a cover.
OF_SEVERAL: tuple[View, ...] = (cover, several)
COVER = """<svg xmlns="http://www.w3.org/2000/svg" width="240" height="360" viewBox="0 0 240 360"
  font-family="serif" text-anchor="middle" fill="#f2ead8">
<rect width="240" height="360" fill="#1d3a5f"/>
<path d="M0 290q60-30 120 0t120 0v70H0z" fill="#0f2238"/>
<path d="M96 290l10-150h28l10 150z"/>
<rect x="100" y="112" width="40" height="28" fill="#f5c542"/>
<path d="M96 112l24-22 24 22z" fill="#a33b2f"/>
<path d="M140 118L240 84v72L140 134z" fill="#f5c542" opacity=".4"/>
<text x="120" y="50" font-size="21">The Lamp</text>
<text x="120" y="74" font-size="17">at Quill Point</text>
</svg>"""


@contextmanager
def service(picture: bytes | None = None) -> Iterator[str]:
    """The address of a service with the sample story and the default reader.

    With the ``picture`` of a cover there are the books of the tests' shelf, too, one with that on it.
    """
    with tempfile.TemporaryDirectory() as folder:
        Library(folder).index(story(), id=BOOK_ID)
        if picture is not None:
            store = shelf.stock(Path(folder))
            book = replace(shelf.story("lantern"), cover=picture)
            build_book(book, BuildSettings(words=30), store, force=True)
        with running(create_app(Settings(store=Path(folder)))) as url:
            yield url


def main() -> int:
    """Take every view on a desk, and some of them in the dark and on a phone."""
    PICTURES.mkdir(exist_ok=True)
    wanted = set(sys.argv[1:])
    dark: dict[str, Any] = {"viewport": DESK, "color_scheme": "dark"}
    looks: list[Look] = [
        *((view, view.__name__, {"viewport": DESK}) for view in VIEWS),
        (answer, "answer-dark", dark),
        (answer, "answer-phone", {"viewport": PHONE}),
    ]
    of_several: list[Look] = [
        *((view, view.__name__, {"viewport": DESK}) for view in OF_SEVERAL),
        (several, "several-dark", dark),
        (several, "several-phone", {"viewport": PHONE}),
    ]
    with browsing.chromium() as chromium:
        for group, picture in ((looks, None), (of_several, drawn(chromium))):
            chosen = [look for look in group if not wanted or look[1] in wanted]
            if chosen:
                with service(picture) as url:
                    take(chromium, url, chosen)
    return 0


def drawn(chromium: Any) -> bytes:
    """The cover as a picture that a book may have, which an SVG is not."""
    page = chromium.new_page(viewport={"width": 240, "height": 360})
    page.set_content(f"<body style='margin:0'>{COVER}</body>")
    picture: bytes = page.screenshot(type="png")
    page.close()
    return picture


def take(chromium: Any, url: str, looks: list[Look]) -> None:
    """Visit the page for every look, and keep what is seen."""
    for view, name, options in looks:
        with browsing.visiting(chromium, url, reduced_motion="reduce", **options) as page:
            view(page)
            whole = page.locator("dialog[open]").count() == 0
            page.screenshot(path=PICTURES / f"{name}.jpg", type="jpeg", quality=72, full_page=whole)
            while held:
                held.pop().abort()
        print(f"took {name}")


if __name__ == "__main__":
    sys.exit(main())

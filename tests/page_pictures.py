"""The pictures of the page in docs/page.md, taken of a real service with the sample story.

``python tests/page_pictures.py`` takes them anew, in Debian's Chromium.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import browsing
from server import running

from service.app import create_app
from service.sample_story import BOOK_ID, story
from service.settings import Settings
from storyqa import Library

PICTURES = Path(__file__).parents[1] / "docs" / "page"
DESK = {"width": 1120, "height": 800}
PHONE = {"width": 390, "height": 844}
QUESTION = "Where did Mrs. Wimpole take a room?"
DOUBTFUL = "Why did the goose leave?"

View = Callable[[Any], None]

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


VIEWS: tuple[View, ...] = (start, answer, maybe, reader, people, library, uploading, answering, error)


@contextmanager
def service() -> Iterator[str]:
    """The address of a service with the sample story and the default reader."""
    with tempfile.TemporaryDirectory() as folder:
        Library(folder).index(story(), id=BOOK_ID)
        with running(create_app(Settings(store=Path(folder)))) as url:
            yield url


def main() -> int:
    """Take every view on a desk, and two of them in the dark and on a phone."""
    PICTURES.mkdir(exist_ok=True)
    looks: list[tuple[View, str, dict[str, Any]]] = [
        *((view, view.__name__, {"viewport": DESK}) for view in VIEWS),
        (answer, "answer-dark", {"viewport": DESK, "color_scheme": "dark"}),
        (answer, "answer-phone", {"viewport": PHONE}),
    ]
    with service() as url, browsing.chromium() as chromium:
        for view, name, options in looks:
            with browsing.visiting(chromium, url, reduced_motion="reduce", **options) as page:
                view(page)
                whole = page.locator("dialog[open]").count() == 0
                page.screenshot(path=PICTURES / f"{name}.jpg", type="jpeg", quality=72, full_page=whole)
                while held:
                    held.pop().abort()
            print(f"took {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

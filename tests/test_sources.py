"""Books found in files and folders, and fetched from a server on loopback."""

from __future__ import annotations

import pickle
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from email.utils import formatdate
from itertools import pairwise
from pathlib import Path
from time import time

import pytest
from bookshop import Reply, Shop, open_shop

from indexing.errors import SourceError
from indexing.formats.read import read_book
from indexing.sources.fetch import Missing, Web
from indexing.sources.locate import Source, find

STORY = "The gull sat on the weir.\n\nThe miller counted his sacks.\n"
GUTENBERG = (
    "The Project Gutenberg eBook of The Miller's Gull\n\nTitle: The Miller's Gull\n\n"
    f"*** START OF THE PROJECT GUTENBERG EBOOK THE MILLER'S GULL ***\n\n{STORY}\n"
    "*** END OF THE PROJECT GUTENBERG EBOOK THE MILLER'S GULL ***\nA licence.\n"
)


@dataclass(frozen=True)
class Fetching:
    """Settings as the service has them."""

    cache: Path
    gutenberg_mirror: str


@pytest.fixture(scope="module")
def open_all_day() -> Iterator[Shop]:
    with open_shop() as shop:
        yield shop


@pytest.fixture
def shop(open_all_day: Shop) -> Shop:
    open_all_day.shelves.clear()
    open_all_day.requests.clear()
    return open_all_day


@pytest.fixture
def settings(shop: Shop, tmp_path: Path) -> Fetching:
    return Fetching(tmp_path / "cache", shop.address + "/")


def only(place: str, settings: Fetching | None = None) -> Source:
    [source] = find(place, settings, delay_s=0.0)
    return source


def test_a_file_is_one_source_named_by_its_path_and_read_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "The Miller's Gull.txt"
    path.write_text("not yet the story")
    source = only(str(path))
    path.write_text(STORY)
    assert (source.name, source.suggested_id) == (str(path), "the-millers-gull")
    assert source.fetch().data == STORY.encode()


def test_a_file_is_known_by_the_same_name_from_every_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "gull.txt").write_text(STORY)
    monkeypatch.chdir(tmp_path / "shelf")
    assert {only(place).name for place in ("gull.txt", "../shelf/gull.txt", ".")} == {
        str(tmp_path / "shelf" / "gull.txt")
    }


def test_a_folder_gives_the_books_at_any_depth_in_order_and_leaves_the_rest(tmp_path: Path) -> None:
    kept = ["a.txt", "b/c.EPUB", "b/d.content", "b/e/f.xhtml", "z.htm"]
    for name in [*kept, "README.md", "cover.png", ".hidden.txt", ".git/x.txt"]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(STORY)
    assert [source.name for source in find(str(tmp_path))] == [str(tmp_path / name) for name in kept]


def test_books_of_one_name_in_a_folder_get_ids_of_their_own(tmp_path: Path) -> None:
    names = ["gull.txt", "gull.html", "one/gull.txt", "two/gull.txt", "A B.txt", "a-b.txt", "weir.txt"]
    for name in names:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(STORY)
    ids = {
        Path(source.name).relative_to(tmp_path).as_posix(): source.suggested_id
        for source in find(str(tmp_path))
    }
    assert len(set(ids.values())) == len(names)
    assert ids["weir.txt"] == "weir"
    assert ids["two/gull.txt"] == "two-gull"
    assert ids["gull.html"] == "gull.html"


def test_an_unreadable_file_in_a_folder_fails_only_when_it_is_read(tmp_path: Path) -> None:
    (tmp_path / "bad.txt").write_bytes(b"%PDF-1.7 ...")
    (tmp_path / "good.txt").write_text(STORY)
    (tmp_path / "none.txt").symlink_to(tmp_path / "nowhere.txt")
    bad, good, none = find(str(tmp_path))
    assert read_book(good).text == STORY.strip()
    with pytest.raises(SourceError, match="as a PDF"):
        read_book(bad)
    with pytest.raises(SourceError, match="no regular file"):
        read_book(none)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("no/such/book.txt", "does not exist"),
        ("ftp://127.0.0.1/book.txt", "http"),
        ("gutenberg:gull", "gutenberg:1342"),
        ("gutenberg:", "gutenberg:1342"),
        ("gutenberg:../1", "gutenberg:1342"),
        ("https://[::1", "no address"),
        ("x" * 5000, "wanted a file"),
        ("~nobody-of-that-name/book.txt", "wanted a file"),
    ],
)
def test_a_place_that_is_none_is_refused_with_what_is_wanted(place: str, said: str) -> None:
    with pytest.raises(SourceError, match=said):
        list(find(place))


@pytest.mark.parametrize("place", [f"http://{'a' * 300}/", "http://127.0.0.1:1/\ud800"])
def test_an_address_that_cannot_be_written_is_refused(place: str, settings: Fetching) -> None:
    with pytest.raises(SourceError, match="could not be fetched"):
        only(place, settings).fetch()


def test_a_folder_without_books_is_refused_with_the_suffixes_wanted(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"\.txt.*\.epub"):
        list(find(str(tmp_path)))


def test_an_address_is_fetched_through_redirections_with_a_name_of_our_own(
    shop: Shop, settings: Fetching
) -> None:
    shop.shelves["/old"] = Reply(status=302, location="/books/The%20Gull.txt?x=1")
    shop.shelves["/books/The%20Gull.txt?x=1"] = Reply(STORY.encode())
    source = only(f"{shop.address}/old", settings)
    assert shop.paths == []
    assert read_book(source).text == STORY.strip()
    assert {request.agent.split()[0] for request in shop.requests} == {"storyqa"}
    assert only(f"{shop.address}/books/The%20Gull.txt?x=1").suggested_id == "the-gull"


def test_what_an_address_is_comes_from_its_content_type_and_first_bytes(
    shop: Shop, settings: Fetching
) -> None:
    page = f"<html><head><title>The Gull</title></head><body><p>{STORY}</p></body></html>".encode()
    shop.shelves["/gull"] = Reply(page, "text/html")
    shop.shelves["/latin"] = Reply(
        "Caf\u00e9, \u039f \u03b3\u03bb\u03ac\u03c1\u03bf\u03c2".encode("utf-16-be"),
        "text/plain; charset=UTF-16BE",
    )
    shop.shelves["/gull.txt"] = Reply(page, "text/html")
    assert read_book(only(f"{shop.address}/gull", settings)).title == "The Gull"
    with pytest.raises(SourceError, match="an error page"):
        read_book(only(f"{shop.address}/gull.txt", settings))


def test_a_gutenberg_number_is_fetched_once_stripped_and_kept(shop: Shop, settings: Fetching) -> None:
    shop.shelves["/cache/epub/1234/pg1234.txt"] = Reply(GUTENBERG.encode("utf-8-sig"))
    books = [read_book(only("gutenberg:1234", settings)) for _ in range(2)]
    assert books[0] == books[1]
    assert books[0].text == STORY.strip()
    assert (books[0].id, books[0].title, books[0].source) == (
        "gutenberg-1234",
        "The Miller's Gull",
        "gutenberg:1234",
    )
    assert shop.paths == ["/cache/epub/1234/pg1234.txt"]


@pytest.mark.parametrize(
    "path", ["/files/1234/1234-0.txt", "/files/1234/1234-8.txt", "/1/2/3/1234/1234-0.txt"]
)
def test_a_gutenberg_number_is_looked_for_where_mirrors_have_it(
    shop: Shop, settings: Fetching, path: str
) -> None:
    shop.shelves["/cache/epub/1234/pg1234.txt"] = Reply(b"<html>Sorry!</html>", "text/html")
    shop.shelves[path] = Reply(GUTENBERG.encode())
    assert read_book(only("gutenberg:1234", settings)).text == STORY.strip()


def test_a_page_served_for_a_gutenberg_number_is_refused_and_not_kept(shop: Shop, settings: Fetching) -> None:
    shop.shelves["/cache/epub/7/pg7.txt"] = Reply(b"<!DOCTYPE html><html>Sorry!</html>", "text/html")
    with pytest.raises(SourceError, match="an error page"):
        read_book(only("gutenberg:7", settings))
    shop.shelves["/cache/epub/7/pg7.txt"] = Reply(GUTENBERG.encode())
    assert read_book(only("gutenberg:7", settings)).text == STORY.strip()


def test_a_gutenberg_number_that_the_mirror_lacks_is_said_with_the_mirror(
    shop: Shop, settings: Fetching
) -> None:
    with pytest.raises(SourceError, match=f"gutenberg:99 is not at {shop.address};"):
        read_book(only("gutenberg:99", settings))


@pytest.mark.parametrize(
    "retry_after", ["0", formatdate(time() - 5, usegmt=True), "soon"], ids=["seconds", "date", "neither"]
)
def test_a_busy_server_is_asked_again_when_it_says(shop: Shop, settings: Fetching, retry_after: str) -> None:
    shop.shelves["/gull.txt"] = Reply(STORY.encode(), first=[503], retry_after=retry_after)
    assert read_book(only(f"{shop.address}/gull.txt", settings)).text == STORY.strip()
    assert shop.paths == ["/gull.txt"] * 2


def test_an_address_at_which_nobody_listens_is_tried_once(shop: Shop, settings: Fetching) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        nobody = f"http://127.0.0.1:{listening.getsockname()[1]}/gull.txt"
    shop.shelves["/gull.txt"] = Reply(status=302, location=nobody)
    with pytest.raises(SourceError, match="Connection refused"):
        read_book(only(f"{shop.address}/gull.txt", settings))
    assert shop.paths == ["/gull.txt"]


def test_a_server_that_asks_for_a_long_wait_is_left_alone(shop: Shop, settings: Fetching) -> None:
    shop.shelves["/gull.txt"] = Reply(STORY.encode(), first=[429], retry_after="3600")
    with pytest.raises(SourceError, match="wait 3600 s"):
        only(f"{shop.address}/gull.txt", settings).fetch()
    assert len(shop.requests) == 1


def test_failures_say_what_was_answered(shop: Shop, settings: Fetching) -> None:
    shop.shelves["/secret"] = Reply(status=403)
    with pytest.raises(SourceError, match="403 Forbidden"):
        only(f"{shop.address}/secret", settings).fetch()
    with pytest.raises(Missing, match="404 Not Found"):
        only(f"{shop.address}/none", settings).fetch()
    assert shop.paths == ["/secret", "/none"]


def test_a_server_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="check the address and the network"):
        Web(tmp_path, delay_s=0.0, tries=1).get("http://127.0.0.1:9/gull.txt")


def test_requests_from_all_sides_come_one_at_a_time_with_a_pause(shop: Shop, tmp_path: Path) -> None:
    shop.shelves["/gull.txt"] = Reply(STORY.encode())
    sources = [Web(tmp_path, delay_s=0.1) for _ in range(4)]
    threads = [threading.Thread(target=web.get, args=[f"{shop.address}/gull.txt"]) for web in sources]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    requests = sorted(shop.requests, key=lambda request: request.begun_s)
    assert len(requests) == 4
    pauses = [after.begun_s - before.ended_s for before, after in pairwise(requests)]
    assert min(pauses) > 0.05  # the pause is kept by file times, which may be coarse


def test_sources_can_be_sent_to_another_process(shop: Shop, settings: Fetching, tmp_path: Path) -> None:
    path = tmp_path / "gull.txt"
    path.write_text(STORY)
    shop.shelves["/gull.txt"] = shop.shelves["/cache/epub/5/pg5.txt"] = Reply(STORY.encode())
    for place in (str(path), f"{shop.address}/gull.txt", "gutenberg:5"):
        source = pickle.loads(pickle.dumps(only(place, settings)))
        assert source.fetch().data == STORY.encode()

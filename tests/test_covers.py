"""Covers: found in the book's file, kept beside its index, served as pictures and as nothing else."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from manuscripts import fb2, sample
from server import problem, serving
from test_epub import PROSE, pack, package, page, read

from indexing.build import BuildSettings, build_book
from indexing.formats.pictures import MOST_BYTES, TYPES, picture_type
from indexing.store import IndexStore
from service.settings import Settings

EPUB_3 = '<item id="c" href="art/front%20page.png" media-type="image/png" properties="x cover-image"/>'
EPUB_2 = EPUB_3.replace(' properties="x cover-image"', "")
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def png(width: int, height: int, level: int) -> bytes:
    """A grey picture (PNG, third edition: signature, IHDR, IDAT, IEND)."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes([level]) * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b""))
    )


GULL = png(40, 60, 120)


def epub(item: str = EPUB_3, picture: bytes = GULL, meta: str = "", text: str = PROSE) -> bytes:
    opf = package(["a"], item).replace("</metadata>", f"{meta}</metadata>")
    files = {"OPS/text/a.xhtml": page(f"<p>{text}</p>"), "OPS/package.opf": opf}
    return pack({**files, "OPS/art/front page.png": picture})


def test_the_cover_is_what_epub_3_or_epub_2_names() -> None:
    assert read(epub()).cover == GULL
    named = '<meta name="cover" content="c"/>'
    assert read(epub(EPUB_2, meta=named)).cover == GULL
    first = EPUB_2.replace('id="c"', 'id="d"').replace("front%20page", "nowhere")
    assert read(epub(first + EPUB_3, meta='<meta name="cover" content="d"/>')).cover == GULL
    assert read(epub(EPUB_2)).cover is None  # a picture like others


@pytest.mark.parametrize("picture", [SVG, b"<html><script/></html>", b"", GULL.ljust(MOST_BYTES + 1, b"\0")])
def test_what_is_no_picture_or_too_large_is_no_cover_and_the_book_is_read(picture: bytes) -> None:
    book = read(epub(picture=picture))
    assert (book.cover, book.text) == (None, PROSE)


def test_a_cover_that_is_missing_or_damaged_does_not_keep_a_book_from_being_read() -> None:
    nowhere = EPUB_3.replace("front%20page", "nowhere")
    named = '<meta name="cover" content="nobody"/>'
    data = epub()
    at = data.index(b"OPS/art/front page.png") + len(b"OPS/art/front page.png") + 5
    damaged = data[:at] + bytes(8) + data[at + 8 :]
    for each in (epub(nowhere), epub(EPUB_2, meta=named), damaged):
        book = read(each)
        assert (book.cover, book.text) == (None, PROSE)


@pytest.mark.parametrize(
    ("encoded", "kept"),
    [(base64.b64encode(GULL).decode(), GULL), ("no base 64!", None), (base64.b64encode(SVG).decode(), None)],
)
def test_the_cover_of_an_fb2_is_what_its_coverpage_names(encoded: str, kept: bytes | None) -> None:
    data = fb2(sample()).decode()
    assert read(data.encode(), "gull.fb2").cover is None
    named = data.replace("</title-info>", '<coverpage><image l:href="#g"/></coverpage></title-info>')
    whole = named.replace("<binary", f'<binary id="g" content-type="image/png">{encoded}</binary><binary')
    assert read(whole.encode(), "gull.fb2").cover == kept
    assert read(named.encode(), "gull.fb2").cover is None


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "image/jpeg"),
        (GULL, "image/png"),
        (b"GIF89a\1\0\1\0", "image/gif"),
        (b"GIF87a\1\0\1\0", "image/gif"),
        (b"RIFF\x1a\0\n\0WEBPVP8L", "image/webp"),
        (b"RIFF\x1a\0\n\0WAVEfmt ", None),
        (SVG, None),
        (b"  " + GULL, None),
        (b"%PDF-1.7", None),
    ],
)
def test_pictures_are_told_by_their_first_bytes(data: bytes, told: str | None) -> None:
    assert picture_type(data) == told
    assert told is None or told in TYPES


@pytest.fixture
def store(tmp_path: Path, tiny_bert: Path) -> IndexStore:
    """Two books, of which ``gull`` has a cover."""
    store = IndexStore(tmp_path)
    settings = BuildSettings(encoder=str(tiny_bert))
    for id, data in (("gull", epub()), ("plain", epub(EPUB_2))):
        build_book(read(data, f"{id}.epub", id), settings, store)
    return store


@pytest.fixture
def client(store: IndexStore) -> Iterator[httpx.Client]:
    with serving(Settings(store=store.root, retriever="bm25", reader="overlap")) as client:
        yield client


def test_a_cover_is_kept_with_the_index_and_another_one_is_another_build(
    store: IndexStore, tiny_bert: Path
) -> None:
    assert store.open("gull").book == read(epub(), "gull.epub")
    assert set(store.manifest("gull").files) - set(store.manifest("plain").files) == {"cover"}
    assert not store.manifest("plain").has_cover  # as those that were built before there were covers
    settings = BuildSettings(encoder=str(tiny_bert))
    assert build_book(read(epub(), "gull.epub"), settings, store).status == "skipped"
    other = png(40, 60, 9)
    assert build_book(read(epub(picture=other), "gull.epub"), settings, store).status == "built"
    assert store.open("gull").cover == other


def test_a_cover_is_served_as_the_picture_that_it_is(client: httpx.Client) -> None:
    response = client.get("/books/gull/cover")
    assert (response.status_code, response.content) == (200, GULL)
    assert response.headers["content-type"] == "image/png"
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert [book["has_cover"] for book in client.get("/books").json()] == [True, False]
    assert client.get("/books/gull").json()["has_cover"] is True


def test_a_book_without_a_cover_says_so(client: httpx.Client) -> None:
    assert problem(client.get("/books/plain/cover"), 404)["type"] == "urn:storyqa:problem:no-cover"
    assert problem(client.get("/books/gul/cover"), 404)["near"] == ["gull"]


def test_a_cover_that_was_changed_in_the_store_is_not_served(store: IndexStore) -> None:
    [file] = store.root.glob("books/gull/*/cover")
    file.write_bytes(GULL[:-4] + b"oops")
    with serving(Settings(store=store.root, retriever="bm25", reader="overlap")) as client:
        assert "storyqa index" in problem(client.get("/books/gull/cover"), 500)["detail"]


@pytest.mark.browser
def test_the_page_draws_the_cover_beside_the_title(client: httpx.Client, chromium: Any) -> None:
    browsing = pytest.importorskip("browsing", reason="playwright is not installed: pip install '.[dev]'")
    expect = pytest.importorskip("playwright.sync_api").expect
    expect.set_options(timeout=browsing.PATIENCE_MS)
    with browsing.visiting(chromium, str(client.base_url)) as page:
        page.goto("/?#book=gull")
        cover = page.locator("#cover")
        expect(cover).to_be_visible()
        assert cover.evaluate("it => [it.width, it.height]") == [64, 96]  # of 40 by 60
        assert cover.evaluate("it => [...it.getContext('2d').getImageData(32, 48, 1, 1).data]") == [
            *(120, 120, 120, 255)
        ]
        page.goto("/?#book=plain")
        expect(page.locator("#question")).to_be_visible()
        expect(cover).to_be_hidden()

"""Each parser over inputs that nobody foresaw: our own errors, and time in proportion to the size.

``make test`` tries a few of each; ``make fuzz`` tries thousands (``--hypothesis-profile fuzz``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from typing import Any

import httpx
import pytest
import shelf
from hypothesis import example, given, settings
from hypothesis import strategies as st
from kindle_books import huffman, kf8, mobipocket, palm_database
from manuscripts import Manuscript
from server import serving

from benchmarks.hostile import (
    FRAGMENTS,
    KNOWN,
    Shape,
    docx,
    epub,
    odt,
    parse,
    pdf,
    read_bytes,
    seconds,
)
from indexing.errors import IndexMismatch
from indexing.manifest import MANIFEST, Manifest, read_manifest, write_manifest
from indexing.store import IndexStore
from service.settings import Settings

# `make fuzz` names the profile that tries thousands.
AT_LENGTH = settings.get_current_profile_name() == "fuzz"
tried = settings() if AT_LENGTH else settings(max_examples=12)

SMALL, TIMES = 8_000, 8
LEAST_S = 0.005  # below it the clock says little
# A quadratic reader takes TIMES as much again; three times is what caches and a busy machine may cost.
MOST = 3 * TIMES

SHAPES = {
    kind: st.builds(
        Shape,
        st.lists(st.sampled_from(fragments), min_size=1, max_size=4).map(tuple),
        st.booleans(),
        *[st.sampled_from(("", "a", "\n\n", *fragments))] * 2,
    )
    for kind, fragments in FRAGMENTS.items()
}
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=10,
)
BOOK, QUESTION = shelf.QUESTIONS[0]
ASKED: dict[str, Any] = {"book_id": BOOK, "question": QUESTION, "k": 2, "before": "90%"}


def reads_in_linear_time(kind: str, shape: Shape) -> bool:
    """Whether reading 8 times as much takes at most 24 times as long, in one of three tries."""
    small, large = shape.text(SMALL), shape.text(SMALL * TIMES)
    return any(seconds(kind, large) <= MOST * max(LEAST_S, seconds(kind, small)) for _ in range(3))


@pytest.mark.parametrize(("kind", "shape"), [(kind, shape) for kind in KNOWN for shape in KNOWN[kind]])
def test_what_once_took_more_than_linear_time_or_raised_is_read_or_refused(kind: str, shape: Shape) -> None:
    assert reads_in_linear_time(kind, shape)


@tried
@given(SHAPES["text"])
def test_texts_of_any_shape_are_read_or_refused_in_linear_time(shape: Shape) -> None:
    assert reads_in_linear_time("text", shape)


@tried
@given(SHAPES["html"])
def test_pages_of_any_shape_are_read_or_refused_in_linear_time(shape: Shape) -> None:
    assert reads_in_linear_time("html", shape)


@tried
@given(SHAPES["epub-package"])
def test_packages_of_epubs_of_any_shape_are_read_or_refused_in_linear_time(shape: Shape) -> None:
    assert reads_in_linear_time("epub-package", shape)


@tried
@given(SHAPES["epub-navigation"])
def test_tables_of_contents_of_any_shape_are_read_or_refused_in_linear_time(shape: Shape) -> None:
    assert reads_in_linear_time("epub-navigation", shape)


@pytest.mark.parametrize("kind", ["pdf", "docx", "odt", "fb2", "markdown", "rtf", "mobi", "palmdoc"])
@tried
@given(data=st.data())
def test_documents_of_any_shape_are_read_or_refused_in_linear_time(kind: str, data: st.DataObject) -> None:
    assert reads_in_linear_time(kind, data.draw(SHAPES[kind]))


@tried
@given(SHAPES["manifest"])
def test_manifests_of_any_shape_are_refused_in_linear_time(shape: Shape) -> None:
    assert reads_in_linear_time("manifest", shape)
    assert parse("manifest", shape.text(SMALL)) is not None


@tried
@given(
    st.sampled_from([".txt", ".html", ".epub", ".pdf", ".docx", ".odt", ".fb2", ".md", ".rtf", ".azw3", ""]),
    st.sampled_from(
        [b"", b"%PDF-1.4\n", b"{\\rtf1 ", b"PK\x03\x04", b"<FictionBook>", bytes(60) + b"BOOKMOBI"]
    ),
    st.binary(max_size=2000),
)
@example(".html", b"", b"<meta charset=undefined>\xff")
def test_bytes_of_any_kind_are_read_or_refused(suffix: str, first: bytes, data: bytes) -> None:
    read_bytes(f"hostile{suffix}", first + data)


TALE = Manuscript((("CHAPTER I", ("The gull sat on the weir.",)), ("CHAPTER II", ("The weir held.",))))
SOUND = {"epub": epub({}), "docx": docx({}), "odt": odt({}), "pdf": pdf("")} | {
    "mobi": palm_database(mobipocket(TALE)),
    "prc": palm_database(mobipocket(TALE, contents=False)),
    "azw3": palm_database(kf8(TALE)),
    "azw": palm_database(kf8(TALE, huffman)),
}


@pytest.mark.parametrize("kind", SOUND)
@tried
@given(changes=st.lists(st.tuples(st.integers(0, 2**20), st.integers(0, 255)), min_size=1, max_size=8))
def test_a_damaged_file_is_read_or_refused(kind: str, changes: list[tuple[int, int]]) -> None:
    data = bytearray(SOUND[kind])
    for at, value in changes:
        data[at % len(data)] = value
    read_bytes(f"hostile.{kind}", bytes(data))


@pytest.fixture(scope="module")
def sound_manifest(shelf_store: IndexStore) -> Manifest:
    return shelf_store.manifest(BOOK)


def changed(content: dict[str, Any], path: list[int], value: object) -> dict[str, Any]:
    """A copy of ``content`` with another value somewhere; ``path`` chooses where."""
    content = deepcopy(content)
    inside: Any = content
    for step in path:
        places = list(inside) if isinstance(inside, dict) else list(range(len(inside)))
        place = places[step % len(places)]
        if not inside[place] or not isinstance(inside[place], dict | list):
            break
        inside, outside = inside[place], inside
    else:
        inside = outside
    inside[place] = value
    return content


def checksum(content: dict[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


@tried
@given(st.lists(st.integers(0, 20), min_size=1, max_size=4), VALUES)
def test_a_manifest_of_other_values_is_refused_unless_its_checksum_says_that_it_is_whole(
    tmp_path_factory: pytest.TempPathFactory, sound_manifest: Manifest, path: list[int], value: object
) -> None:
    folder = tmp_path_factory.mktemp("manifest")
    write_manifest(sound_manifest, folder)
    content = json.loads((folder / MANIFEST).read_text("utf-8"))
    assert content.pop("checksum") == checksum(content)
    other = changed(content, path, value)
    (folder / MANIFEST).write_text(json.dumps(other | {"checksum": checksum(content)}), "utf-8")
    if other != content:
        with pytest.raises(IndexMismatch, match="rebuild it"):
            read_manifest(folder, sound_manifest.id)
    # Another program may have written it: it is read where every value is of its kind.
    (folder / MANIFEST).write_text(json.dumps(other | {"checksum": checksum(other)}), "utf-8")
    with suppress(IndexMismatch):
        read_manifest(folder, sound_manifest.id)


@pytest.fixture(scope="module")
def client(shelf_store: IndexStore) -> Iterator[httpx.Client]:
    with serving(Settings(store=shelf_store.root, retriever="bm25", reader="overlap")) as client:
        yield client


def answered_or_refused(response: httpx.Response) -> None:
    """What every response must be: an answer, or a short problem that is the client's."""
    assert response.status_code in (200, 400, 404, 413, 422), response.text
    if response.status_code != 200:
        assert response.headers["content-type"] == "application/problem+json"
        assert len(response.content) < 10_000


PATHS = st.sampled_from(["/answer", "/answers", "/search"])
TYPE = {"content-type": "application/json"}


@tried
@given(
    PATHS,
    st.dictionaries(st.sampled_from([*ASKED, "reader", "n_best", "x"]), VALUES, max_size=4),
    st.booleans(),
)
def test_questions_with_any_values_are_answered_or_refused(
    client: httpx.Client, path: str, values: dict[str, Any], listed: bool
) -> None:
    asked = ASKED | values
    answered_or_refused(client.post(path, content=json.dumps([asked] if listed else asked), headers=TYPE))


@tried
@given(PATHS, SHAPES["manifest"], st.integers(1, 20_000))
def test_bodies_of_any_shape_are_refused(client: httpx.Client, path: str, shape: Shape, size: int) -> None:
    body = shape.text(size).encode("utf-8", "surrogatepass")
    answered_or_refused(client.post(path, content=body, headers=TYPE))


@tried
@given(PATHS, st.binary(max_size=200))
def test_bytes_of_any_kind_are_no_question(client: httpx.Client, path: str, body: bytes) -> None:
    answered_or_refused(client.post(path, content=body, headers=TYPE))

"""Books that are served: which stay open, and what damage to their files does to answers: nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import shelf
from server import problem, serving

from answering.book_qa import Ask, BookQA, CitedAnswer
from answering.open_books import OpenBooks
from indexing.build import BuildSettings, build_book
from indexing.errors import IndexMismatch, UnknownBook
from indexing.packing import PACK, write_pack
from indexing.store import IndexStore
from service.settings import Settings

ASKS = [Ask(book, question, retriever="bm25", reader="overlap") for book, question in shelf.QUESTIONS]
FILES = ("text.npy", "passages.npy", "terms.npy", "postings.npy", "vocabulary.npy", "vectors.faiss")


def untimed(cited: CitedAnswer) -> CitedAnswer:
    return replace(cited, timings_ms={})


def copied(store: IndexStore, to: Path) -> IndexStore:
    """The same store elsewhere, to be damaged."""
    shutil.copytree(store.root, to, dirs_exist_ok=True)
    return IndexStore(to)


def build_of(store: IndexStore, book: str) -> Path:
    return store.root / "books" / book / store.current(book)


def cut(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 3)


def flip(file: Path) -> None:
    """Another value in every byte of the last third, in place: the file keeps its size."""
    content = bytearray(file.read_bytes())
    middle = len(content) * 2 // 3
    content[middle:] = bytes(byte ^ 1 for byte in content[middle:])
    with file.open("r+b") as opened:
        opened.write(content)


def delete(file: Path) -> None:
    file.unlink()


def test_the_text_of_a_book_opens_no_index_and_is_that_of_one_that_is_open(shelf_store: IndexStore) -> None:
    books = OpenBooks(shelf_store, 10**9)
    assert books.text("clock").text(0, 40) == shelf.CLOCK.strip()[:40]
    assert books.bytes == 0
    opened = books.get("clock").index
    assert books.text("clock") is opened
    with pytest.raises(UnknownBook):
        books.text("clockk")


@pytest.mark.parametrize("name", ["text.npy", PACK])
def test_a_text_that_is_held_is_read_and_checked_once_a_build(
    name: str, shelf_store: IndexStore, tmp_path: Path
) -> None:
    store = copied(shelf_store, tmp_path)
    if name == PACK:
        write_pack(build_of(store, "clock"), store.manifest("clock").files, build_of(store, "clock") / PACK)
    books, few = OpenBooks(store, 2**30, held=True), OpenBooks(store, 1, held=True)
    text = books.text("clock")
    assert few.text("clock") is not few.text("clock")
    cut(build_of(store, "clock") / name)
    assert books.text("clock") is text
    assert text.text(0, text.characters) == shelf_store.open("clock").book.text
    for others in (few, OpenBooks(store, 2**30)):
        with pytest.raises(IndexMismatch):
            others.text("clock")
    shutil.copytree(build_of(shelf_store, "clock"), store.root / "books" / "clock" / "again")
    (store.root / "books" / "clock" / "current").write_text("again")
    assert books.text("clock") is not text
    store.remove("clock")
    with pytest.raises(UnknownBook):
        books.text("clock")


def test_the_books_used_last_stay_open_up_to_so_many_bytes(shelf_store: IndexStore) -> None:
    sizes = {book: shelf_store.manifest(book).bytes for book in shelf.STORIES}
    books = OpenBooks(shelf_store, sizes["lantern"] + max(sizes["clock"], sizes["well"]))
    lantern, clock = books.get("lantern"), books.get("clock")
    assert books.get("lantern") is lantern
    books.get("well")
    assert books.bytes == sizes["lantern"] + sizes["well"]
    assert books.get("lantern") is lantern
    assert books.get("clock") is not clock


def test_a_book_larger_than_the_bound_is_opened_alone(shelf_store: IndexStore) -> None:
    books = OpenBooks(shelf_store, 1)
    for book in shelf.STORIES:
        assert books.get(book) is books.get(book)
        assert books.bytes == shelf_store.manifest(book).bytes


def test_a_removed_book_takes_no_room(shelf_store: IndexStore, tmp_path: Path) -> None:
    store = copied(shelf_store, tmp_path)
    books = OpenBooks(store, 2**30)
    books.get("well")
    store.remove("well")
    with pytest.raises(UnknownBook):
        books.get("well")
    assert books.bytes == 0


@pytest.mark.parametrize("damage", [cut, flip, delete])
def test_damage_to_the_files_of_an_open_book_never_reaches_an_answer(
    damage: Callable[[Path], None], shelf_store: IndexStore, tmp_path: Path
) -> None:
    store = copied(shelf_store, tmp_path)
    qa = BookQA(store, held=True)
    qa.answer(ASKS[0])
    asks = [ask for ask in ASKS if ask.book_id == "lantern"]
    right = [untimed(cited) for cited in BookQA(store).answer_many(asks)]
    for name in FILES:
        damage(build_of(store, "lantern") / name)
    assert [untimed(cited) for cited in qa.answer_many(asks)] == right
    with pytest.raises(IndexMismatch, match="storyqa index"):
        BookQA(store, held=True).answer_many(asks)
    build_book(shelf.story("lantern"), BuildSettings(words=30), store, force=True)
    assert [untimed(cited) for cited in BookQA(store, held=True).answer_many(asks)] == right


@pytest.mark.parametrize("name", FILES)
def test_a_flipped_bit_anywhere_is_found_when_a_held_book_is_opened(
    name: str, shelf_store: IndexStore, tmp_path: Path
) -> None:
    store = copied(shelf_store, tmp_path)
    flip(build_of(store, "clock") / name)
    with pytest.raises(IndexMismatch, match=rf"{name} is damaged.*storyqa index"):
        store.open("clock", held=True)


def test_an_open_book_whose_folder_is_gone_is_unknown_and_comes_back_when_it_is_indexed(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    store = copied(shelf_store, tmp_path)
    qa = BookQA(store, held=True)
    right = untimed(qa.answer(ASKS[0]))
    shutil.rmtree(tmp_path / "books" / "lantern")
    with pytest.raises(UnknownBook):
        qa.answer(ASKS[0])
    build_book(shelf.story("lantern"), BuildSettings(words=30), store)
    assert untimed(qa.answer(ASKS[0])) == right


@pytest.mark.parametrize("damage", [cut, flip, delete])
def test_a_service_whose_books_are_damaged_answers_right_or_says_what_repairs_them(
    damage: Callable[[Path], None], shelf_store: IndexStore, tmp_path: Path
) -> None:
    store = copied(shelf_store, tmp_path)
    settings = Settings(store=store.root, retriever="bm25", reader="overlap", answer_cache_mb=0)
    asked = [{"book_id": ask.book_id, "question": ask.question} for ask in ASKS]
    with serving(settings) as client:
        right = client.post("/answers", json=asked[:6]).json()  # of lantern and clock: they are open now
        for book in ("lantern", "clock", "well"):
            for name in FILES:
                damage(build_of(store, book) / name)
        after = client.post("/answers", json=asked[:6]).json()
        assert [one | {"timings_ms": None} for one in after] == [one | {"timings_ms": None} for one in right]
        assert client.get("/books/clock/text").json()["text"] == shelf.CLOCK
        for response in (client.post("/answer", json=asked[8]), client.get("/books/well/text")):
            content = problem(response, 500)
            assert content["type"] == "urn:storyqa:problem:broken-index-or-model"
            assert "storyqa index" in content["detail"]
        build_book(shelf.story("well"), BuildSettings(words=30), store, force=True)
        assert client.post("/answer", json=asked[8]).json()["answer"]
        assert client.get("/books/well/text").json()["text"] == shelf.WELL

"""The merged index of many books: it finds what they find one by one, is built anew, and checked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shelf

from answering.book_qa import Ask, BookQA
from answering.opened_scope import FEWEST_MERGED
from indexing.build import BuildSettings, build_book
from indexing.errors import IndexMismatch, UnknownBook
from indexing.merged_index import MergedIndex
from indexing.merging import merge_store
from indexing.store import IndexStore
from retrieval import open_together
from retrieval.hits import BookHit, Hit, Readable
from retrieval.merged_part import MergedPart
from retrieval.several_books import BookPart, Part
from service import cli
from text.words import words

QUESTIONS = [question for _, question in shelf.QUESTIONS]


def stock(root: Path, copies: int = 1) -> IndexStore:
    store = shelf.stock(root)
    for number in range(1, copies):
        for id in shelf.STORIES:
            book = replace(shelf.story(id), id=f"{id}-{number}", source=f"tests/{id}-{number}")
            build_book(book, BuildSettings(words=20 + number), store)
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    """Nine books, merged."""
    store = stock(tmp_path_factory.mktemp("merged"), copies=3)
    merge_store(store)
    return store


def merged(store: IndexStore) -> MergedIndex:
    folder = store.merged()
    assert folder is not None
    return MergedIndex(folder)


def parts(store: IndexStore, limits: dict[str, int | None]) -> tuple[list[Part], list[Part]]:
    """The books of ``limits`` merged, and one by one."""
    alone: dict[str, Readable] = {id: Readable(store.open(id), limit) for id, limit in limits.items()}
    return (
        [MergedPart(merged(store), limits, lambda id, build: alone[id])],
        [BookPart(alone[id]) for id in merged(store).builds if id in limits],
    )


def places(hits: Sequence[Hit]) -> list[tuple[str, int]]:
    found = []
    for hit in hits:
        assert isinstance(hit, BookHit)
        found.append((hit.book.index.id, hit.passage.number))
    return found


@pytest.mark.parametrize("name", ["bm25", "dense", "hybrid"])
def test_merged_books_are_found_as_they_are_one_by_one(store: IndexStore, name: str) -> None:
    together, alone = parts(store, dict.fromkeys(store.ids()))
    for question in QUESTIONS:
        [by_merged], [by_each] = (
            open_together(name, some).search([question], 20) for some in (together, alone)
        )
        scores = {place: hit.score for place, hit in zip(places(by_each), by_each, strict=True)}
        # Vectors of 8 bits may swap what is nearly alike, never more.
        for (place, hit), other in zip(zip(places(by_merged), by_merged, strict=True), by_each, strict=True):
            assert hit.score == pytest.approx(other.score, abs=0.05)
            assert scores.get(place, other.score) == pytest.approx(hit.score, abs=0.05)
        assert places(by_merged)[:1] == places(by_each)[:1] or name != "bm25"


@pytest.mark.parametrize("limit", [0, 145, 300, 10**6])
def test_no_passage_behind_its_books_limit_is_found(store: IndexStore, limit: int) -> None:
    limits: dict[str, int | None] = {"lantern": limit, "clock": 200, "well-1": None}
    together, alone = parts(store, limits)
    for name in ("bm25", "hybrid"):
        [hits] = open_together(name, together).search([QUESTIONS[2]], 100)
        [by_each] = open_together(name, alone).search([QUESTIONS[2]], 100)
        assert sorted(places(hits)) == sorted(places(by_each))
        for hit in hits:
            assert isinstance(hit, BookHit)
            bound = limits[hit.book.index.id]
            assert bound is None or hit.passage.end <= bound


def test_all_books_are_asked_through_the_merged_index(store: IndexStore) -> None:
    assert len(store.ids()) >= FEWEST_MERGED
    qa = BookQA(store)
    before: dict[str, int | str | None] = {"lantern": 100, "*": "60%"}
    [found] = qa.find([Ask("*", QUESTIONS[2], 50, "hybrid", before=before)])
    assert len(found.hits) > 9
    for hit in found.hits:
        index = hit.book.index
        bound = 100 if index.id == "lantern" else index.characters * 60 // 100
        assert hit.passage == index.passages[hit.passage.number]
        assert hit.passage.end <= bound


def test_a_book_that_changed_is_searched_as_it_is_now(tmp_path: Path) -> None:
    store = stock(tmp_path, copies=3)
    merge_store(store)
    qa = BookQA(store)
    asked = Ask("*", "Which heron ate the brass thimble?", 5, "hybrid")
    assert "heron" not in text_of(qa, asked)
    text = f"A heron ate the brass thimble. {shelf.WELL}"
    build_book(replace(shelf.story("well"), text=text, chapters=()), BuildSettings(words=30), store)
    store.remove("clock-2")
    [found] = qa.find([replace(asked, k=100)])
    assert found.hits[0].book.index.id == "well"
    assert "heron" in text_of(qa, asked)
    assert "clock-2" not in {hit.book.index.id for hit in found.hits}
    before = merged(store).manifest
    after, built = merge_store(store)
    assert built
    assert after.version != before.version
    assert qa.find([asked])[0].hits[0].book.index.id == "well"
    assert merge_store(store) == (after, False)


def text_of(qa: BookQA, ask: Ask) -> str:
    hit = qa.find([ask])[0].hits[0]
    return hit.book.index.text(hit.passage.start, hit.passage.end)


@pytest.mark.parametrize(
    "name",
    [
        "merged.json",
        "ends.npy",
        "windows.npy",
        "postings.npy",
        "terms.npy",
        "vocabulary.npy",
        "vectors.faiss",
    ],
)
def test_a_damaged_merged_index_is_refused(store: IndexStore, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "merged"
    folder.mkdir()
    source = store.merged()
    assert source is not None
    for path in source.iterdir():
        content = bytearray(path.read_bytes())
        if path.name == name:
            content[len(content) // 2] ^= 1
        (folder / path.name).write_bytes(content)
    with pytest.raises(IndexMismatch, match="storyqa shelves index --force"):
        MergedIndex(folder)
    (folder / name).unlink()
    with pytest.raises(IndexMismatch, match="storyqa shelves index --force"):
        MergedIndex(folder)


def test_without_a_merged_index_answers_are_the_same(tmp_path: Path) -> None:
    store = stock(tmp_path, copies=3)
    asked = [Ask("*", question, 5, "bm25", "overlap") for question in QUESTIONS[:4]]
    alone = [one.text for one in BookQA(store).answer_many(asked)]
    merge_store(store)
    assert [one.text for one in BookQA(store).answer_many(asked)] == alone
    folder = store.merged()
    assert folder is not None
    (folder / "ends.npy").write_bytes(b"")
    assert [one.text for one in BookQA(store).answer_many(asked)] == alone


def test_weights_without_idf_are_bm25s_term_frequencies(store: IndexStore) -> None:
    index = store.open("lantern")
    [(numbers, weights)] = index.sparse.saturated("tobias").values()
    texts = [index.text(one.start, one.end) for one in index.passages]
    lengths = np.array([len(words(text)) for text in texts])
    for number, weight in zip(numbers.tolist(), weights.tolist(), strict=True):
        f = words(texts[number]).count("tobias")
        expected = f * 2.5 / (f + 1.5 * (0.25 + 0.75 * lengths[number] / lengths.mean()))
        assert weight == pytest.approx(expected, rel=1e-5)


def test_the_command_merges_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = stock(tmp_path)

    def run(*more: str) -> dict[str, Any]:
        assert cli.run(["shelves", "index", "--store", str(store.root), "--json", *more]) == 0
        return dict(json.loads(capsys.readouterr().out))

    assert run()["books"] == 3
    assert run()["built"] is False
    assert run("--force")["built"] is True
    assert cli.run(["shelves", "index", "--store", str(tmp_path / "none")]) == 2
    with pytest.raises(UnknownBook):
        merge_store(IndexStore(tmp_path / "none"))

"""The merged index of many books: it finds what they find one by one, is built anew, and checked."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shelf

from answering.book_qa import Ask, BookQA
from answering.opened_scope import FEWEST_MERGED
from encoders.backbone import MINILM
from indexing.build import BuildSettings, build_book
from indexing.errors import IndexMismatch, Overtaken, UnknownBook
from indexing.index import BookIndex
from indexing.merged_index import MergedIndex
from indexing.merging import merge_store
from indexing.store import IndexStore
from indexing.write import in_context
from retrieval import open_together
from retrieval.hits import BookHit, Hit, Readable
from retrieval.hybrid import DenseRetriever
from retrieval.merged_part import MergedPart
from retrieval.several_books import BookPart, Part
from service import cli
from text.words import words

ROOT = Path(__file__).parents[1]
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


def searched(index: BookIndex) -> list[str]:
    """The texts in which the words of a book's passages are searched."""
    return in_context(shelf.story(index.id), index.passages, index.manifest.settings.context_words)


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


@pytest.mark.parametrize(("name", "weight"), [("bm25", 0.0), ("hybrid", 0.6), ("dense", 1.0)])
def test_books_together_are_searched_by_bm25s_plus_idf_and_z_scores_over_them_all(
    store: IndexStore, name: str, weight: float
) -> None:
    indexes = [store.open(id) for id in shelf.STORIES]
    found = [[words(text) for text in searched(one)] for one in indexes]
    number = sum(map(len, found))
    for question in QUESTIONS[:4]:
        by_words = []
        for passages in found:
            mean = sum(map(len, passages)) / len(passages)
            for passage in passages:
                score = 0.0
                for word in words(question):
                    holding = sum(word in one for of_book in found for one in of_book)
                    times = passage.count(word)
                    saturated = times * 2.5 / (times + 1.5 * (0.25 + 0.75 * len(passage) / mean))
                    if times and 2 * sum(word in one for one in passages) == len(passages):
                        saturated = 1.0  # by rank-bm25 it weighs nothing in its book, which keeps no more
                    score += math.log(1 + (number - holding + 0.5) / (holding + 0.5)) * saturated
                by_words.append(score)
        near = np.concatenate([DenseRetriever(one).scores([question])[0] for one in indexes]).astype(float)
        wanted = (1 - weight) * (np.array(by_words) - np.mean(by_words)) / np.std(by_words)
        wanted += weight * (near - near.mean()) / near.std()
        [hits] = open_together(name, [BookPart(Readable(one, None)) for one in indexes]).search(
            [question], 999
        )
        assert [hit.score for hit in hits] == pytest.approx(sorted(wanted, reverse=True), abs=1e-4)
        scores = dict(zip([(one.id, p.number) for one in indexes for p in one.passages], wanted, strict=True))
        assert [scores[place] for place in places(hits)] == pytest.approx(
            [hit.score for hit in hits], abs=1e-4
        )


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


@pytest.mark.parametrize(
    "limits",
    [
        {"clock": None, "lantern-2": None, "well": None},
        {"clock": 0, "lantern-2": 300, "well": None},
        {"lantern": None, "lantern-1": 0, "lantern-2": 0},
    ],
)
def test_some_books_of_a_merged_index_are_found_by_words_as_they_are_alone(
    store: IndexStore, limits: dict[str, int | None]
) -> None:
    together, alone = parts(store, limits)
    for question in QUESTIONS:
        [by_merged], [by_each] = (
            open_together("bm25", some).search([question], 10) for some in (together, alone)
        )
        assert places(by_merged) == places(by_each)
        assert [hit.score for hit in by_merged] == pytest.approx([hit.score for hit in by_each], abs=1e-4)


def copied(store: IndexStore, root: Path, ids: Sequence[str] | None = None) -> IndexStore:
    """The books of a store in another, where nothing is merged."""
    into = IndexStore(root)
    for id in ids or store.ids():
        publish_again(store, id, into)
    return into


def publish_again(store: IndexStore, id: str, into: IndexStore) -> None:
    """Replace a book by another build of the same."""
    with into.claim(id) as claim:
        claim.publish(lambda folder: store.copy_out(id, folder))


def test_books_that_change_while_they_are_merged_are_merged_as_they_are_then(
    store: IndexStore, tmp_path: Path
) -> None:
    changing = copied(store, tmp_path, [*shelf.STORIES])
    turns = []

    def change(done: int, of: int) -> None:
        turns.append(done)
        if turns == [0, 1, 2, 3, 4]:  # all of them have been read once, and will be again
            publish_again(store, "clock-1", changing)
            publish_again(store, "lantern", changing)
            changing.remove("well")

    merge_store(changing, on_progress=change)
    assert list(changing.builds()) == ["clock", "clock-1", "lantern"]
    assert merged(changing).builds == changing.builds()


def test_books_that_go_on_changing_are_not_merged(store: IndexStore, tmp_path: Path) -> None:
    changing = copied(store, tmp_path, [*shelf.STORIES])
    before, _ = merge_store(changing)
    turns = []

    def change(done: int, of: int) -> None:
        if done == 4:
            publish_again(store, "lantern", changing)
            turns.append(done)

    with pytest.raises(Overtaken, match=r"'lantern' was indexed anew.*storyqa shelves index"):
        merge_store(changing, force=True, on_progress=change)
    assert len(turns) > 1
    assert merged(changing).manifest == before


def test_a_book_whose_files_are_damaged_is_left_out(
    store: IndexStore, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hurt = copied(store, tmp_path)
    ids = hurt.ids()
    damage(hurt, ids[1])
    manifest, built = merge_store(hurt)
    assert built
    assert [book.id for book in manifest.books] == [id for id in ids if id != ids[1]]
    assert f"'{ids[1]}'" in caplog.text
    for id in set(ids) - {ids[1]}:
        damage(hurt, id)
    with pytest.raises(UnknownBook, match="no book to merge"):
        merge_store(hurt, force=True)


def damage(store: IndexStore, id: str) -> None:
    """Change a byte of the book's postings."""
    [path] = (store.root / "books" / id).glob("*/postings.npy")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.unlink()
    path.write_bytes(content)


def test_books_of_another_encoder_than_the_merged_index_are_searched_one_by_one(
    store: IndexStore, tmp_path: Path
) -> None:
    changing = copied(store, tmp_path)
    merge_store(changing)
    for id in changing.ids():
        text = f"A heron kept the good oil of {id}."
        book = replace(shelf.story("well"), id=id, text=text, source=f"tests/{id}")
        build_book(book, BuildSettings(encoder=MINILM.name), changing)
    qa, asked = BookQA(changing), Ask("*", QUESTIONS[2], 9, "dense")
    assert len(qa.find([asked])[0].hits) == 9
    publish_again(store, "clock", changing)  # as it was
    assert len(qa.find([replace(asked, before={"clock": 0})])[0].hits) == 8
    with pytest.raises(IndexMismatch, match="different encoders"):
        qa.find([asked])


def test_books_that_were_merged_keep_no_files_open(store: IndexStore, tmp_path: Path) -> None:
    changing = copied(store, tmp_path)
    files: list[int] = []
    open_files = Path("/proc/self/fd")
    merge_store(changing, on_progress=lambda done, of: files.append(len([*open_files.iterdir()])))
    assert max(files) <= files[0] + 3 * 7  # those of the first book, of one and of the next


def test_more_books_are_asked_than_files_may_be_open_at_first(store: IndexStore) -> None:
    code = (
        "import resource, sys; from service.cli import main; "
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]; "
        "resource.setrlimit(resource.RLIMIT_NOFILE, (50, hard if sys.argv.pop() == 'more' else 50)); main()"
    )
    ids = ",".join(store.ids()[:7])  # too few for the merged index, each with seven files
    command = [sys.executable, "-c", code, "search", ids, "lamp", "--retriever", "bm25"]
    command += ["--store", str(store.root), "--json"]
    more, none = (
        subprocess.run([*command, allowed], cwd=ROOT, capture_output=True, text=True)
        for allowed in ("more", "no more")
    )
    assert json.loads(more.stdout)["hits"], more.stderr
    assert none.returncode == 2
    assert "ulimit -n" in none.stderr
    assert "--force" not in none.stderr


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
    texts = searched(index)
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

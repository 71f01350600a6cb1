"""What has happened so far: which sentences tell it, chapter by chapter, and nothing from later."""

from __future__ import annotations

import json
from pathlib import Path

import networkx  # type: ignore[import-untyped]
import numpy as np
import pytest
import shelf
from server import problem, serving

from answering.quotes import SHORTEST_LEAD
from answering.recaps import LONGEST_STRETCH, recap
from evaluation.sample import sample_story
from indexing.book import Book, Chapter
from indexing.build import BuildSettings, build_book
from indexing.formats.read import read_book
from indexing.index import BookIndex
from indexing.sources.locate import find
from indexing.store import IndexStore
from retrieval.centrality import lexrank, tfidf
from service.cli import run
from service.client import Client
from service.settings import Settings

BAGS = [["bell", "rope"], ["bell", "tower", "bell"], ["rope", "bell"], ["goose"], []]


def indexed(book: Book, folder: Path, encoder: Path) -> BookIndex:
    store = IndexStore(folder)
    build_book(book, BuildSettings(encoder=str(encoder)), store)
    return store.open(book.id)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory, tiny_bert: Path) -> BookIndex:
    folder = tmp_path_factory.mktemp("sample")
    (folder / "weigher.txt").write_text(sample_story().read_text("utf-8")[:21_000], "utf-8")
    [source] = find(str(folder / "weigher.txt"))
    return indexed(read_book(source), folder / "store", tiny_bert)


def test_the_words_of_a_sentence_weigh_what_their_rarity_says() -> None:
    vectors = tfidf(BAGS).toarray()
    assert vectors.shape == (5, 4)  # bell, goose, rope, tower
    bell, tower = 2 * np.log1p(5 / 3), np.log1p(5 / 1)  # by hand: sentence 1
    norm = np.hypot(bell, tower)
    assert vectors[1] == pytest.approx([bell / norm, 0, 0, tower / norm])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 1, 1, 0])


def test_the_rank_is_that_of_pagerank_over_the_cosines() -> None:
    vectors = tfidf(BAGS)
    graph = networkx.from_numpy_array((vectors @ vectors.T).toarray())
    wanted = networkx.pagerank(graph, alpha=0.85, tol=1e-10)
    assert lexrank(vectors) == pytest.approx([wanted[i] for i in range(len(BAGS))], abs=1e-6)
    assert lexrank(tfidf([])).tolist() == []


def test_each_chapter_is_told_in_sentences_of_its_own(sample: BookIndex) -> None:
    parts = recap(sample, None, sentences=3)
    assert [part.chapter for part in parts] == [chapter.title for chapter in sample.chapters]
    for part in parts:
        assert 1 <= len(part.sentences) <= 3
        starts = [one.start for one in part.sentences]
        assert starts == sorted(starts)
        for one in part.sentences:
            assert part.start <= one.start < one.end <= part.end
            assert sample.text(one.start, one.end) == one.text
            assert one.text.endswith((".", "!", "?"))
            assert "“" not in one.text
            assert '"' not in one.text


@pytest.mark.parametrize("share", [0.0, 0.21, 0.58, 0.9])
def test_what_is_told_does_not_depend_on_what_lies_behind_the_limit(
    sample: BookIndex, tmp_path: Path, tiny_bert: Path, share: float
) -> None:
    limit = int(share * sample.characters)
    book = sample.book
    tail = "Gant was the thief, Lisbet saw. CHAPTER IX\n\nThe End\n\n" * book.text.count(" ")
    other = (book.text[:limit] + tail)[: len(book.text)]
    chapters = tuple(one for one in book.chapters if one.start + len(one.title) <= limit)
    changed = indexed(Book(book.id, book.title, other, book.source, chapters), tmp_path, tiny_bert)
    told = recap(sample, limit)
    assert told == recap(changed, limit)
    assert all(one.end <= limit for part in told for one in part.sentences)
    assert bool(told) is (share > 0)


def test_a_book_without_chapters_is_told_in_parts(tmp_path: Path, tiny_bert: Path) -> None:
    paragraph = "The ferry crossed the river at noon. Anna Gray kept the ferry, and nobody paid her.\n\n"
    text = paragraph * (3 * LONGEST_STRETCH // len(paragraph))
    parts = recap(indexed(Book("ferry", "Ferry", text, "ferry.txt"), tmp_path, tiny_bert), None, 1)
    assert [part.chapter for part in parts] == [None] * len(parts)
    assert len(parts) in (3, 4)
    assert [part.start for part in parts[1:]] == [part.end + 2 for part in parts[:-1]]
    assert {part.sentences[0].text for part in parts} == {"Anna Gray kept the ferry, and nobody paid her."}


def test_a_title_page_is_not_told_but_a_beginning_without_a_heading_is(
    tmp_path: Path, tiny_bert: Path
) -> None:
    title = "A Story by Anna Gray was printed here at Vell in the year of the great flood.\n\n"
    story = "The ferryman of Vell rowed Anna Gray across the river.\n\n"
    for number, (lead, told) in enumerate(((title, 1), (story * (SHORTEST_LEAD // len(story) + 1), 2))):
        text = f"{lead}I. Noon\n\n{story}"
        chapter = Chapter("I. Noon", len(lead), len(text))
        index = indexed(Book("vell", "Vell", text, "vell.txt", (chapter,)), tmp_path / str(number), tiny_bert)
        assert len(recap(index, None)) == told


def test_the_command_and_the_call_tell_the_same(
    shelf_store: IndexStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store = ["--store", str(shelf_store.root)]
    assert run(["recap", "lantern", "--before", "60%", "--sentences", "1", "--json", *store]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert run(["recap", "lantern", "--before", "60%", *store]) == 0
    assert "I. The Lamp" in capsys.readouterr().out
    assert run(["recap", "lantern", "--before", "1", *store]) == 0
    assert capsys.readouterr().out == "nothing has happened yet\n"
    assert run(["recap", "lantern", "--before", "half", *store]) == 2
    capsys.readouterr()
    with serving(Settings(store=shelf_store.root, retriever="bm25", reader="overlap")) as http:
        path = "/books/lantern/recap"
        assert http.get(path, params={"before": "60%", "sentences": 1}).json() == printed
        with Client(str(http.base_url)) as ours:
            assert ours.recap("lantern", before="60%", sentences=1).model_dump() == printed
        assert (
            problem(http.get(path, params={"before": "half"}), 422)["errors"][0]["pointer"] == "query/before"
        )
        wrong = problem(http.get(path, params={"sentences": 99}), 422)
        assert wrong["errors"][0]["pointer"] == "query/sentences"
    assert [part["chapter"] for part in printed["chapters"]] == ["I. The Lamp", "II. The Storm"]
    text = shelf.STORIES["lantern"][1]
    for part in printed["chapters"]:
        for one in part["sentences"]:
            assert text[one["start"] : one["end"]] == one["text"]

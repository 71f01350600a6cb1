"""In which chapter something happens: that of the passages found for it, doubted as answers are."""

from __future__ import annotations

import pytest
from test_mentions import MARKED, PAGES, TEXT

from answering.book_qa import Ask, BookQA
from answering.chapter_references import NO_PAGES
from answering.citing import CitedAnswer
from answering.which_chapter import looked_for
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore

FIRST, SECOND, THIRD = (one.title for one in MARKED)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(Book("kiln", "The Kiln", TEXT, "test", tuple(MARKED)), BuildSettings(words=15), store)
    build_book(
        Book("paged", "The Kiln", TEXT, "test", tuple(MARKED), pages=PAGES), BuildSettings(words=15), store
    )
    build_book(Book("plain", "The Kiln", TEXT, "test"), BuildSettings(words=15), store)
    build_book(
        Book("other", "The Mill", "The miller ground flour, and his cat slept on the sacks.", "test"),
        BuildSettings(words=15),
        store,
    )
    return BookQA(store)


def answer(qa: BookQA, question: str, book: str = "kiln", **more: object) -> CitedAnswer:
    return qa.answer(Ask(book, question, retriever="bm25", reader="overlap", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "what"),
    [
        ("In which chapter is the bell rung?", "is the bell rung"),
        ("What chapter does Wenna wait for the boat in?", "does Wenna wait for the boat in"),
        ("Which chapter tells of the fire?", "the fire"),
        ("Which chapter of the book is about the fair", "the fair"),
        ("Where in the book does Brock lose his hat?", "does Brock lose his hat"),
        ("At what point in the story does the river rise?", "does the river rise"),
        ("in what part of the novel do they meet", "do they meet"),
        ("On what page does Brock lose his hat?", "does Brock lose his hat"),
        ("On which page of the book do they meet?", "do they meet"),
        ("Find the passage about the fire.", "the fire"),
        ("Show me the scene where Brock loses his hat", "Brock loses his hat"),
        ("Take me to the part of the book where the bell rings", "the bell rings"),
        ("show me where the river rises", "the river rises"),
        ("Where can I find the description of the kiln?", "the description of the kiln"),
        ("Find Wenna.", None),
        ("Find the place.", None),
        ("Tell me where Brock loses his hat.", None),
        ("On what page is it?", None),
        ("Which chapter is the longest?", None),
        ("Which chapter am I in?", None),
        ("What part does Wenna play?", None),
        ("What act did he commit?", None),
        ("Where does Brock lose his hat?", None),
        ("At what point did the river freeze?", None),
        ("In which chapter is it?", None),
    ],
)
def test_what_the_chapter_of_is_asked(question: str, what: str | None) -> None:
    assert looked_for(question) == what


@pytest.mark.parametrize(
    ("question", "chapter", "sentence"),
    [
        ("In which chapter does Wenna fire the kiln?", FIRST, "Wenna fired the kiln"),
        ("Which chapter tells of the fair?", SECOND, "At the fair"),
        ("Find the passage where Brock loses his hat.", SECOND, "lost his hat there"),
        ("In what chapter does Brock lose his hat?", SECOND, "lost his hat there"),
        ("Where in the book does Wenna wait for the boat?", THIRD, "Wenna waited for the boat"),
    ],
)
def test_the_chapter_of_what_is_found_is_told_with_its_sentence(
    qa: BookQA, question: str, chapter: str, sentence: str
) -> None:
    cited = answer(qa, question)
    assert cited.text == chapter
    assert cited.verdict != "none"
    assert cited.evidence is not None
    assert sentence in cited.evidence.sentence
    assert cited.evidence.text == TEXT[cited.evidence.start : cited.evidence.end]
    assert sum(one.confidence for one in cited.candidates) <= 1.0 + 1e-9


def test_chapters_are_as_likely_as_their_passages_rank_and_never_certain(qa: BookQA) -> None:
    question = "In which chapter do Wenna and Jory Pask wait for the boat?"
    [searched] = qa.search_many([Ask("kiln", question, k=10, retriever="bm25")])
    weights: dict[str, float] = {}
    for rank, hit in enumerate(searched.found.hits, 1):
        [title] = [one.title for one in MARKED if one.start <= hit.passage.start < one.end]
        weights[title] = weights.get(title, 0) + 1 / rank
    wanted = sorted(weights, key=lambda title: -weights[title])
    cited = answer(qa, question, k=10, n_best=9)
    assert [one.text for one in cited.candidates] == wanted
    assert len(wanted) == 3
    shares = [min(0.6, weights[title] / sum(weights.values())) for title in wanted]
    assert [one.confidence for one in cited.candidates] == pytest.approx(shares)
    assert max(map(len, (one.also for one in cited.candidates))) > 1
    for one in cited.candidates:
        assert [place.start for place in one.also] == sorted(place.start for place in one.also)
    [only] = answer(qa, "In which chapter does Wenna laugh?", before=MARKED[1].start).candidates
    assert (only.text, only.confidence) == (FIRST, 0.6)


def test_a_name_that_the_book_never_mentions_is_doubted(qa: BookQA) -> None:
    cited = answer(qa, "In which chapter does Harald fire the kiln?")
    assert cited.verdict == "none"
    assert cited.note == "the book never mentions Harald"


def test_no_chapter_behind_the_limit_is_told(qa: BookQA) -> None:
    cited = answer(qa, "In which chapter does Wenna wait for the boat?", before=MARKED[2].start)
    assert {one.text for one in cited.candidates} == {FIRST, SECOND}


def test_a_book_without_chapters_tells_how_far_into_it(qa: BookQA) -> None:
    cited = answer(qa, "In which chapter does Brock lose his hat?", "plain")
    assert cited.evidence is not None
    assert cited.text == f"{cited.evidence.percent:g} % into the book"
    assert "hat" in cited.evidence.sentence


def test_the_page_of_what_is_found_is_told_where_the_file_has_pages(qa: BookQA) -> None:
    question = "On what page does Brock lose his hat?"
    cited = answer(qa, question, "paged")
    assert cited.evidence is not None
    assert "lost his hat there" in cited.evidence.sentence
    assert (cited.text, cited.note) == (f"page {cited.evidence.page}", None)
    assert len({one.text for one in cited.candidates}) == len(cited.candidates)
    without = answer(qa, question)
    assert (without.text, without.note) == (SECOND, NO_PAGES)


def test_of_several_books_the_one_that_has_it_is_told(qa: BookQA) -> None:
    cited = answer(qa, "In which chapter does the cat sleep on the sacks?", "kiln,other")
    assert cited.evidence is not None
    assert cited.evidence.book_id == "other"


def test_passages_are_searched_without_the_word_chapter(qa: BookQA) -> None:
    with_it, without = (
        [hit.passage for hit in qa.search_many([Ask("kiln", question, retriever="bm25")])[0].found.hits]
        for question in ("In which chapter does Brock lose his hat?", "does Brock lose his hat")
    )
    assert with_it == without
    assert len(with_it) <= 5

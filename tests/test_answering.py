"""Answers, and the places in the book that they cite."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import shelf
from hypothesis import given
from hypothesis import strategies as st

from answering.ask import LONGEST_QUESTION, BadRequest, before_offset
from answering.book_qa import Ask, BookQA, CitedAnswer, Evidence
from answering.citing import cite, page_at
from answering.readable_chapters import chapter_at
from indexing.book import Book, Chapter, Page
from indexing.build import BuildSettings, build_book
from indexing.errors import UnknownBook
from indexing.store import IndexStore
from readers.attribution import nearest_sentence
from readers.reading import Answer, Span
from retrieval import LARGE_RERANK, RETRIEVERS
from text.equal_answers import answer_key
from text.registry import UnknownName

ASKS = [Ask(book, question, k=3, retriever="bm25", reader="overlap") for book, question in shelf.QUESTIONS]


@pytest.fixture(scope="module")
def qa(shelf_store: IndexStore) -> BookQA:
    return BookQA(shelf_store)


def places(cited: CitedAnswer) -> list[Evidence]:
    """Every place an answer cites."""
    return [
        place
        for candidate in cited.candidates
        for place in (candidate.evidence, *candidate.also)
        if place is not None
    ]


# The large one is the same but for its weights: test_retrieval has both.
every_retriever = pytest.mark.parametrize("retriever", [name for name in RETRIEVERS if name != LARGE_RERANK])


def untimed(cited: CitedAnswer) -> CitedAnswer:
    return replace(cited, timings_ms={})


@every_retriever
def test_answer_cites_the_place_in_the_book(qa: BookQA, retriever: str) -> None:
    asks = [replace(ask, retriever=retriever) for ask in ASKS]
    for ask, cited in zip(asks, qa.answer_many(asks), strict=True):
        text = shelf.story(ask.book_id).text
        assert cited.candidates[0].evidence == cited.evidence
        assert cited.candidates[0].text == cited.text
        for candidate in cited.candidates:
            assert candidate.evidence is not None
            assert text[candidate.evidence.start : candidate.evidence.end] == candidate.text
            assert candidate.evidence.text == candidate.text


def test_equal_answers_are_one_with_all_their_places(tmp_path: Path) -> None:
    text = "Irene kept the key. " * 3 + "Nobody else had it. " + "It was Irene. " * 2
    store = IndexStore(tmp_path)
    build_book(Book("irene", "Irene", text, "irene.txt"), BuildSettings(words=12), store)
    cited = BookQA(store).answer(Ask("irene", "Who kept the key?", k=3, n_best=5))
    keys = [answer_key(candidate.text) for candidate in cited.candidates]
    assert len(keys) == len(set(keys))
    irene = cited.candidates[keys.index("irene")]
    assert irene.evidence is not None
    found = [irene.evidence, *irene.also]
    assert len({(place.start, place.end) for place in found}) == len(found) > 1
    assert list(irene.also) == sorted(irene.also, key=lambda place: place.start)
    assert {answer_key(text[place.start : place.end]) for place in found} == {"irene"}


def test_the_sentence_holds_the_evidence_and_is_the_books_own(qa: BookQA) -> None:
    for ask, cited in zip(ASKS, qa.answer_many(ASKS), strict=True):
        text = shelf.story(ask.book_id).text
        for place in places(cited):
            assert text[place.sentence_start : place.sentence_end] == place.sentence
            assert place.sentence_start <= place.start < place.end <= place.sentence_end


def test_a_sentence_is_whole_where_a_passage_cuts_it(qa: BookQA) -> None:
    evidence = qa.answer(replace(ASKS[3], k=1)).evidence
    assert evidence is not None
    passage = qa.open("lantern").passages[evidence.passage]
    assert evidence.sentence_start < passage.start < evidence.sentence_end < passage.end
    assert " ".join(evidence.sentence.split()) == (
        "In the morning Captain Thorne rowed ashore with a barrel of salted plums to thank her."
    )


def test_the_passages_read_are_told_in_story_order_with_their_scores(qa: BookQA) -> None:
    for ask, cited, found in zip(ASKS, qa.answer_many(ASKS), qa.find(ASKS), strict=True):
        starts = [passage.start for passage in cited.passages]
        assert starts == sorted(starts)
        assert len(starts) == ask.k
        scores = {hit.passage.number: hit.score for hit in found.hits}
        assert {passage.number: passage.score for passage in cited.passages} == scores
        assert [hit.score for hit in found.hits] == sorted(scores.values(), reverse=True)


def test_a_language_model_is_given_what_other_readers_would_go_astray_in(qa: BookQA) -> None:
    ask = replace(ASKS[0], k=20, retriever="rerank")
    [of_others] = qa.find([replace(ask, reader="span")])
    [of_model] = qa.find([replace(ask, reader="chat:http://127.0.0.1:9/v1@model=none")])
    near = [hit.passage.number for hit in of_others.hits if hit.is_near]
    assert len(near) < len(of_others.hits)
    assert [hit.passage.number for hit in of_others.in_story_order] == sorted(near)
    assert [hit.passage.number for hit in of_model.in_story_order] == sorted(
        hit.passage.number for hit in of_model.hits
    )


def test_the_chapter_and_the_share_of_the_book_are_those_of_the_evidence(qa: BookQA) -> None:
    evidence = qa.answer(replace(ASKS[2], k=1)).evidence
    assert evidence is not None
    assert evidence.chapter == "II. The Storm"
    assert evidence.percent == round(100 * evidence.start / len(shelf.LANTERN), 1)
    unmarked = qa.answer(replace(ASKS[6], k=1)).evidence
    assert unmarked is not None
    assert unmarked.chapter is None


@every_retriever
@pytest.mark.parametrize("before", ["30%", "61.5%", 412, "700"])
def test_nothing_from_before_on_is_read_or_shown(qa: BookQA, retriever: str, before: int | str) -> None:
    asks = [replace(ask, before=before, k=100, n_best=20, retriever=retriever) for ask in ASKS]
    for ask, cited in zip(asks, qa.answer_many(asks), strict=True):
        limit = before_offset(before, len(shelf.story(ask.book_id).text))
        assert limit is not None
        assert cited.passages
        assert all(passage.end <= limit for passage in cited.passages)
        assert all(place.sentence_end <= limit for place in places(cited))


def test_where_nothing_may_be_read_the_answer_is_empty_and_not_an_error(qa: BookQA) -> None:
    cited = qa.answer(replace(ASKS[0], before=10))
    assert (cited.text, cited.confidence, cited.evidence) == ("", 0.0, None)
    assert not cited.answerable
    assert cited.candidates == ()
    assert cited.passages == ()


def test_answers_do_not_depend_on_what_else_is_in_the_batch(qa: BookQA) -> None:
    mixed = [
        replace(ask, k=k, n_best=n_best, before=before, retriever=retriever)
        for k, n_best, before, retriever in (
            (1, 4, None, "bm25"),
            (2, 1, "70%", "tfidf"),
            (3, 3, 600, "bm25"),
        )
        for ask in ASKS
    ]
    together = [untimed(cited) for cited in qa.answer_many(mixed)]
    assert together == [untimed(qa.answer(ask)) for ask in mixed]


def test_no_questions_have_no_answers(qa: BookQA) -> None:
    assert qa.answer_many([]) == []


def test_every_step_is_timed(qa: BookQA) -> None:
    timings = qa.answer(ASKS[0]).timings_ms
    assert set(timings) == {"search", "read", "cite", "total"}
    assert timings["total"] == pytest.approx(sum(timings.values()) - timings["total"], abs=0.01)


def test_the_versions_name_index_retriever_and_reader(qa: BookQA) -> None:
    assert qa.answer(ASKS[0]).versions == {
        "index": qa.open(ASKS[0].book_id).version,
        "retriever": "bm25",
        "reader": "overlap",
    }


def test_an_unknown_book_is_answered_with_near_names(qa: BookQA) -> None:
    with pytest.raises(UnknownBook, match="lantern") as caught:
        qa.check(replace(ASKS[0], book_id="lanterm"))
    assert caught.value.near == ("lantern",)


@pytest.mark.parametrize("wrong", [{"retriever": "bm52"}, {"reader": "overlab"}, {"reader": "spam:a/model"}])
def test_an_unknown_name_is_answered_with_the_choices(qa: BookQA, wrong: dict[str, str]) -> None:
    with pytest.raises(UnknownName, match="choose from"):
        qa.check(replace(ASKS[0], **wrong))  # type: ignore[arg-type]


def test_a_book_indexed_again_is_opened_again_and_a_removed_one_is_unknown(tmp_path: Path) -> None:
    store = shelf.stock(tmp_path)
    qa = BookQA(store)
    before = qa.answer(ASKS[0])
    build_book(shelf.story(ASKS[0].book_id), BuildSettings(words=60), store)
    after = qa.answer(ASKS[0])
    assert after.versions["index"] == qa.open(ASKS[0].book_id).version != before.versions["index"]
    assert len(after.passages) < len(qa.open("clock").passages)
    store.remove(ASKS[0].book_id)
    with pytest.raises(UnknownBook):
        qa.answer(ASKS[0])


def test_answers_are_the_same_when_books_are_closed_for_others(shelf_store: IndexStore, qa: BookQA) -> None:
    narrow = BookQA(shelf_store, open_bytes=1)
    asks = [ASKS[i] for i in (0, 4, 7, 1, 5, 8, 2)]
    assert [untimed(narrow.answer(ask)) for ask in asks] == [untimed(one) for one in qa.answer_many(asks)]


def test_an_answer_is_answerable_from_the_threshold_on_and_given_all_the_same(
    shelf_store: IndexStore,
) -> None:
    plain = [untimed(cited) for cited in BookQA(shelf_store, answerable=0.0, sure=0.0).answer_many(ASKS)]
    assert all(cited.answerable for cited in plain)
    assert all(cited.verdict == "answer" for cited in plain)
    threshold = sorted(cited.confidence for cited in plain)[5]
    strict = [
        untimed(cited) for cited in BookQA(shelf_store, answerable=threshold, sure=0.0).answer_many(ASKS)
    ]
    assert [cited.answerable for cited in strict] == [cited.confidence >= threshold for cited in plain]
    assert {cited.answerable for cited in strict} == {True, False}
    assert [replace(cited, answerable=True, verdict="answer") for cited in strict] == plain


def test_nothing_read_is_not_answerable_whatever_the_threshold(shelf_store: IndexStore) -> None:
    assert not BookQA(shelf_store, answerable=0.0).answer(replace(ASKS[0], before=10)).answerable


def test_generated_text_cites_what_its_reader_rests_it_on_and_not_the_nearest_sentence(qa: BookQA) -> None:
    [found] = qa.find([replace(ASKS[3], k=10)])
    support = Span(1, 3, 17)
    [candidate] = qa.cite(found, [Answer("salted plums", 1.0, 0.5, None, support, "it was guessed")])
    assert candidate.evidence is not None
    start = found.in_story_order[1].passage.start
    assert (candidate.evidence.start, candidate.evidence.end) == (start + 3, start + 17)
    assert candidate.evidence.text == found.reading.passages[1][3:17]
    assert candidate.note == "it was guessed"


def test_a_span_goes_before_a_support(qa: BookQA) -> None:
    [found] = qa.find([replace(ASKS[3], k=10)])
    [candidate] = qa.cite(
        found, [Answer(found.reading.passages[0][:5], 1.0, 0.5, Span(0, 0, 5), Span(1, 3, 17))]
    )
    assert candidate.evidence is not None
    assert candidate.evidence.text == candidate.text == found.reading.passages[0][:5]


def test_generated_text_cites_the_sentence_that_says_it(qa: BookQA) -> None:
    [found] = qa.find([replace(ASKS[3], k=10)])
    [candidate] = qa.cite(found, [Answer("he rowed over with some salted plums", 1.0, 0.5, None)])
    assert candidate.text == "he rowed over with some salted plums"
    assert candidate.evidence is not None
    assert candidate.evidence.text == shelf.LANTERN[candidate.evidence.start : candidate.evidence.end]
    assert "salted plums" in candidate.evidence.text.replace("\n", " ")


def test_generated_text_that_nothing_supports_cites_nothing(qa: BookQA) -> None:
    [found] = qa.find([replace(ASKS[3], question="Xyzzy?")])
    [candidate] = qa.cite(found, [Answer("qwertz", 1.0, 0.5, None)])
    assert candidate.evidence is None


def test_a_generating_readers_evidence_is_the_books_own_text(qa: BookQA, tiny_t5: Path) -> None:
    asks = [replace(ask, reader=f"seq2seq:{tiny_t5}", n_best=2) for ask in ASKS[:3]]
    for ask, cited in zip(asks, qa.answer_many(asks), strict=True):
        assert cited.candidates
        for place in places(cited):
            assert place.text == shelf.story(ask.book_id).text[place.start : place.end]


def test_the_nearest_sentence_is_the_earliest_that_holds_most_of_the_answer() -> None:
    passages = ("A cat sat. The dog ran off.", "The dog ran off. The red dog came back.")
    assert nearest_sentence(passages, "the dog ran", "who?") == (0, 11, 27)
    assert nearest_sentence(passages, "red", "who?") == (1, 17, 39)
    assert nearest_sentence(passages, "nothing", "where did the cat sit?") == (0, 0, 10)
    assert nearest_sentence((), "red", "who?") is None


def test_the_page_that_holds_a_character_is_the_last_that_begins_at_or_before_it() -> None:
    pages = (Page("ix", 0), Page("1", 10), Page("2", 10), Page("3", 40))
    assert [page_at(pages, at) for at in (0, 9, 10, 39, 40, 99)] == ["ix", "ix", "2", "2", "3", "3"]
    assert page_at((), 5) is None


def test_an_answer_from_a_book_with_pages_names_its_page(tmp_path: Path) -> None:
    pages = tuple(
        Page(str(number), start) for number, start in enumerate(range(0, len(shelf.LANTERN), 300), 7)
    )
    book = Book("lantern", "The Lamp", shelf.LANTERN, "lantern.pdf", author="Anse Vell", pages=pages)
    store = IndexStore(tmp_path)
    build_book(book, BuildSettings(), store)
    index = store.open("lantern")
    assert (index.book.author, index.book.pages) == ("Anse Vell", pages)
    start = shelf.LANTERN.index("Marigold")
    evidence = cite(index, index.passages[0], start, start + 8)
    assert (evidence.text, evidence.page) == ("Marigold", str(7 + start // 300))


def test_the_innermost_chapter_that_holds_a_character_is_its_chapter() -> None:
    chapters = [Chapter("Book I", 10, 100), Chapter("1", 20, 50), Chapter("2", 50, 90)]
    titles = [chapter_at(chapters, at) for at in (0, 10, 49, 50, 95, 100)]
    assert titles == [None, "Book I", "1", "2", "Book I", None]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("question", ""),
        ("question", " \n\t"),
        ("question", "x" * (LONGEST_QUESTION + 1)),
        ("question", "who \ud800?"),
        ("k", 0),
        ("k", 101),
        ("n_best", 0),
        ("n_best", 21),
        ("before", -1),
        ("before", "-1"),
        ("before", "101%"),
        ("before", "1.5"),
        ("before", "half"),
        ("before", "١٠%"),
        ("before", ""),
        ("before", "9" * 5000),
    ],
)
def test_what_cannot_be_asked_is_refused_by_the_name_of_its_field(field: str, value: object) -> None:
    with pytest.raises(BadRequest, match="wanted") as caught:
        replace(ASKS[0], **{field: value})  # type: ignore[arg-type]
    assert caught.value.field == field
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("question", ["\0", "who\0?", "x" * LONGEST_QUESTION, "誰?", "🜁", "?"])
def test_any_other_text_can_be_asked(qa: BookQA, question: str) -> None:
    assert 0.0 <= qa.answer(replace(ASKS[0], question=question)).confidence <= 1.0


@given(st.integers(0, 100), st.integers(0, 3_000_000))
def test_a_share_of_the_book_is_rounded_down_exactly(percent: int, characters: int) -> None:
    assert before_offset(f"{percent}%", characters) == characters * percent // 100


def test_a_long_paragraph_without_a_full_stop_is_cited_in_part(tmp_path: Path) -> None:
    text = "and then the goose " * 150 + "found the brass thimble " + "and then the goose " * 150
    store = IndexStore(tmp_path)
    build_book(Book("goose", "Goose", text, "goose.txt"), BuildSettings(), store)
    ask = Ask("goose", "Who found the brass thimble?", 1, "bm25", "overlap")
    evidence = BookQA(store).answer(ask).evidence
    assert evidence is not None
    assert evidence.sentence == text[evidence.sentence_start : evidence.sentence_end]
    assert len(evidence.sentence) < 6000

"""Who is NAME?: asked as a question, answered by the sentences that tell who somebody is."""

from __future__ import annotations

import pytest
from test_who import LATER, STORY

from answering.book_qa import Ask, BookQA
from answering.citing import CitedAnswer
from answering.who_is import description_asked, who_is_asked
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(Book("ferry", "The Ferry", STORY, "ferry.txt"), BuildSettings(words=40), store)
    return BookQA(store)


def answer(qa: BookQA, question: str, **more: object) -> CitedAnswer:
    asked = {"retriever": "bm25", "reader": "overlap"} | more
    return qa.answer(Ask("ferry", question, **asked))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Who is Aldith Sarn?", "Aldith Sarn"),
        ("who's Mrs. Pask again?", "Mrs. Pask"),
        ("Who was Jory Pask, the clay merchant, really?", "Jory Pask"),
        ("Who was Peter of Vell in the book?", "Peter of Vell"),
        ("Aldith Sarn? Who is that?", "Aldith Sarn"),
        ("Who is the mayor?", None),
        ("Who is Aldith Sarn married to?", None),
        ("Who is Aldith Sarn's sister?", None),
        ("Who is she?", None),
        ("Tell me about Mary Turner.", None),
    ],
)
def test_who_somebody_is_is_asked(question: str, name: str | None) -> None:
    assert who_is_asked(question) == name


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("Tell me about Mary Turner.", "Mary Turner"),
        ("Can you describe Aldith Sarn, the mayor", "Aldith Sarn"),
        ("What is Peter Brown like?", "Peter Brown"),
        ("What kind of person is Aldith?", "Aldith"),
        ("What can you tell me about Aldith?", "Aldith"),
        ("Could you give me a short description of Aldith Sarn?", "Aldith Sarn"),
        ("What is the ferry like?", None),
        ("Tell me about the bell.", None),
        ("Who is Aldith Sarn?", None),
    ],
)
def test_a_description_is_asked(question: str, name: str | None) -> None:
    assert description_asked(question) == name


@pytest.mark.parametrize("question", ["Tell me about Aldith Sarn.", "What is Aldith Sarn like?"])
@pytest.mark.parametrize("reader", ["overlap", "auto"])
def test_the_books_own_sentences_describe_somebody_each_with_its_place(
    qa: BookQA, question: str, reader: str
) -> None:
    cited = answer(qa, question, reader=reader)
    assert cited.verdict == "maybe"
    assert "The mayor of Sandry was Aldith Sarn" in cited.text
    places = [one for one in (cited.evidence, *cited.candidates[0].also) if one]
    assert " … ".join(one.text for one in places) == cited.text
    assert all(one.text == STORY[one.start : one.end] for one in places)
    assert [one.start for one in places] == sorted(one.start for one in places)


def test_who_somebody_is_is_read_in_the_sentences_that_tell_it(qa: BookQA) -> None:
    cited = answer(qa, "Who is Aldith Sarn?")
    read = [STORY[one.start : one.end] for one in cited.passages]
    assert STORY[: STORY.index(" On Monday")] in read
    assert all("Aldith Sarn" in one for one in read)
    assert cited.evidence is not None
    assert any(one.start <= cited.evidence.start < one.end for one in cited.passages)


def test_no_more_sentences_are_read_than_passages_are_asked_for(qa: BookQA) -> None:
    assert len(answer(qa, "Who is Aldith Sarn?", k=1).passages) == 1


@pytest.mark.parametrize("question", ["Who is Aldith Sarn?", "Tell me about Aldith Sarn."])
def test_nothing_is_told_that_comes_later(qa: BookQA, question: str) -> None:
    cited = answer(qa, question, before=LATER)
    assert cited.text
    assert all(one.end <= LATER for one in cited.passages)
    assert all(one.end <= LATER for one in (cited.evidence, *cited.candidates[0].also) if one)


def test_of_somebody_whom_the_book_does_not_name_nothing_is_told(qa: BookQA) -> None:
    cited = answer(qa, "Who is Harald Quill?")
    assert cited.verdict == "none"
    assert cited.note is not None
    assert "never mentions" in cited.note
    refused = answer(qa, "Describe Harald Quill.", reader="auto")
    assert (refused.text, refused.verdict) == ("", "none")


def test_candidates_are_chosen_from_as_for_any_question(qa: BookQA) -> None:
    cited = answer(qa, "Who is Aldith Sarn?", candidates=("the mayor", "the gulls"))
    assert cited.text in {"the mayor", "the gulls"}

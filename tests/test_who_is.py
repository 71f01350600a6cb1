"""Who is NAME?: asked as a question, answered by the sentences that tell who somebody is."""

from __future__ import annotations

import pytest
from test_who import LATER, STORY

from answering.book_qa import Ask, BookQA
from answering.citing import CitedAnswer
from answering.who_is import who_is_asked
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
        ("Who was Peter of Vell in the book?", "Peter of Vell"),
        ("Tell me about Mary Turner.", "Mary Turner"),
        ("Can you describe Aldith Sarn", "Aldith Sarn"),
        ("What is Peter Brown like?", "Peter Brown"),
        ("What kind of person is Aldith?", "Aldith"),
        ("Aldith Sarn? Who is that?", "Aldith Sarn"),
        ("Who is the mayor?", None),
        ("Who is Aldith Sarn married to?", None),
        ("Who is Aldith Sarn's sister?", None),
        ("What is the ferry like?", None),
        ("Who is she?", None),
        ("Tell me about the bell.", None),
    ],
)
def test_whom_is_asked_about(question: str, name: str | None) -> None:
    assert who_is_asked(question) == name


@pytest.mark.parametrize(
    "question", ["Who is Aldith Sarn?", "Tell me about Aldith Sarn.", "What is Aldith Sarn like?"]
)
def test_the_books_own_sentences_tell_it_each_with_its_place(qa: BookQA, question: str) -> None:
    cited = answer(qa, question)
    assert cited.verdict == "maybe"
    assert "The mayor of Sandry was Aldith Sarn" in cited.text
    places = [one for one in (cited.evidence, *cited.candidates[0].also) if one]
    assert " … ".join(one.text for one in places) == cited.text
    assert all(one.text == STORY[one.start : one.end] for one in places)
    assert [one.start for one in places] == sorted(one.start for one in places)


def test_nothing_is_told_that_comes_later(qa: BookQA) -> None:
    cited = answer(qa, "Who is Aldith Sarn?", before=LATER)
    assert "stolen" not in cited.text
    assert "sister" not in answer(qa, "Who is Mary Turner?", before=LATER).text


def test_nobody_is_told_of_whom_the_book_does_not_name(qa: BookQA) -> None:
    cited = answer(qa, "Who is Harald Quill?")
    assert cited.verdict == "none"
    assert cited.note is not None
    assert "never mentions" in cited.note
    refused = answer(qa, "Describe Harald Quill.", reader="auto")
    assert (refused.text, refused.verdict) == ("", "none")

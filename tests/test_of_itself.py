"""Who wrote the book, what it is called and when it was published: asked of the book, told by the book."""

from __future__ import annotations

import pytest

from answering.book_qa import Ask, BookQA
from answering.citing import CitedAnswer
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore

FIRST_PAGE = """THE GLASS FERRY

by Maren Adair

First published in 1902.

"""
STORY = (
    "The heron stood on the jetty until the boat came. Odo Pell, who wrote the book of tides, rowed it. "
    "He was called the ferryman, and the book was published in 1850 by Hale."
)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    for book in (
        Book("printed", "The Glass Ferry", f"{FIRST_PAGE}{STORY}", "test"),
        Book("file", "The Glass Ferry", STORY, "test", author="M. Adair"),
        Book("bare", "bare", STORY, "test"),
    ):
        build_book(book, BuildSettings(), store)
    return BookQA(store)


def answer(qa: BookQA, book: str, question: str, **more: object) -> CitedAnswer:
    return qa.answer(Ask(book, question, retriever="bm25", reader="overlap", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who wrote this book?", "Maren Adair"),
        ("who is the author", "Maren Adair"),
        ("Who's the author of this novel?", "Maren Adair"),
        ("By whom was this book written?", "Maren Adair"),
        ("Hi! Can you tell me who wrote The Glass Ferry?", "Maren Adair"),
        ("What is the author's name?", "Maren Adair"),
        ("What is the title of this book?", "The Glass Ferry"),
        ("Which book is this?", "The Glass Ferry"),
        ("When was this book first published?", "1902"),
        ("In which year was The Glass Ferry published?", "1902"),
    ],
)
def test_the_first_pages_answer_for_the_book_itself_and_are_cited(
    qa: BookQA, question: str, said: str
) -> None:
    cited = answer(qa, "printed", question)
    assert (cited.text, cited.verdict, cited.note) == (said, "answer", None)
    assert cited.evidence is not None
    assert cited.evidence.text.casefold() == said.casefold()
    assert cited.evidence.text == qa.open("printed").text(cited.evidence.start, cited.evidence.end)


def test_what_the_file_alone_says_has_no_place(qa: BookQA) -> None:
    cited = answer(qa, "file", "Who wrote this book?")
    assert (cited.text, cited.verdict, cited.evidence) == ("M. Adair", "answer", None)


@pytest.mark.parametrize(
    ("question", "note"),
    [
        ("Who wrote this book?", "who wrote it"),
        ("When was this book published?", "when it was first published"),
    ],
)
def test_what_is_not_said_of_the_book_is_not_taken_from_its_story(
    qa: BookQA, question: str, note: str
) -> None:
    cited = answer(qa, "bare", question)
    assert (cited.text, cited.verdict, cited.candidates) == ("", "none", ())
    assert cited.note == f"neither the book's file nor its first pages say {note}"
    assert cited.passages


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote the book of tides?",
        "What is the ferryman called?",
        "Who wrote a book?",
        "Who was the writer?",
    ],
)
def test_what_is_asked_of_the_story_the_story_answers(qa: BookQA, question: str) -> None:
    cited = answer(qa, "printed", question)
    assert cited.text
    assert cited.text != "Maren Adair"
    assert cited.evidence is not None
    assert cited.evidence.start >= len(FIRST_PAGE)


def test_nothing_is_told_of_several_books_at_once_or_of_candidates(qa: BookQA) -> None:
    assert answer(qa, "printed,file", "Who wrote this book?").text not in {"Maren Adair", "M. Adair"}
    chosen = answer(qa, "printed", "Who wrote this book?", candidates=("Odo Pell", "Hale"))
    assert chosen.text in {"Odo Pell", "Hale"}


def test_no_more_is_told_than_has_been_read(qa: BookQA) -> None:
    cited = answer(qa, "printed", "Who wrote this book?", before=FIRST_PAGE.index("by"))
    assert "Adair" not in cited.text

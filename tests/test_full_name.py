"""What is NAME's first name?: told by the longest name that a book has for somebody."""

from __future__ import annotations

import pytest

from answering.book_qa import Ask, BookQA
from answering.citing import CitedAnswer
from answering.full_name import NameQuestion, name_asked
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore

STORY = """\
Mr. Quill came late. Quill said that the ferry was slow, and he told Orla so. "Mr. Quill," said Orla, "you
are late." He laughed. Mrs. Dan Harker laughed, too. "I am not," said Mrs. Harker. Bryn the Tall said nothing.

In the evening Captain Edmund Quill went home, and Orla Van Doren went with him. "Good night, Quill," said
Bryn. "Good night, Mrs. Harker," said Orla. Mr. J. Pell said that it was late. "It is," said Pell.
"""
LATER = STORY.index("In the evening")


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(Book("quill", "Late", STORY, "late.txt"), BuildSettings(words=40), store)
    return BookQA(store)


def answer(qa: BookQA, question: str, before: int | None = None) -> CitedAnswer:
    return qa.answer(Ask("quill", question, retriever="bm25", reader="overlap", before=before))


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What is Quill's first name?", NameQuestion("Quill", "first")),
        ("What's Mr. Quill’s given name", NameQuestion("Mr. Quill", "first")),
        ("What was the last name of Orla?", NameQuestion("Orla", "last")),
        ("what is Orla's surname?", NameQuestion("Orla", "last")),
        ("What is James' full name?", NameQuestion("James", "whole")),
        ("What is the full name of Orla?", NameQuestion("Orla", "whole")),
        ("What is her first name?", None),
        ("What is the captain's last name?", None),
        ("What is Quill's name for the ferry?", None),
        ("What is the name of Orla's dog?", None),
    ],
)
def test_a_part_of_a_name_is_asked(question: str, asked: NameQuestion | None) -> None:
    assert name_asked(question) == asked


@pytest.mark.parametrize(
    ("question", "text", "whole"),
    [
        ("What is Quill's first name?", "Edmund", "Captain Edmund Quill"),
        ("What is Mr. Quill's full name?", "Edmund Quill", "Captain Edmund Quill"),
        ("What is Edmund's last name?", "Quill", "Captain Edmund Quill"),
        ("What is Orla's full name?", "Orla Van Doren", "Orla Van Doren"),
    ],
)
def test_it_is_told_where_the_whole_name_stands(qa: BookQA, question: str, text: str, whole: str) -> None:
    cited = answer(qa, question)
    assert (cited.text, cited.verdict) == (text, "answer")
    assert cited.evidence is not None
    assert STORY[cited.evidence.start : cited.evidence.end] == whole


@pytest.mark.parametrize(
    "question",
    [
        "What is Mrs. Harker's first name?",  # that is her husband's
        "What is Bryn's last name?",
        "What is Edmund Quill's full name?",
        "What is Pell's first name?",
    ],
)
def test_what_is_no_such_name_is_left_to_the_reader(qa: BookQA, question: str) -> None:
    cited = answer(qa, question)
    assert cited.text not in {"Edmund Quill", "Dan", "Tall", "J.", "J"}
    assert cited.note is None or "longest name" not in cited.note


def test_a_name_that_comes_later_is_not_told(qa: BookQA) -> None:
    cited = answer(qa, "What is Quill's first name?", before=LATER)
    assert "Edmund" not in cited.text

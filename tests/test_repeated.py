"""Who somebody is, is not answered by a name that the question has said, where there is another answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from answering.book_qa import Ask, BookQA
from answering.repeated import without_repeated
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from readers.reading import Answer

TEXT = (
    "Captain Anselm Pell came home late. “Good evening,” said Captain Anselm Pell. His sister Dora Pell shut "
    "the door. Captain Pell was tired, for he had rowed. Dora gave him bread, and she laughed. Captain Pell "
    "asked Dora for more. “There is none,” said Dora."
)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(Book("pell", "The Late Captain", TEXT, "test"), BuildSettings(), store)
    return BookQA(store)


def kept(qa: BookQA, question: str, *texts: str, **more: object) -> list[str]:
    ask = Ask("pell", question, retriever="bm25", reader="overlap", **more)  # type: ignore[arg-type]
    answers = [Answer(text, 0.5, 0.5, None) for text in texts]
    return [one.text for one in without_repeated(qa.find([ask])[0], answers)]


@pytest.mark.parametrize(
    ("question", "answers", "left"),
    [
        ("Who is Dora Pell?", ["Dora Pell", "his sister"], ["his sister"]),
        ("Who is Dora Pell?", ["Dora Pell", "Dora"], ["Dora Pell", "Dora"]),  # nothing else is there
        ("Who is Captain Pell's sister?", ["Captain Anselm Pell", "Dora Pell"], ["Dora Pell"]),
        ("Who is Captain Pell's sister?", ["Anselm", "Dora Pell"], ["Anselm", "Dora Pell"]),
        ("Who is late, Dora or the captain?", ["the captain", "Dora Pell"], ["the captain", "Dora Pell"]),
        ("What did Captain Pell want from Dora?", ["Dora", "bread"], ["Dora", "bread"]),
    ],
)
def test_answers_that_say_a_name_of_the_question_go_where_others_are(
    qa: BookQA, question: str, answers: list[str], left: list[str]
) -> None:
    assert kept(qa, question, *answers) == left


def test_candidates_are_chosen_from_whatever_they_repeat(qa: BookQA) -> None:
    chosen = ("Dora Pell", "a sister")
    assert kept(qa, "Who is Dora Pell?", *chosen, candidates=chosen) == [*chosen]


def test_what_is_answered_repeats_nothing(qa: BookQA, tmp_path: Path) -> None:
    store = IndexStore(tmp_path)
    text = "The keeper of Vell. For years the keeper was Ines Orr, who sang."
    build_book(Book("vell", "Vell", text, "test"), BuildSettings(), store)
    ask = Ask("vell", "Who is the keeper of Vell?", retriever="bm25", reader="overlap")
    assert "Ines Orr" in BookQA(store).answer(ask).text

"""No call tells or uses a chapter's title before its heading is read to the end, wherever a limit cuts it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from answering.book_qa import Ask, BookQA
from answering.of_itself import OfItself
from answering.recaps import recap
from answering.summaries import passages_to_summarise
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.chapters.outline import find_chapters
from indexing.index import BookIndex
from indexing.store import IndexStore
from retrieval.hits import Readable
from service.book_schemas import BookDetails, PlaceOut

TALE = (
    "Perrin drove the oxen down the salt road and counted the stones. Then Perrin and the oxen stood still. "
)
TEXT = f"""THE SALT ROAD

BOOK I

CHAPTER I
In Which the Toll Is Paid to Ossory

{TALE * 3}

  _CHAPTER II._

  The Mule   of Quell

{TALE * 3}

BOOK II

Who goes by night will find the gate
And find it shut, for it is late.

CHAPTER I
The Drowning
Of the Drover at Tarn

{TALE * 3}

CHAPTER II. THE WEDDING OF ISMENE

{TALE * 3}
"""
ENDINGS = ("Ossory", "Quell", "Tarn", "ISMENE")  # the last word of each heading, which nothing else has
READ = {word: TEXT.index(word) + len(word) for word in ENDINGS}  # where each heading has been read
CHAPTERS = find_chapters(TEXT)
# In the middle of each heading, once between a part's and the chapter's own, and before its last letter.
LIMITS = [
    limit
    for one, end in zip(CHAPTERS, READ.values(), strict=True)
    for limit in ((one.start + end) // 2, end - 1)
]


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    return made(tmp_path_factory.mktemp("store"))


def made(root: Path) -> BookQA:
    store = IndexStore(root)
    build_book(Book("road", "The Road", TEXT, "road.txt", CHAPTERS), BuildSettings(words=5), store)
    return BookQA(store)


def asked(question: str) -> Callable[[BookQA, int], str]:
    return lambda qa, limit: str(qa.answer(Ask("road", question, 100, "bm25", "overlap", 20, before=limit)))


def of_index(call: Callable[[BookIndex, int], object]) -> Callable[[BookQA, int], str]:
    return lambda qa, limit: str(call(qa.open("road"), limit))


CALLS: dict[str, Callable[[BookQA, int], str]] = {
    "passages": asked("Which drover was in the toll, the chapter, the mule, the drowning, the wedding?"),
    "which chapter": asked("In which chapter do Perrin and the oxen stand still?"),
    "which chapter of a heading": asked(
        "Which chapter tells of the toll, the mule, the drowning, the wedding?"
    ),
    "first mentioned": asked("When is the wedding first mentioned?"),
    "last mentioned": asked("In which chapter is the chapter last mentioned?"),
    "all mentioned": asked("In which chapters is the chapter mentioned?"),
    "whose chapter": asked("Who is in this chapter?"),
    "last chapter": asked("What is the last chapter called?"),
    "titles": asked("What are the chapters called?"),
    "longest": asked("Which chapter is the longest?"),
    "opening": asked("What is the first line of this chapter?"),
    "a person": asked("Who is Perrin?"),
    "chapters": of_index(lambda index, limit: OfItself(index, limit).chapters),
    "recap": of_index(lambda index, limit: recap(index, limit, 10)),
    "place": of_index(
        lambda index, limit: [PlaceOut.of(at, at + 1, index, limit) for at in range(0, limit, 9)]
    ),
    "summary": of_index(
        lambda index, limit: [
            index.text(one.start, one.end)
            for one in passages_to_summarise("Summarise the last chapter.", Readable(index, limit)) or ()
        ]
    ),
}


def test_the_headings_are_such_as_books_have() -> None:
    """In several lines, with marks, and with a motto between a part's and the chapter's own."""
    assert [one.title for one in CHAPTERS] == [
        "BOOK I, CHAPTER I: In Which the Toll Is Paid to Ossory",
        "BOOK I, CHAPTER II: The Mule of Quell",
        "BOOK II, CHAPTER I: The Drowning Of the Drover at Tarn",
        "BOOK II, CHAPTER II: THE WEDDING OF ISMENE",
    ]


@pytest.mark.parametrize("name", CALLS)
def test_no_title_is_told_before_its_heading_is_read(qa: BookQA, name: str) -> None:
    for limit in LIMITS:
        told = CALLS[name](qa, limit)
        assert [word for word, end in READ.items() if end > limit and word in told] == [], (limit, told)


@pytest.mark.parametrize("name", ["titles", "chapters", "place", "which chapter", "recap"])
def test_every_title_is_told_where_its_chapter_is_read(qa: BookQA, name: str) -> None:
    assert [word for word in ENDINGS if word not in CALLS[name](qa, len(TEXT))] == []


def test_a_title_is_told_from_the_end_of_its_heading_on(qa: BookQA) -> None:
    index = qa.open("road")
    for chapter, (word, end) in zip(CHAPTERS, READ.items(), strict=True):
        before, after = OfItself(index, end - 1).chapters, OfItself(index, end).chapters
        assert (chapter in before, chapter in after) == (False, True), word


def test_the_details_of_a_book_say_where_each_heading_ends(qa: BookQA) -> None:
    told = BookDetails.of_all(qa.open("road")).chapters
    assert [one.heading_end for one in told] == list(READ.values())

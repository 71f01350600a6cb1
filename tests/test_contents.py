"""A book as it is printed: its chapters by their titles, its first and last sentence, how long it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from answering.book_answers import said_of_itself
from answering.book_qa import Ask, BookQA
from answering.chapter_references import NO_CHAPTERS, NO_SUCH_CHAPTER, NOT_READ
from answering.citing import CitedAnswer
from indexing.book import Book, Chapter, Page
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore

OPENING = "When the ferry bell rang for the third time, Odo Pell put down his spoon."
CLOSING = "And nobody in Vell has rung it since."
HEADINGS = ("Preface", "Chapter I. The Bell", "Chapter II. The Spoon", "Chapter III")
STORY = (
    "This tale was told to me at Vell.",
    f"“A bell is a promise.”\n— a saying of Vell\n\n{OPENING} He went out. The boat was in.",
    "The spoon was gone when Odo came back. He looked for it under the table, and then in the river.",
    f"At last Wenna found it in the bell. {CLOSING}",
)
END = "THE END\n\n[Transcriber's note: two commas were added.]\n"


def made(headings: bool, end: str = END) -> tuple[str, tuple[Chapter, ...]]:
    text, chapters = "THE BELL AT VELL\n\n", []
    for heading, told in zip(HEADINGS, STORY, strict=True):
        piece = f"{heading}\n\n{told}\n\n" if headings else f"{told}\n\n"
        chapters.append(Chapter(heading, len(text), len(text) + len(piece)))
        text += piece
    return text + end, tuple(chapters) if headings else ()


TEXT, MARKED = made(True)
PAGES = (Page("1", 0), Page("2", 90), Page("3", 200))


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    for book in (
        Book("bell", "The Bell at Vell", TEXT, "test", MARKED),
        Book("paged", "The Bell at Vell", TEXT, "test", MARKED, pages=PAGES),
        Book("plain", "The Bell at Vell", made(False, "")[0], "test"),
    ):
        build_book(book, BuildSettings(words=30), store)
    return BookQA(store)


def answer(qa: BookQA, question: str, book: str = "bell", **more: object) -> CitedAnswer:
    return qa.answer(Ask(book, question, retriever="bm25", reader="overlap", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "question",
    [
        "What is the first sentence of the book?",
        "what's the opening line",
        "What are the first words of the story?",
        "How does The Bell at Vell begin?",
        "How does the book start?",
        "With what words does this story open?",
    ],
)
def test_a_story_begins_behind_its_title_preface_heading_and_motto(qa: BookQA, question: str) -> None:
    cited = answer(qa, question)
    assert (cited.text, cited.verdict) == (OPENING, "answer")
    assert cited.evidence is not None
    assert (cited.evidence.start, cited.evidence.chapter) == (TEXT.index(OPENING), HEADINGS[1])


@pytest.mark.parametrize(
    "question",
    [
        "What is the last sentence?",
        "What are the last words of the book?",
        "Which line does the novel end with?",
    ],
)
@pytest.mark.parametrize("book", ["bell", "plain"])
def test_a_story_ends_before_the_notes(qa: BookQA, question: str, book: str) -> None:
    assert answer(qa, question, book).text == CLOSING


def test_how_a_story_ends_is_not_told_before_it_was_read(qa: BookQA) -> None:
    cited = answer(qa, "What is the last sentence?", before="60%")
    assert (cited.text, cited.verdict, cited.note) == ("", "none", NOT_READ)


@pytest.mark.parametrize(
    "question",
    [
        "What are the chapters called?",
        "List the chapters.",
        "chapter titles",
        "What is the table of contents?",
    ],
)
def test_the_chapters_are_listed_each_with_its_place(qa: BookQA, question: str) -> None:
    cited = answer(qa, question)
    assert cited.text == "; ".join(HEADINGS)
    places = [cited.evidence, *cited.candidates[0].also]
    assert [place.start for place in places if place] == [one.start for one in MARKED]


def test_chapters_are_listed_as_far_as_the_book_has_been_read(qa: BookQA) -> None:
    cited = answer(qa, "What are the chapters called?", before=MARKED[2].start + 3)
    assert (cited.text, cited.note) == ("; ".join(HEADINGS[:2]), "as far as the book has been read")


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What is chapter 2 called?", HEADINGS[2]),
        ("What is the title of the second chapter?", HEADINGS[2]),
        ("what's the name of chapter II", HEADINGS[2]),
        ("What is the last chapter called?", HEADINGS[3]),
    ],
)
def test_a_chapter_tells_its_title(qa: BookQA, question: str, title: str) -> None:
    cited = answer(qa, question)
    assert cited.text == title
    assert cited.rewritten is None


@pytest.mark.parametrize(
    ("question", "note"),
    [("What is chapter 7 called?", NO_SUCH_CHAPTER), ("What is chapter 3 called?", NO_SUCH_CHAPTER)],
)
def test_no_title_is_told_of_a_chapter_that_is_not_there_or_not_read(
    qa: BookQA, question: str, note: str
) -> None:
    cited = answer(qa, question, before=MARKED[3].start)
    assert (cited.text, cited.note) == ("", note)
    assert answer(qa, "What is the last chapter called?", before="30%").note == NOT_READ


@pytest.mark.parametrize(
    "question",
    [
        "What are the chapters called?",
        "What is chapter 2 called?",
        "How many chapters are there?",
        "How many chapters?",
        "What is the number of chapters in the book?",
        "How long is chapter 2?",
        "What is the first line of chapter 2?",
        "What is the last line of chapter 2?",
        "Which chapter is the longest?",
    ],
)
def test_a_book_without_chapters_says_so(qa: BookQA, question: str) -> None:
    cited = answer(qa, question, "plain")
    assert (cited.text, cited.verdict, cited.note) == ("", "none", NO_CHAPTERS)


@pytest.mark.parametrize(
    ("question", "said", "chapter"),
    [
        ("What is the first line of chapter 1?", OPENING, 1),
        ("How does chapter 2 begin?", "The spoon was gone when Odo came back.", 2),
        ("What are the opening words of the last chapter?", "At last Wenna found it in the bell.", 3),
        (
            "What is the last line of chapter II?",
            "He looked for it under the table, and then in the river.",
            2,
        ),
        ("the last sentence of the last chapter", CLOSING, 3),
        ("How does the penultimate chapter begin?", "The spoon was gone when Odo came back.", 2),
        ("Quote the first line of the last chapter but one", "The spoon was gone when Odo came back.", 2),
    ],
)
def test_a_chapter_tells_how_it_begins_and_closes(qa: BookQA, question: str, said: str, chapter: int) -> None:
    cited = answer(qa, question)
    assert cited.text == said
    assert cited.evidence is not None
    assert cited.evidence.chapter == HEADINGS[chapter]
    assert cited.evidence.text == TEXT[cited.evidence.start : cited.evidence.end]


def test_a_chapter_tells_its_length(qa: BookQA) -> None:
    count = len(TEXT[MARKED[1].start : MARKED[1].end].split())
    for question in ("How many words are in chapter 1?", "How long is the first chapter?"):
        assert answer(qa, question).text == f"{count:,} words"


@pytest.mark.parametrize(
    "question", ["What is the last line of chapter 2?", "How long is chapter 2?", "How long is this chapter?"]
)
def test_a_chapter_that_is_not_read_to_its_end_does_not_tell_it(qa: BookQA, question: str) -> None:
    cited = answer(qa, question, before=MARKED[2].start + len(HEADINGS[2]) + 20)
    assert (cited.text, cited.verdict, cited.note) == ("", "none", NOT_READ)


@pytest.mark.parametrize(
    ("question", "chapter"),
    [
        ("Which chapter is the longest?", 1),
        ("What is the longest chapter of the book?", 1),
        ("Which is the shortest chapter?", 3),
    ],
)
def test_the_longest_and_the_shortest_chapter_are_told_with_their_words(
    qa: BookQA, question: str, chapter: int
) -> None:
    cited = answer(qa, question)
    assert cited.text == HEADINGS[chapter]
    assert cited.note == f"{len(TEXT[MARKED[chapter].start : MARKED[chapter].end].split()):,} words"
    for before in (MARKED[1].end, MARKED[2].start + len(HEADINGS[2]) + 5):  # the next is not read to its end
        only = answer(qa, question, before=before)
        assert (only.text, only.note) == (
            HEADINGS[1],
            f"{len(TEXT[MARKED[1].start : MARKED[1].end].split()):,} words; as far as the book has been read",
        )


def test_a_book_tells_its_length_and_how_long_it_takes_to_read(qa: BookQA) -> None:
    count = len(TEXT.split())
    words = answer(qa, "How long is the book?")
    assert abs(int(words.text.removesuffix(" words")) - count) <= 2  # a dash alone is no word
    for question in ("How many words are there in this book?", "how many words", "Tell me the word count"):
        assert answer(qa, question).text == words.text
    assert answer(qa, "How long does it take to read the book?").text == "1 min"


@pytest.mark.parametrize(
    ("count", "taken"),
    [
        (100, "1 min"),
        (260 * 7, "7 min"),
        (260 * 59, "59 min"),
        (260 * 60, "1 h 0 min"),
        (260 * 95, "1 h 35 min"),
    ],
)
def test_260_words_are_read_in_a_minute(count: int, taken: str, tmp_path: Path, tiny_bert: Path) -> None:
    store = IndexStore(tmp_path)
    book = Book("long", "The Oar", "oar " * count, "test")
    build_book(book, BuildSettings(words=10_000, encoder=str(tiny_bert)), store)
    cited = answer(BookQA(store), "How long does it take to read the book?", "long")
    assert (cited.text, cited.note) == (taken, f"{count:,} words, at 260 a minute {taken}")


def test_pages_are_those_of_the_file(qa: BookQA) -> None:
    assert answer(qa, "How many pages does the book have?", "paged").text == "3"
    without = answer(qa, "How many pages are there?")
    assert without.text == ""
    assert without.note is not None
    assert "page numbers" in without.note


@pytest.mark.parametrize(
    "question",
    [
        "What is the first thing that Odo did?",
        "What were the last words of Odo?",
        "How long is the river?",
        "What is the title of the song?",
        "How many pages did Odo read?",
        "How does Odo begin?",
    ],
)
def test_what_is_asked_of_the_story_is_searched_for(qa: BookQA, question: str) -> None:
    [found] = qa.find([Ask("bell", question, retriever="bm25", reader="overlap")], to_answer=True)
    assert said_of_itself(found) is None
    assert found.in_story_order

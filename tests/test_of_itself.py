"""Who wrote a book, whom it is about, where it is set, its chapters: asked of it, and told by it."""

from __future__ import annotations

import pytest

from answering.book_qa import Ask, BookQA
from answering.citing import CitedAnswer
from evaluation.benchmarks.benchmark import Question
from evaluation.systems import RetrievedPassages
from indexing.book import Book, Chapter
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from readers import open_reader

FIRST_PAGE = """THE GLASS FERRY

by Maren Adair

First published in 1902.

"""
STORY = (
    "The heron stood on the jetty until the boat came. Odo Pell, who wrote the book of tides, rowed it. "
    "He was called the ferryman, and the book was published in 1850 by Hale."
)


PARTS = (
    (
        "Chapter I. The Scales",
        "Lisbet Corrow kept the scales at Vell. Everybody in Vell knew Lisbet Corrow, and Lisbet told nobody "
        "what a sack had weighed. “Good morning, Lisbet,” said Mr. Thorne the ferryman. Lisbet Corrow said "
        "that it was one. Mr. Thorne had come from Quill to Vell with a letter. Lisbet read it, and "
        "Mr. Thorne waited.",
    ),
    (
        "Chapter II. The Letter",
        "When Lisbet married Gallus, Gallus came to live in Vell. So Gallus and Lisbet lived in Vell until "
        "the spring, and Gallus baked for Vell. Mr. Thorne said that Gallus was welcome. Lisbet laughed.",
    ),
    ("Chapter IV. The Flood", "Lisbet stood in Vell and looked at the water. “Come,” said Lisbet to Gallus."),
)
VELL, MARKED = "", []
for heading, told in (("Preface", "This was written at Vell."), *PARTS):
    MARKED.append(Chapter(heading, len(VELL), len(VELL) + len(f"{heading}\n\n{told}\n\n")))
    VELL += f"{heading}\n\n{told}\n\n"


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    for book in (
        Book("printed", "The Glass Ferry", f"{FIRST_PAGE}{STORY}", "test"),
        Book("file", "The Glass Ferry", STORY, "test", author="M. Adair"),
        Book("bare", "bare", STORY, "test"),
        Book("vell", "The Weigher", VELL, "test", tuple(MARKED)),
    ):
        build_book(book, BuildSettings(words=40), store)
    return BookQA(store)


def answer(qa: BookQA, book: str, question: str, **more: object) -> CitedAnswer:
    return qa.answer(Ask(book, question, retriever="bm25", reader="overlap", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Who wrote this book?", "Maren Adair"),
        ("who is the author", "Maren Adair"),
        ("author", "Maren Adair"),
        ("Who's the author of this novel?", "Maren Adair"),
        ("By whom was this book written?", "Maren Adair"),
        ("Hi! Can you tell me who wrote The Glass Ferry?", "Maren Adair"),
        ("Who is the author of the story?", "Maren Adair"),
        ("Tell me the title of the story", "The Glass Ferry"),
        ("What is the author's name?", "Maren Adair"),
        ("What is the title of this book?", "The Glass Ferry"),
        ("what's the title", "The Glass Ferry"),
        ("Which book is this?", "The Glass Ferry"),
        ("When was this book first published?", "1902"),
        ("In which year was The Glass Ferry published?", "1902"),
        ("When did this book come out?", "1902"),
        ("When did it come out?", "1902"),
        ("In which year was it published?", "1902"),
        ("What is the publication date?", "1902"),
        ("Please tell me who the author of this book is.", "Maren Adair"),
        ("Do you know what this book is called?", "The Glass Ferry"),
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
    ("before", "pages"), [(0, "those of its first pages that have been read"), ("100%", "its first pages")]
)
def test_title_and_author_are_on_the_cover_and_no_page_need_be_read_for_them(
    qa: BookQA, before: int | str, pages: str
) -> None:
    told = [
        answer(qa, "file", question, before=before)
        for question in ("What is the title?", "Who is the author?")
    ]
    assert [(one.text, one.verdict, one.note) for one in told] == [
        ("The Glass Ferry", "answer", None),
        ("M. Adair", "answer", None),
    ]
    assert answer(qa, "printed", "What is the title?", before=before).text == "The Glass Ferry"
    lacking = answer(qa, "bare", "Who wrote this book?", before=before)
    assert (lacking.text, lacking.note) == ("", f"neither the book's file nor {pages} say who wrote it")


def test_what_a_first_page_alone_says_is_not_told_before_it_is_read(qa: BookQA) -> None:
    cited = answer(qa, "printed", "Who wrote this book?", before=0)
    assert (cited.text, cited.verdict) == ("", "none")


@pytest.mark.parametrize(
    "question",
    [
        "Who wrote the book of tides?",
        "What is the ferryman called?",
        "When did it appear?",
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
    assert (cited.text, cited.verdict) == ("", "none")


def test_a_limit_before_the_first_whole_passage_hides_no_title_page(qa: BookQA) -> None:
    cited = answer(qa, "printed", "Who wrote this book?", before=len(FIRST_PAGE))
    assert (cited.text, cited.passages) == ("Maren Adair", ())


@pytest.mark.parametrize(
    "question",
    [
        "Who is the main character?",
        "who's the protagonist of this story",
        "Which character appears the most?",
        "Can you tell me who the main character of the book is?",
        "What is the name of the main character?",
        "Who is the hero in The Weigher?",
        "main character",
        "Who is the story about?",
    ],
)
def test_the_main_character_is_whom_the_book_names_most(qa: BookQA, question: str) -> None:
    cited = answer(qa, "vell", question)
    assert cited.text == "Lisbet Corrow"
    assert cited.verdict != "none"
    assert cited.evidence is not None
    assert cited.evidence.text == "Lisbet Corrow" == VELL[cited.evidence.start : cited.evidence.end]
    assert cited.note == f"the book names Lisbet Corrow {VELL.count('Lisbet')} times: counted, not read"
    confidences = [one.confidence for one in cited.candidates]
    assert confidences == sorted(confidences, reverse=True)
    assert {one.text for one in cited.candidates} == {"Lisbet Corrow", "Mr. Thorne", "Gallus"}


@pytest.mark.parametrize(
    "question",
    [
        "Who are the main characters?",
        "List the characters.",
        "Who are all the characters?",
        "characters",
        "What are the names of the main characters?",
    ],
)
def test_the_main_characters_are_one_answer_with_a_place_of_each(qa: BookQA, question: str) -> None:
    cited = answer(qa, "vell", question)
    assert sorted(cited.text.split(", ")) == ["Gallus", "Lisbet Corrow", "Mr. Thorne"]
    [only] = cited.candidates
    assert only.evidence is not None
    assert {one.text for one in (only.evidence, *only.also)} == set(cited.text.split(", "))


@pytest.mark.parametrize(
    "question",
    [
        "Where does the story take place?",
        "Can you tell me where the story takes place?",
        "I wonder where the book is set.",
        "where is it set",
        "What is the setting of the book?",
        "the setting",
        "In what town does the story take place?",
    ],
)
def test_a_book_is_set_where_its_names_say(qa: BookQA, question: str) -> None:
    cited = answer(qa, "vell", question)
    assert (cited.text, cited.verdict) == ("Vell", "maybe")
    assert cited.evidence is not None
    assert cited.evidence.text == "Vell"


def test_names_behind_the_limit_are_not_counted(qa: BookQA) -> None:
    cited = answer(qa, "vell", "Who are the main characters?", before=MARKED[2].start)
    assert sorted(cited.text.split(", ")) == ["Lisbet Corrow", "Mr. Thorne"]
    assert "Gallus" not in repr(cited)


@pytest.mark.parametrize("question", ["Who is the main character?", "Where is the story set?"])
def test_where_names_do_not_tell_the_passages_are_read(qa: BookQA, question: str) -> None:
    cited = answer(qa, "bare", question)
    assert cited.note is None or "counted" not in cited.note


def test_chapters_are_counted_by_their_numbers(qa: BookQA) -> None:
    cited = answer(qa, "vell", "How many chapters are there in the book?")
    # The third was not found as a chapter.
    assert (cited.text, cited.verdict, cited.note) == ("4", "answer", None)
    assert cited.evidence is not None
    assert cited.evidence.text == "Chapter IV. The Flood"


def test_chapters_behind_the_limit_are_not_counted(qa: BookQA) -> None:
    cited = answer(qa, "vell", "How many chapters does this book have?", before=MARKED[3].start)
    assert (cited.text, cited.note) == ("2", "as far as the book has been read")


def test_a_book_without_chapters_says_so(qa: BookQA) -> None:
    cited = answer(qa, "bare", "How many chapters are there?")
    assert (cited.text, cited.verdict) == ("", "none")
    assert cited.note == "the book has no chapters that are marked as such"


@pytest.mark.parametrize(
    "question",
    ["Who is the main character?", "Where is the story set?", "How many chapters are there?", "Who laughed?"],
)
def test_what_is_evaluated_is_what_the_service_says(qa: BookQA, question: str) -> None:
    system = RetrievedPassages(qa, "bm25", "overlap", open_reader("overlap"), 5, None)
    [said] = system.answer([Question("q", "vell", question, ("Lisbet Corrow",), "vell")])
    cited = answer(qa, "vell", question)
    assert cited.evidence is not None
    assert (said.text, said.confidence) == (cited.text, cited.confidence)
    assert said.place == (cited.evidence.start, cited.evidence.end)
    assert said.quoted == cited.evidence.text


def test_candidates_of_a_benchmark_are_chosen_from_by_the_reader(qa: BookQA) -> None:
    system = RetrievedPassages(qa, "bm25", "overlap", open_reader("overlap"), 5, None)
    asked = Question("q", "vell", "Where is the story set?", ("Quill",), "vell", candidates=("Quill", "Osk"))
    [said] = system.answer([asked])
    assert said.text in asked.candidates


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Who appears in chapter 1?", ["Lisbet Corrow", "Mr. Thorne"]),
        ("Which characters are in the second chapter?", ["Lisbet Corrow", "Gallus", "Mr. Thorne"]),
        ("Who is mentioned in the last chapter?", ["Lisbet Corrow", "Gallus"]),
        ("the characters in chapter IV", ["Lisbet Corrow", "Gallus"]),
    ],
)
def test_a_chapter_tells_whom_it_names_with_a_place_of_each(
    qa: BookQA, question: str, named: list[str]
) -> None:
    cited = answer(qa, "vell", question)
    assert sorted(cited.text.split(", ")) == sorted(named)
    places = [one for one in (cited.evidence, *cited.candidates[0].also) if one]
    assert len(places) == len(named)
    assert len({one.chapter for one in places}) == 1
    assert all(any(word in name for name in named) for one in places for word in one.text.split())


@pytest.mark.parametrize(
    "question", ["How many characters are there?", "How many different characters does the story have?"]
)
def test_persons_are_counted_as_far_as_has_been_read(qa: BookQA, question: str) -> None:
    cited = answer(qa, "vell", question)
    assert (cited.text, cited.verdict) == ("3", "maybe")
    assert cited.note is not None
    assert "most often Lisbet Corrow, " in cited.note
    assert len(cited.candidates[0].also) == 2
    assert answer(qa, "vell", question, before=MARKED[2].start).text == "2"
    assert answer(qa, "bare", "How many characters are there?").text != "0"


def test_of_a_chapter_no_more_is_told_than_has_been_read(qa: BookQA) -> None:
    limit = VELL.index("Gallus came")
    assert answer(qa, "vell", "Who is in chapter 2?", before=limit).text == "Lisbet Corrow"
    assert answer(qa, "vell", "Who is in this chapter?", before=limit).text == "Lisbet Corrow"
    assert answer(qa, "vell", "Who is in chapter 4?", before=limit).text == ""
    assert answer(qa, "vell", "Who is in the last chapter?", before=limit).text == ""


@pytest.mark.parametrize("question", ["What places are mentioned?", "List the places in the book."])
def test_a_book_tells_the_places_that_it_names(qa: BookQA, question: str) -> None:
    cited = answer(qa, "vell", question)
    assert cited.text.split(", ")[0] == "Vell"
    assert cited.evidence is not None
    assert cited.evidence.start == VELL.index("Vell", MARKED[1].start)  # behind the preface

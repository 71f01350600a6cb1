"""How often and where a book mentions what: counted in all of it, as far as it has been read."""

from __future__ import annotations

import re

import pytest

from answering.book_qa import Ask, BookQA
from answering.chapter_references import NO_CHAPTERS, NO_PAGES, NO_SUCH_CHAPTER, NOT_READ
from answering.citing import CitedAnswer
from answering.mention_questions import mentions_asked
from indexing.book import Book, Chapter, Page
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore

PARTS = (
    (
        "Chapter I. The Kiln",
        "Wenna fired the kiln before the frost came. “Good morning, Wenna,” said Mr. Brock. Wenna turned "
        "forty bowls that week, and Mr. Brock carried the clay. Wenna laughed at him, and Mr. Brock "
        "laughed, too.",
    ),
    (
        "Chapter II. The Fair",
        "At the fair the bowls were sold for two crowns each. Mr. Brock lost his hat there, and Jory Pask "
        "found it. “Thank you,” said Mr. Brock. Jory Pask said nothing. Wenna knew Jory Pask, who sold clay "
        "of his own.",
    ),
    (
        "Chapter III. The Flood",
        "The river took the kiln away. Wenna waited for the boat, and Jory Pask came.",
    ),
)
TEXT, MARKED = "", []
for heading, told in PARTS:
    MARKED.append(Chapter(heading, len(TEXT), len(TEXT) + len(f"{heading}\n\n{told}\n\n")))
    TEXT += f"{heading}\n\n{told}\n\n"
FIRST, SECOND, THIRD = (one.title for one in MARKED)
COMES, GOES = "Jory Comes\n\nJory saw Wenna. Wenna sat.\n\n", "Wenna Goes\n\nWenna left, and Jory saw her.\n"
PAGES = tuple(Page(label, TEXT.index(word)) for label, word in (("7", "Wenna"), ("8", "Jory"), ("9", "knew")))


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(Book("kiln", "The Kiln", TEXT, "test", tuple(MARKED)), BuildSettings(words=30), store)
    build_book(Book("plain", "The Kiln", TEXT, "test"), BuildSettings(words=30), store)
    again = (*MARKED[:2], Chapter(FIRST, MARKED[2].start, MARKED[2].end))
    build_book(Book("again", "The Kiln", TEXT, "test", again), BuildSettings(words=30), store)
    listed = f"THE KILN\n\nContents: the kiln, the fair, Jory Pask\n\n{TEXT}"
    shift = len(listed) - len(TEXT)
    behind = tuple(Chapter(one.title, one.start + shift, one.end + shift) for one in MARKED)
    build_book(Book("listed", "The Kiln", listed, "test", behind), BuildSettings(words=30), store)
    opens = tuple(
        Chapter(text.splitlines()[0], at, at + len(text)) for at, text in ((0, COMES), (len(COMES), GOES))
    )
    build_book(Book("opens", "The Fair", COMES + GOES, "test", opens), BuildSettings(words=30), store)
    build_book(Book("paged", "The Kiln", TEXT, "test", pages=PAGES), BuildSettings(words=30), store)
    return BookQA(store)


def answer(qa: BookQA, question: str, book: str = "kiln", **more: object) -> CitedAnswer:
    return qa.answer(Ask(book, question, retriever="bm25", reader="overlap", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "pattern"),
    [
        ("How many times is the kiln mentioned?", r"(?i)\bkiln\b"),
        ("How often does the word 'bowls' occur?", r"\bbowls\b"),
        ("how many times does the word clay appear in the book", r"\bclay\b"),
        ("How many mentions of Jory Pask are there?", r"\bJory Pask\b"),
        ("How often does Wenna appear in the story?", r"\bWenna\b"),
        ("How many times does 'clay' occur?", r"\bclay\b"),
        ("How often does Jory Pask appear?", r"\bJory Pask\b"),
        ("How often is Jory Pask named in the book?", r"\bJory Pask\b"),
        ("Count the occurrences of laughed", r"\blaughed\b"),
        ("How often does the word 'the' occur?", r"(?i)\bthe\b"),
    ],
)
def test_mentions_are_all_counted_and_the_first_are_cited(qa: BookQA, question: str, pattern: str) -> None:
    places = [match.span() for match in re.finditer(pattern, TEXT)]
    cited = answer(qa, question)
    assert (cited.text, cited.verdict) == (str(len(places)), "answer")
    found = [(one.start, one.end) for one in (cited.evidence, *cited.candidates[0].also) if one]
    assert found == places[:10]
    assert ("the first 10 places are cited" in str(cited.note)) == (len(places) > 10)


def test_a_list_of_contents_mentions_nobody(qa: BookQA) -> None:
    first = answer(qa, "When is Jory Pask first mentioned?", "listed")
    assert (first.text, first.evidence and first.evidence.chapter) == (SECOND, SECOND)
    count = answer(qa, "How many times is Jory Pask mentioned?", "listed")
    assert count.text == str(TEXT.count("Jory Pask"))


def test_the_first_word_of_a_chapter_is_of_no_chapter_before_it(qa: BookQA) -> None:
    counts = [answer(qa, f"How many times is Wenna mentioned in chapter {n}?", "opens").text for n in (1, 2)]
    assert counts == ["2", "2"]


def test_no_more_is_counted_than_has_been_read(qa: BookQA) -> None:
    cited = answer(qa, "How many times is Wenna mentioned?", before=MARKED[1].start)
    assert cited.text == str(TEXT[: MARKED[1].start].count("Wenna"))


@pytest.mark.parametrize(
    ("question", "where", "place"),
    [
        ("When does Jory first appear?", SECOND, TEXT.index("Jory")),
        ("In which chapter is Jory Pask introduced?", SECOND, TEXT.index("Jory")),
        ("Which chapter is Jory introduced in?", SECOND, TEXT.index("Jory")),
        ("Where is the hat first mentioned?", SECOND, TEXT.index("hat there")),
        ("When do we first meet Mr. Brock?", FIRST, TEXT.index("Mr. Brock")),
        ("Where does Mr. Brock last appear?", SECOND, TEXT.rindex("Mr. Brock")),
        ("When is the kiln last mentioned?", THIRD, TEXT.rindex("kiln")),
        ("Which chapter mentions Jory first?", SECOND, TEXT.index("Jory")),
        ("What chapter mentions the kiln last?", THIRD, TEXT.rindex("kiln")),
    ],
)
def test_the_first_or_last_mention_is_told_by_its_chapter(
    qa: BookQA, question: str, where: str, place: int
) -> None:
    cited = answer(qa, question)
    assert (cited.text, cited.verdict) == (where, "answer")
    assert cited.evidence is not None
    assert cited.evidence.start == place


@pytest.mark.parametrize(
    "question",
    [
        "Which chapters mention Jory Pask?",
        "Where is Jory Pask mentioned?",
        "In which chapters does Jory Pask appear?",
        "What chapters does Jory Pask appear in?",
        "Which chapters is Jory Pask in?",
    ],
)
def test_all_chapters_of_a_name_are_listed_with_a_place_of_each(qa: BookQA, question: str) -> None:
    cited = answer(qa, question)
    assert cited.text == f"{SECOND}; {THIRD}"
    assert [one.chapter for one in (cited.evidence, *cited.candidates[0].also) if one] == [SECOND, THIRD]


@pytest.mark.parametrize(
    "question",
    [
        "In how many chapters does Jory Pask appear?",
        "How many chapters is Jory Pask in?",
        "How many chapters mention Jory?",
        "In how many chapters is Jory Pask mentioned?",
    ],
)
def test_chapters_of_a_name_are_counted_and_listed(qa: BookQA, question: str) -> None:
    cited = answer(qa, question)
    assert (cited.text, cited.verdict) == ("2", "answer")
    assert cited.note is not None
    assert cited.note.startswith(f"{SECOND}; {THIRD} (")
    assert answer(qa, question, before=MARKED[1].start).text == "0"
    assert answer(qa, question, "plain").note == NO_CHAPTERS


def test_chapters_that_are_called_alike_count_as_two(qa: BookQA) -> None:
    assert answer(qa, "In how many chapters does Wenna appear?", "again").text == "3"


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("On which page does Jory Pask first appear?", "page 8"),
        ("What page is Jory Pask first mentioned on?", "page 8"),
        ("On what page is the hat first mentioned?", "page 7"),
        ("On which pages is Jory Pask mentioned?", "page 8; page 9"),
        ("On how many pages does Jory Pask appear?", "2"),
    ],
)
def test_pages_are_told_where_the_file_has_them(qa: BookQA, question: str, said: str) -> None:
    cited = answer(qa, question, "paged")
    assert (cited.text, cited.verdict) == (said, "answer")
    places = [one.page for one in (cited.evidence, *cited.candidates[0].also) if one]
    assert "; ".join(f"page {page}" for page in places) in {said, "page 8; page 9"}
    assert answer(qa, question).note == NO_PAGES


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Is Jory Pask in the book?", "Yes"),
        ("Is Jory a character in the book?", "Yes"),
        ("Was Dumbledore one of the characters in the story?", "No"),
        ("Does Wenna appear in the story?", "Yes"),
        ("Is there a character called Jory?", "Yes"),
        ("Is the hat ever mentioned?", "Yes"),
        ("Are hats mentioned?", "Yes"),  # in another number
        ("Is the word 'hats' mentioned?", "No"),
        ("Is the word clay used?", "Yes"),
        ("Was anybody called Jory?", "Yes"),
        ("Is Dumbledore in the book?", "No"),
        ("Does the book mention a submarine?", "No"),
        ("Is there anyone named Harald in this novel?", "No"),
    ],
)
def test_whether_a_book_has_a_name_is_yes_or_no(qa: BookQA, question: str, said: str) -> None:
    cited = answer(qa, question)
    assert (cited.text, cited.verdict) == (said, "answer")
    assert (cited.evidence is not None) == (said == "Yes")


@pytest.mark.parametrize(
    ("question", "said", "chapter"),
    [
        ("Does Jory Pask appear in chapter 1?", "No", None),
        ("Does Jory Pask appear in chapter 2?", "Yes", SECOND),
        ("Is Wenna in the last chapter?", "Yes", THIRD),
        ("Is Mr. Brock mentioned in chapter III?", "No", None),
        ("How many times is Mr. Brock mentioned in the first chapter?", "3", FIRST),
        ("How often does the word 'bowls' occur in chapter 2?", "1", SECOND),
        ("How many times is the kiln mentioned in chapter 2?", "0", None),
    ],
)
def test_what_a_chapter_mentions_is_counted_in_it_alone(
    qa: BookQA, question: str, said: str, chapter: str | None
) -> None:
    cited = answer(qa, question)
    assert (cited.text, cited.verdict, cited.rewritten) == (said, "answer", None)
    places = [one for one in (cited.evidence, *cited.candidates[0].also) if one]
    assert {one.chapter for one in places} == ({chapter} if chapter else set())
    if chapter is None:
        assert cited.note is not None
        assert cited.note.startswith("that chapter never mentions")


def test_of_a_chapter_that_is_not_there_nothing_is_counted(qa: BookQA) -> None:
    assert answer(qa, "Does Jory Pask appear in chapter 9?").note == NO_SUCH_CHAPTER
    assert answer(qa, "Does Jory Pask appear in chapter 2?", "plain").note == NO_CHAPTERS
    unread = answer(qa, "Does Jory Pask appear in the last chapter?", before=MARKED[2].start)
    assert (unread.text, unread.note) == ("", NOT_READ)
    part = answer(qa, "Does Jory Pask appear in chapter 2?", before=MARKED[1].start + 30)
    assert part.note == "what has been read of that chapter never mentions 'Jory Pask'"


def test_what_comes_later_is_not_known_of_yet(qa: BookQA) -> None:
    limit = MARKED[1].start
    asked = answer(qa, "Is Jory Pask in the book?", before=limit)
    assert (asked.text, asked.note) == ("No", "what has been read of the book never mentions 'Jory Pask'")
    for question in ("When is the hat first mentioned?", "When does Jory Pask first appear?"):
        assert answer(qa, question, before=limit).text == ""
    last = answer(qa, "When is the kiln last mentioned?", before=limit)
    assert (last.text, last.evidence and last.evidence.start) == (FIRST, TEXT.index("kiln"))


def test_in_a_book_without_chapters_a_mention_is_so_far_into_it(qa: BookQA) -> None:
    cited = answer(qa, "Where does Jory Pask first appear?", "plain")
    assert cited.text == f"{round(100 * TEXT.index('Jory') / len(TEXT), 1):g} % into the book"
    assert answer(qa, "In which chapter is Jory introduced?", "plain").note == NO_CHAPTERS


@pytest.mark.parametrize(
    "question",
    [
        "Is Wenna married in the book?",
        "Was the hat found in the story?",
        "When does the ghost first appear?",
        "How many times does the bell appear in the sky?",
        "How often is Wenna late?",
        "Is it mentioned in the book?",
        "Where is the hat?",
        "When was Jory introduced to Wenna?",
        "Does the kiln appear in the story?",
    ],
)
def test_what_is_asked_of_the_story_is_not_counted(qa: BookQA, question: str) -> None:
    asked = mentions_asked(question)
    cited = answer(qa, question)
    assert asked is None or cited.text not in {"Yes", "No", FIRST, SECOND, THIRD}
    assert not cited.text.isdigit()

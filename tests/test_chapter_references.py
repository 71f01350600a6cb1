"""Which part of a book is asked: its passages alone are found, and no part behind the reader's limit is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from answering.ask import Turn
from answering.book_qa import Ask, BookQA
from answering.chapter_references import (
    NO_CHAPTER_BEGUN,
    NO_SUCH_CHAPTER,
    NOT_READ,
    SEVERAL_CHAPTERS,
    Part,
    apart_from_chapter,
    chapter_alone,
    chapter_numbers,
    last_chapter,
    numbered_chapters,
    numbers_of,
    titled_chapter,
)
from answering.citing import CitedAnswer
from answering.follow_ups import leans_on_others
from indexing.book import Book, Chapter, Passage
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from retrieval.hits import Hit

CHAPTERS = (
    (
        "Chapter I. The Kiln",
        "Wenna fired the kiln before the frost came. Old Brock carried the clay up from the pit, and Wenna "
        "turned forty bowls upon the wheel that week. The lamp was lit by Tamsin.",
    ),
    (
        "Chapter II. The Fair",
        "At the fair the bowls were sold for two crowns each. Brock lost his hat there, and a pedlar named "
        "Jory found it under a cart. The lamp was lit by Jory.",
    ),
    (
        "Chapter III. The Flood",
        "The river rose in the night and took the kiln away. Wenna climbed into the loft and waited for the "
        "boat. The lamp was lit by Hedra.",
    ),
)


def made(headings: bool) -> tuple[str, tuple[Chapter, ...]]:
    text, chapters = "", []
    for heading, story in CHAPTERS:
        piece = f"{heading}\n\n{story}\n\n" if headings else f"{story}\n\n"
        chapters.append(Chapter(heading, len(text), len(text) + len(piece)))
        text += piece
    return text, tuple(chapters) if headings else ()


TEXT, MARKED = made(True)
PARTED = tuple(
    Chapter(title, one.start, one.end)
    for title, one in zip(
        ("PART ONE: Earth, CHAPTER I", "PART ONE: Earth, CHAPTER II", "PART TWO: Water, CHAPTER I"),
        MARKED,
        strict=True,
    )
)

# As chapters are found in texts: the blank lines behind each are in none.
TRIMMED = tuple(
    replace(one, end=len(TEXT[: one.end].rstrip()) if one is not MARKED[-1] else one.end) for one in MARKED
)
PREFACE = "The bowls of this tale were turned by Wenna, and the lamp was lit by whoever came. " * 3 + "\n\n"
PREFACED = tuple(replace(one, start=one.start + len(PREFACE), end=one.end + len(PREFACE)) for one in MARKED)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    for id, (text, chapters), words in (
        ("kiln", (TEXT, MARKED), 15),
        ("coarse", (TEXT, MARKED), 200),
        ("plain", made(False), 15),
        ("parted", (TEXT, PARTED), 15),
        ("trimmed", (TEXT, TRIMMED), 15),
        ("prefaced", (PREFACE + TEXT, PREFACED), 15),
    ):
        build_book(Book(id, "The Kiln", text, "test", chapters), BuildSettings(words=words), store)
    return BookQA(store)


def read_question(qa: BookQA, question: str) -> str:
    return qa.find([Ask("kiln", question, retriever="bm25", reader="overlap")])[0].reading.question


def answer(qa: BookQA, question: str, book: str = "kiln", **more: object) -> CitedAnswer:
    return qa.answer(Ask(book, question, retriever="bm25", reader="overlap", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "chapter"),
    [
        ("Who lit the lamp in chapter 1?", 0),
        ("In chapter two, who lit the lamp?", 1),
        ("In the second chapter who lit the lamp?", 1),
        ("Hello! Can you tell me who lit the lamp in Chapter III?", 2),
        ("Who lit the lamp in the last chapter?", 2),
        ("Who lit the lamp in the second to last chapter?", 1),
        ("In the last chapter but one, who lit the lamp?", 1),
        ("Who lit the lamp in the chapter The Fair?", 1),
        ('In the chapter "The Flood", who lit the lamp?', 2),
        ("What happens in chapter 2?", 1),
        ("In act 3, who lit the lamp?", 2),
        ("who lit the lamp in ch 2", 1),
        ("Ch. III: who lit the lamp?", 2),
        ("in chap 1 what was lit", 0),
        ("Who lit the lamp in Act II?", 1),
        ("Who lit the lamp in canto one?", 0),
    ],
)
@pytest.mark.parametrize("retriever", ["bm25", "tfidf", "hybrid"])
def test_passages_are_those_of_the_chapter_asked_for(
    qa: BookQA, retriever: str, question: str, chapter: int
) -> None:
    [searched] = qa.search_many([Ask("kiln", question, retriever=retriever, k=3)])
    found = [hit.passage for hit in searched.found.hits]
    within = MARKED[chapter]
    assert found
    assert all(within.start <= one.start < one.end <= within.end for one in found)
    assert len(found) <= 3


def test_the_same_question_has_the_answer_of_each_chapter(qa: BookQA) -> None:
    lit = [answer(qa, f"In chapter {number}, the lamp was lit by whom?").evidence for number in (1, 2, 3)]
    assert [one is not None and one.sentence for one in lit] == [
        f"The lamp was lit by {name}." for name in ("Tamsin", "Jory", "Hedra")
    ]


def test_what_is_read_in_the_chapter_does_not_name_it(qa: BookQA) -> None:
    assert read_question(qa, "In chapter 2, who found the hat?") == "Who found the hat?"
    assert "yes or no" in (answer(qa, "In chapter 2, was the hat found?").note or "")


def test_a_chapter_counted_from_the_end_is_not_the_last(qa: BookQA) -> None:
    assert read_question(qa, "In the penultimate chapter, who found the hat?") == "Who found the hat?"
    [searched] = qa.search_many([Ask("kiln", "Who lit the lamp in the third to last chapter?", k=9)])
    assert len({hit.passage.start // MARKED[0].end for hit in searched.found.hits}) > 1


@pytest.mark.parametrize(
    ("passages", "found"),
    [
        ([(0, 110), (110, 190), (190, 290)], [(110, 190)]),  # a tenth of the others is in the part
        ([(0, 110), (190, 290)], [(100, 110), (190, 200)]),
        ([(0, 125), (110, 190)], [(100, 125), (110, 190)]),  # a fifth is no small rest
        ([(0, 100), (200, 290)], []),
    ],
)
def test_small_rests_of_passages_are_read_where_there_is_nothing_else(
    passages: list[tuple[int, int]], found: list[tuple[int, int]]
) -> None:
    hits = [Hit(Passage(number, *bounds), 1.0) for number, bounds in enumerate(passages)]
    assert [(hit.passage.start, hit.passage.end) for hit in Part(100, 200).of(hits)] == found


def test_of_the_titles_in_a_question_the_longest_is_meant() -> None:
    chapters = [
        Chapter(title, at, at + 9) for at, title in enumerate(("The Bell", "I. The Bell Rope", "Rope"))
    ]
    assert titled_chapter("What happens in The Bell Rope?", chapters) == (1, 10)
    assert titled_chapter("What happens in the bell?", chapters) == (0, 9)
    assert titled_chapter("What happens in the tower?", chapters) is None


@pytest.mark.parametrize(
    "title", ["The Bell", "The Mill on the Hill", "Evil", "IV. The Bell", "Chapter Six: Evil"]
)
def test_letters_at_the_end_of_a_word_are_no_number_of_a_chapter(title: str) -> None:
    chapters = [Chapter("The Fair", 0, 10), Chapter(title, 10, 20)]
    bare = title.removeprefix("IV. ").removeprefix("Chapter Six: ")
    assert titled_chapter(f"Summarise {bare}.", chapters) == (10, 20)


def test_a_chapter_shorter_than_a_passage_is_found_in_it(qa: BookQA) -> None:
    assert answer(qa, "Who lit the lamp in chapter 2?", "coarse").passages


@pytest.mark.parametrize("question", ["Who lit the lamp in chapter 3?", "Who lit the lamp in chapter 9?"])
def test_a_chapter_behind_the_limit_is_as_one_that_is_not(qa: BookQA, question: str) -> None:
    cited = answer(qa, question, before=MARKED[2].start)
    assert (cited.text, cited.verdict, cited.note, cited.passages) == ("", "none", NO_SUCH_CHAPTER, ())


def test_this_chapter_is_the_one_that_the_reader_has_got_to(qa: BookQA) -> None:
    cited = answer(qa, "Where were the bowls sold in this chapter?", before=MARKED[1].end)
    assert cited.evidence is not None
    assert "fair" in cited.evidence.sentence
    assert {one.chapter for one in cited.passages} == {"Chapter II. The Fair"}


# Where the second chapter has been read, and the third has not: between the two, and in the third's heading.
BETWEEN = (MARKED[2].start - 2, MARKED[2].start - 1, MARKED[2].start, MARKED[2].start + 9)
CHAPTER_II_LENGTH = f"{len(TEXT[MARKED[1].start : MARKED[1].end].split())} words"


@pytest.mark.parametrize("limit", BETWEEN)
@pytest.mark.parametrize("book", ["kiln", "trimmed"])
def test_whoever_has_finished_a_chapter_is_in_it_until_the_next_heading_is_read(
    qa: BookQA, limit: int, book: str
) -> None:
    assert answer(qa, "How long is this chapter?", "trimmed", before=limit).text == CHAPTER_II_LENGTH
    for asked in ("Who lit the lamp in this chapter?", "Who lit the lamp in the chapter I just finished?"):
        passages = answer(qa, asked, book, before=limit).passages
        assert {one.chapter for one in passages} == {MARKED[1].title}


@pytest.mark.parametrize(
    "question",
    [
        "How long is this chapter?",
        "Who lit the lamp in this chapter?",
        "Who lit it in the chapter I just read?",
    ],
)
def test_before_the_first_heading_is_read_no_chapter_is_this_one(qa: BookQA, question: str) -> None:
    cited = answer(qa, question, "prefaced", before=len(PREFACE))
    assert (cited.text, cited.verdict, cited.note) == ("", "none", NO_CHAPTER_BEGUN)


def test_the_last_chapter_is_the_book_s_and_not_the_reader_s(qa: BookQA) -> None:
    cited = answer(qa, "Who lit the lamp in the last chapter?", before=MARKED[1].end)
    assert (cited.text, cited.note, cited.passages) == ("", NOT_READ, ())


def test_how_it_ends_is_shown_by_its_last_passages(qa: BookQA) -> None:
    cited = answer(qa, "How does the story end?")
    assert cited.verdict == "none"
    assert [one.end for one in cited.passages] == [qa.open("kiln").passages[-1].end]
    assert answer(qa, "How does the story end?", before="50%").passages == ()


@pytest.mark.parametrize("question", ["What happens in chapter 2?", "What happened in the second chapter?"])
def test_what_happens_in_a_chapter_is_a_summary(qa: BookQA, question: str) -> None:
    cited = answer(qa, question)
    assert "summary" in (cited.note or "")
    assert {one.chapter for one in cited.passages} == {"Chapter II. The Fair"}


def test_of_a_book_without_chapters_all_passages_are_searched(qa: BookQA) -> None:
    assert answer(qa, "Who lit the lamp in chapter 2?", "plain").passages
    assert answer(qa, "Who lit the lamp in the last chapter?", "plain").passages


@pytest.mark.parametrize(
    ("title", "number"),
    [
        ("CHAP. IV", 4),
        ("Ch. 12: The Weir", 12),
        ("Chapter 1123: The Weir", 1123),
        ("Chapter No. 3", 3),
        ("Chapter the 2d", 2),
        ("Season 1, Episode 2", 2),
        ("Chapter XII. The Bell", 12),
        ("12", 12),
        ("FOURTH ACT", 4),
        ("ADVENTURE II: THE BLUE DOOR", 2),
        ("PART I: HOME, II", 2),
        ("Book I: HOME, CHAPTER IV: Rain, and more of it", 4),
        ("BOOK IV", 4),
        ("Zweites Kapitel: Das Wehr", 2),
        ("Erster Teil, Einundzwanzigstes Kapitel", 21),
        ("PARTE PRIMERA: El Molino, Capítulo séptimo: Del gato", 7),
        ("FIRST PART, GALLUS", None),
        ("Neues Kapitel", None),
        ("What I saw", None),
        ("The Bell", None),
    ],
)
def test_a_heading_has_the_number_of_the_chapter(title: str, number: int | None) -> None:
    assert chapter_numbers([Chapter(title, 0, 9)]) == [number]


def of_equal_length(*titles: str) -> list[Chapter]:
    return [Chapter(title, at, at + 1) for at, title in enumerate(titles)]


RUNNING = ("PART ONE, I. A", "PART ONE, II. B", "PART TWO: Away", "PART TWO: Away, III", "PART TWO: Away, IV")
UNNUMBERED = (
    *("PART ONE: Home", "PART ONE: Home, The Cup", "PART ONE: Home, The Jug"),
    *("PART TWO: Away", "PART TWO: Away, The Weir", "PART TWO: Away, The Mill"),
)


@pytest.mark.parametrize(
    ("titles", "question", "found"),
    [
        # A part's number is no chapter's, and many titles begin with what may be one.
        (
            ("PART ONE: Home", "PART ONE: Home, The Cup", "PART TWO: Away, I Go", "PART TWO: Away, Two Cups"),
            "What is chapter 2 called?",
            [1],
        ),
        (("THE BIRD", "OLD SULTAN", "THE TURNIP", "THE THREE TONGUES"), "What happens in chapter 3?", [2]),
        (
            ("PART 1", "PART 1, CHAPTER ONE: A", "PART 1, CHAPTER TWO: B", "PART 2, CHAPTER THREE: C"),
            "Who is in chapter 1?",
            [1],
        ),
        (("CHAPTER 1: Queer Street, Number Forty", "CHAPTER 2"), "Who is in chapter 1?", [0]),
        (("CHAPTER 1: Queer Street, Number Forty", "CHAPTER 2"), "Who is in chapter 40?", []),
        (("Preface", "BOOK I: Of arms, and the man", "BOOK II", "BOOK III"), "Who is in chapter 2?", [2]),
        (("I. One, Two", "II. Three", "III"), "Who is in the second chapter?", [1]),
        # Numbers that begin anew in each part.
        (
            ("PART I, 1. A", "PART I, 2. B", "SECOND PART, 1. C", "SECOND PART, 2. D"),
            "Who is in part two, chapter 1?",
            [2],
        ),
        (("BOOK I, CHAPTER 1", "BOOK II, CHAPTER 1"), "In the first chapter of book II, who sings?", [1]),
        (("BOOK I, CHAPTER 1", "BOOK II, CHAPTER 1"), "Who sings in chapter 1 of the third book?", []),
        (("BOOK I, CHAPTER 1", "BOOK II, CHAPTER 1"), "In the first part of chapter 1, who sings?", [0, 1]),
        (("CHAPTER 1", "CHAPTER 2", "CHAPTER 1"), "Who sings in part 2, chapter 1?", [0, 2]),
        # Numbers that go on from the part before, and none at all.
        (RUNNING, "Who sings in the second chapter of part two?", [4]),
        (RUNNING, "Who sings in chapter 4 of part two?", [4]),
        (RUNNING, "Who sings in part one, chapter 2?", [1]),
        (RUNNING, "Who sings in the third chapter of part one?", []),
        (RUNNING, "Who sings in chapter 1 of part three?", []),
        (UNNUMBERED, "Who sings in the second chapter of part two?", [5]),
        (UNNUMBERED, "Who sings in the second chapter of part one?", [2]),
        (UNNUMBERED, "Who sings in the third chapter of part one?", []),
        (
            ("Erster Teil, Erstes Kapitel", "Zweiter Teil, Erstes Kapitel"),
            "Who is in part 2, chapter 1?",
            [1],
        ),
    ],
)
def test_a_chapter_is_found_by_its_own_number_in_the_part_that_is_named(
    titles: tuple[str, ...], question: str, found: list[int]
) -> None:
    chapters = of_equal_length(*titles)
    assert numbered_chapters(question, chapters, chapters) == [chapters[at] for at in found]


def test_chapters_keep_their_numbers_where_most_of_what_was_read_has_none(tmp_path: Path) -> None:
    store, text, chapters = IndexStore(tmp_path), "", []
    for title, times in (("The Kiln House", 9), *((f"Chapter {n}", 3) for n in range(1, 7))):
        start = len(text)
        text += f"{title}\n\n" + "The bowls were fired in the kiln. " * times + "\n\n"
        chapters.append(Chapter(title, start, len(text)))
    build_book(Book("kiln", "The Kiln", text, "kiln.txt", tuple(chapters)), BuildSettings(), store)
    of_book = store.open("kiln").chapters
    assert numbers_of(of_book[:3], of_book) == [None, 1, 2]


def test_where_several_chapters_have_a_number_its_part_tells_which(qa: BookQA) -> None:
    lit = [
        {one.chapter for one in answer(qa, f"Who lit the lamp in {where}?", "parted").passages}
        for where in ("part two, chapter 1", "chapter 1")
    ]
    assert lit == [{PARTED[2].title}, {PARTED[0].title, PARTED[2].title}]
    assert answer(qa, "What is chapter 1 of part two called?", "parted").text == PARTED[2].title
    unclear = answer(qa, "What is chapter 1 called?", "parted")
    assert (unclear.text, unclear.verdict, unclear.note) == ("", "none", SEVERAL_CHAPTERS)
    assert answer(qa, "What is chapter 1 called?", "parted", before=MARKED[1].end).text == PARTED[0].title


@pytest.mark.parametrize(
    ("asked", "bounds"),
    [
        ("the last chapter of part one", (1, 2)),
        ("the last chapter of the first part", (1, 2)),
        ("the last chapter but one of part two", (3, 4)),
        ("the last chapter of part three", (0, 0)),
        ("the last chapter", (4, 5)),
    ],
)
def test_the_last_chapter_of_a_part_is_that_of_the_part(asked: str, bounds: tuple[int, int]) -> None:
    assert last_chapter(f"Who sings in {asked}?", of_equal_length(*RUNNING)) == bounds
    assert apart_from_chapter(f"Who sings in {asked}?") == "Who sings?"


def test_a_chapter_of_a_part_that_is_not_read_is_not_told(qa: BookQA) -> None:
    for asked in ("What is the last chapter of part two called?", "What is chapter 1 of part two called?"):
        assert answer(qa, asked, "parted").text == PARTED[2].title
        unread = answer(qa, asked, "parted", before=MARKED[1].end)
        assert (unread.text, unread.evidence) == ("", None)
    assert answer(qa, "What is the last chapter of part one called?", "parted").text == PARTED[1].title
    assert answer(qa, "What is the last chapter of part four called?", "parted").note == NO_SUCH_CHAPTER


LIT = "Can you tell me who lit the lamp?"


@pytest.mark.parametrize(
    ("asked", "question", "alone"),
    [
        ([LIT], "And in chapter 3?", "Who lit the lamp in chapter 3?"),
        ([LIT], "What about the second chapter?", "Who lit the lamp in the second chapter?"),
        ([LIT, "And in chapter 2?"], "and chapter one", "Who lit the lamp in chapter one?"),
        (["In chapter 1, who lit the lamp?"], "And in chapter 2?", "In chapter 2, who lit the lamp?"),
        (["What is chapter 1 called?"], "But in the last chapter?", "What is the last chapter called?"),
        (["What happens in the last chapter?"], "And in chapter 2?", "What happens in chapter 2?"),
        (["Who is in the story?"], "In chapter 2?", "Who is in chapter 2?"),
        (
            ["Who was Wenna?", "Where did she wait?"],
            "And in chapter 3?",
            "Where did Wenna wait in chapter 3?",
        ),
    ],
)
def test_of_a_chapter_that_is_only_named_is_asked_what_was_asked_last(
    qa: BookQA, asked: list[str], question: str, alone: str
) -> None:
    turns = tuple(Turn(one, "") for one in asked)
    given = Ask("kiln", question, retriever="bm25", reader="overlap", conversation=turns)
    told, itself = qa.answer(given), qa.answer(replace(given, question=alone, conversation=()))
    assert told.rewritten == (itself.rewritten or alone)
    assert (told.text, told.note, told.passages) == (itself.text, itself.note, itself.passages)
    assert leans_on_others(question)
    assert "something said before" in str(qa.answer(replace(given, conversation=())).note)


def test_a_question_is_told_as_it_was_understood_with_the_chapter_that_it_is_about(qa: BookQA) -> None:
    assert answer(qa, "Who lit the lamp in chapter 3?").rewritten is None
    assert answer(qa, "can you tell me who lit the lamp in chapter 3?").rewritten == (
        "Who lit the lamp in chapter 3?"
    )
    follows = answer(
        qa, "and in chapter 2?", conversation=(Turn("Who lit the lamp in chapter 3?", "Tamsin"),)
    )
    assert follows.rewritten == "Who lit the lamp in chapter 2?"


def test_of_a_chapter_that_is_not_read_a_follow_up_tells_nothing(qa: BookQA) -> None:
    turns = (Turn("Who lit the lamp in chapter 1?", "Tamsin"), Turn("And in chapter 2?", "Jory"))
    cited = answer(qa, "And in chapter 3?", conversation=turns, before=MARKED[1].end)
    assert (cited.text, cited.evidence, cited.note) == ("", None, NO_SUCH_CHAPTER)
    assert "Hedra" not in str(cited)


@pytest.mark.parametrize(
    "question", ["And who is in chapter 3?", "Chapter 3", "What about Wenna in chapter 3?"]
)
def test_what_is_more_than_a_chapter_asks_for_itself(question: str) -> None:
    assert chapter_alone(question) is None


def test_the_chapter_that_somebody_has_read_is_where_the_limit_is(qa: BookQA) -> None:
    for asked in ("Who lit the lamp in the chapter I just read?", "In the last chapter I read, who lit it?"):
        cited = answer(qa, asked, before=MARKED[1].end)
        assert {one.chapter for one in cited.passages} == {MARKED[1].title}
        assert len({one.chapter for one in answer(qa, asked).passages}) > 1


@pytest.mark.parametrize(
    ("question", "bare"),
    [
        ("In chapter 3, who rang the bell?", "Who rang the bell?"),
        ("Who rang the bell in the third chapter?", "Who rang the bell?"),
        ("Who rang the bell, in Chapter XIV", "Who rang the bell"),
        ("Describe Wenna in chapter 2.", "Describe Wenna."),
        ("in the last chapter was he drowned?", "Was he drowned?"),
        ("In chapter I was he drowned?", "Was he drowned?"),
        ("Chapter 3: who rang the bell?", "Who rang the bell?"),
        ("the last chapter - who rang the bell", "Who rang the bell"),
        ("chapter 3 who rang the bell", "Who rang the bell"),
        ("in chapter three what did they lose", "What did they lose in chapter three?"),
        ("Chapter 3: The Bell", None),
        ("In part two, chapter 1, who rang the bell?", "Who rang the bell?"),
        ("Who rang the bell in chapter 3 of the first book?", "Who rang the bell?"),
        ("In the chapter I just finished, who rang the bell?", None),
        ("Who rang the bell in the last chapter I read?", None),
        ("What happens in chapter 3?", None),
        ("Summarise chapter 3.", None),
        ("In this chapter, why does she cry?", None),
        ("Who reads chapter 3 to her?", None),
        ("Who rang the bell?", None),
    ],
)
def test_a_question_is_left_without_its_chapter_where_it_asks_something(
    question: str, bare: str | None
) -> None:
    assert apart_from_chapter(question) == (bare or question)

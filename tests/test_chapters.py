"""Headings told from what looks like them: lists of contents, page numbers, prose, stanzas."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing.chapters.divisions import divisions
from indexing.chapters.numerals import numeral
from indexing.chapters.outline import find_chapters
from indexing.formats.markup import Block, Mark, in_text, join, marked_chapters
from indexing.formats.plain_text import normalise, with_blank_lines

LINE = "The gull sat on the weir and watched the miller count his sacks of barley again."
PROSE = "\n".join([LINE] * 9)  # 135 words
ONE_LINE = " ".join([LINE] * 9)


def book(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs)


def titles(text: str) -> list[str]:
    return [chapter.title for chapter in find_chapters(text)]


@pytest.mark.parametrize(
    ("headings", "expected"),
    [
        (("CHAPTER I.", "CHAPTER II."), ["CHAPTER I", "CHAPTER II"]),
        (("Chapter 1: The Weir", "Chapter 2: The Mill"), ["Chapter 1: The Weir", "Chapter 2: The Mill"]),
        (
            ("CHAPTER I\n\nThe Weir", "CHAPTER II\n\nThe Mill"),
            ["CHAPTER I: The Weir", "CHAPTER II: The Mill"],
        ),
        (("CHAP. I\nTHE WEIR", "CHAP. II\nTHE MILL"), ["CHAP. I: THE WEIR", "CHAP. II: THE MILL"]),
        (
            ("CHAPTER THE FIRST", "CHAPTER THE TWENTY-SECOND"),
            ["CHAPTER THE FIRST", "CHAPTER THE TWENTY-SECOND"],
        ),
        (
            ("CHAPTER ONE--THE WEIR", "CHAPTER TWO--THE MILL"),
            ["CHAPTER ONE: THE WEIR", "CHAPTER TWO: THE MILL"],
        ),
        (("_Letter I_", "_Letter II_"), ["Letter I", "Letter II"]),
        (("FIRST ACT", "SECOND ACT"), ["FIRST ACT", "SECOND ACT"]),
        (("Stave One", "Stave Two"), ["Stave One", "Stave Two"]),
        (("Canto 1", "Canto 2"), ["Canto 1", "Canto 2"]),
        (("PREFACE", "CHAPTER I", "EPILOGUE"), ["PREFACE", "CHAPTER I", "EPILOGUE"]),
        (("CHAPTER I", "INTERLUDE", "CHAPTER II"), ["CHAPTER I", "INTERLUDE", "CHAPTER II"]),
        (("CHAPTER I", "CHAPTER II", "CHAPTER THE LAST"), ["CHAPTER I", "CHAPTER II", "CHAPTER THE LAST"]),
        (("Chapter I", "Chapter II", "THE LAST CHAPTER"), ["Chapter I", "Chapter II", "LAST CHAPTER"]),
        (("Chapter 1: at the weir", "Chapter 2: a mill"), ["Chapter 1: at the weir", "Chapter 2: a mill"]),
        (("I", "II", "III"), ["I", "II", "III"]),
        (("1. The Weir", "2. The Mill"), ["1. The Weir", "2. The Mill"]),
        (("                CHAPTER I", "                CHAPTER II"), ["CHAPTER I", "CHAPTER II"]),
        (("CHAPTER\nI", "CHAPTER\nII"), ["CHAPTER I", "CHAPTER II"]),
        (
            ("Chapter\nOne: The Weir", "Chapter\nTwo: The Mill"),
            ["Chapter One: The Weir", "Chapter Two: The Mill"],
        ),
        (("One", "Two", "Three"), ["One", "Two", "Three"]),
        (("One\n\nThe Weir", "Two\n\nThe Mill"), ["One. The Weir", "Two. The Mill"]),
        (("Ch. 1: The Weir", "Ch. 2: The Mill"), ["Ch. 1: The Weir", "Ch. 2: The Mill"]),
        (("Chapter 1123: The Weir", "Chapter 1124"), ["Chapter 1123: The Weir", "Chapter 1124"]),
        (("Chapter 1.1: The Weir", "Chapter 1.2"), ["Chapter 1.1: The Weir", "Chapter 1.2"]),
        (("Chapter #1", "Chapter: Two"), ["Chapter 1", "Chapter Two"]),
        (("Chapter Number One", "Chapter\u2014Two"), ["Chapter Number One", "Chapter Two"]),
        (("1st Chapter", "Chapter the 2d"), ["1st Chapter", "Chapter the 2d"]),
        (("Chapter 1 | The Weir", "Chapter 2 ~ The Mill ~"), ["Chapter 1: The Weir", "Chapter 2: The Mill"]),
        (("# Chapter 1", "## Chapter 2: The Mill"), ["Chapter 1", "Chapter 2: The Mill"]),
        (("=== Chapter 1 ===", "*** Chapter 2: The Mill ***"), ["Chapter 1", "Chapter 2: The Mill"]),
        (("-- Chapter 1 --", "\u2014 Chapter 2: The Mill \u2014"), ["Chapter 1", "Chapter 2: The Mill"]),
        (("Chapter 1: The Weir\n=====", "Chapter 2\n-----"), ["Chapter 1: The Weir", "Chapter 2"]),
        (("-----\nChapter 1: The Weir\n-----", "* * *\nChapter 2"), ["Chapter 1: The Weir", "Chapter 2"]),
        (
            ("Prologue: The Weir", "Chapter 1", "Interlude 2", "Epilogue \u2013 The Mill"),
            ["Prologue: The Weir", "Chapter 1", "Interlude 2", "Epilogue \u2013 The Mill"],
        ),
        (("# Prologue", "# Chapter 1"), ["Prologue", "Chapter 1"]),
        (
            ("ACT I. SCENE 1.", "ACT I. SCENE 2. A weir", "ACT II. SCENE 1."),
            ["ACT I, SCENE 1", "ACT I, SCENE 2: A weir", "ACT II, SCENE 1"],
        ),
        (
            ("Book 1, Chapter 1 - The Weir", "Book 1, Chapter 2", "Book 2, Chapter 3"),
            ["Book 1, Chapter 1: The Weir", "Book 1, Chapter 2", "Book 2, Chapter 3"],
        ),
        (("Volume 1 Chapter 1: The Weir", "Volume 1 Chapter 2"), ["Chapter 1: The Weir", "Chapter 2"]),
        (
            ("Arc 1: The Weir\n\nChapter 1", "Arc 2\n\nChapter 2"),
            ["Arc 1: The Weir, Chapter 1", "Arc 2, Chapter 2"],
        ),
        (("Season 1, Episode 1", "Season 2, Episode 1"), ["Season 1, Episode 1", "Season 2, Episode 1"]),
        (("- 1 -", "- 2 -", "- 3 -"), ["1", "2", "3"]),
        (("\u2014 I \u2014", "\u2014 II \u2014"), ["I", "II"]),
        (("\xa7 1", "\xa7 2"), ["1", "2"]),
        (("* One *", "* Two *"), ["One", "Two"]),
        (("Log 1: The Weir", "Log 2", "Log 3"), ["Log 1: The Weir", "Log 2", "Log 3"]),
        (("Log Entry I", "Log Entry II", "Log Entry III"), ["Log Entry I", "Log Entry II", "Log Entry III"]),
        (("3 May.", "4 May.", "9 May. The Weir"), ["3 May", "4 May", "9 May. The Weir"]),
        (
            ("Monday, March 3rd", "_Sunday, the 9th of March, 1871._", "Friday"),
            ["Monday, March 3rd", "Sunday, the 9th of March, 1871", "Friday"],
        ),
        (("CHAPTER I[A]\n\nTHE WEIR[B]", "CHAPTER II"), ["CHAPTER I: THE WEIR", "CHAPTER II"]),
        (
            ("CHAPTER I\n\n[Illustration: A gull.]\n\nThe Weir", "CHAPTER II\n\n[Illustration]"),
            ["CHAPTER I: The Weir", "CHAPTER II"],
        ),
        (("[Illustration: CHAPTER I.]", "[Illustration: CHAPTER II.]"), ["CHAPTER I", "CHAPTER II"]),
        (("CHAPITRE PREMIER", "CHAPITRE II"), ["CHAPITRE PREMIER", "CHAPITRE II"]),
        (("Erstes Kapitel", "Zweites Kapitel\nDas Wehr"), ["Erstes Kapitel", "Zweites Kapitel: Das Wehr"]),
        (("1. Kapitel", "2. Kapitel: Das Wehr"), ["1. Kapitel", "2. Kapitel: Das Wehr"]),
        (
            ("Erster Teil\n\nErstes Kapitel", "Zweiter Teil\n\nEinundzwanzigstes Kapitel"),
            ["Erster Teil, Erstes Kapitel", "Zweiter Teil, Einundzwanzigstes Kapitel"],
        ),
        (("Premier chapitre", "Vingt et unième chapitre"), ["Premier chapitre", "Vingt et unième chapitre"]),
        (("CHAPITRE CINQUIEME", "CHAPITRE DIX-SEPTIEME"), ["CHAPITRE CINQUIEME", "CHAPITRE DIX-SEPTIEME"]),
        (
            ("Capítulo primero El Molino", "CAPÍTULO VIGÉSIMO SEGUNDO. Del gato"),
            ["Capítulo primero: El Molino", "CAPÍTULO VIGÉSIMO SEGUNDO: Del gato"],
        ),
        (
            ("Capítulo Décimo Primeiro", "CAPITULO DECIMO SEGUNDO"),
            ["Capítulo Décimo Primeiro", "CAPITULO DECIMO SEGUNDO"],
        ),
        (
            ("Capitolo ventunesimo", "Ventiduesimo capitolo"),
            ["Capitolo ventunesimo", "Ventiduesimo capitolo"],
        ),
        (
            ("Eerste Hoofdstuk", "Tweeëntwintigste hoofdstuk"),
            ["Eerste Hoofdstuk", "Tweeëntwintigste hoofdstuk"],
        ),
        (
            ("ЧАСТЬ ПЕРВАЯ\n\nГлава первая", "ЧАСТЬ ВТОРАЯ\n\nГлава двадцать четвертая"),
            ["ЧАСТЬ ПЕРВАЯ, Глава первая", "ЧАСТЬ ВТОРАЯ, Глава двадцать четвертая"],
        ),
        (("Kapitel 1\n\nDas Wehr", "Kapitel 2"), ["Kapitel 1: Das Wehr", "Kapitel 2"]),
        (("Capítulo I", "Capítulo II"), ["Capítulo I", "Capítulo II"]),
        (("Глава 1", "Глава 2"), ["Глава 1", "Глава 2"]),
    ],
)
def test_headings_of_many_styles_are_chapters(headings: tuple[str, ...], expected: list[str]) -> None:
    text = book("THE MILLER'S GULL", *(part for heading in headings for part in (heading, PROSE)))
    chapters = find_chapters(normalise(text))
    assert [chapter.title for chapter in chapters] == expected


@pytest.mark.parametrize(
    ("before", "heading", "expected"),
    [
        ("CHAPTER NINETY-NINE", "CHAPTER ONE HUNDRED", "CHAPTER ONE HUNDRED"),
        ("CHAPTER ONE HUNDRED", "CHAPTER ONE HUNDRED AND ONE", "CHAPTER ONE HUNDRED AND ONE"),
        (
            "CHAPTER ONE HUNDRED",
            "Chapter One Hundred and One\nThe Weir",
            "Chapter One Hundred and One: The Weir",
        ),
        ("Chapter the Hundredth", "Chapter the Hundred and First", "Chapter the Hundred and First"),
        ("CHAPTER NINETEEN", "CHAPTER TWENTY\n\nONE SACK OF BARLEY", "CHAPTER TWENTY: ONE SACK OF BARLEY"),
        ("Chapter Nineteen", "Chapter Twenty\nOne Hundred Gulls", "Chapter Twenty: One Hundred Gulls"),
        ("Chapter One: The Weir", "Chapter Two: One Hundred Gulls", "Chapter Two: One Hundred Gulls"),
        ("CHAPTER NINETEEN", "CHAPTER TWENTY--ONE HUNDRED GULLS", "CHAPTER TWENTY: ONE HUNDRED GULLS"),
        ("Chapter Nineteen", "Chapter Twenty - Two Gulls", "Chapter Twenty: Two Gulls"),
        ("CHAPTER CCXIV", "Chapter Two Hundred and Fifteen", "Chapter Two Hundred and Fifteen"),
    ],
)
def test_numbers_in_words_are_read_whole_and_end_with_their_line(
    before: str, heading: str, expected: str
) -> None:
    assert titles(book(before, PROSE, heading, PROSE))[1] == expected


def test_the_last_chapter_is_counted_on_from_the_one_before_it() -> None:
    contents = "CONTENTS\n\nChapter I\nChapter II\nThe Last Chapter"
    headings = divisions(book("CHAPTER I", PROSE, "CHAPTER II", PROSE, "CHAPTER THE LAST", PROSE))
    assert [heading.number for heading in headings] == [1, 2, 3]
    assert (
        len(titles(book(contents, "CHAPTER I", PROSE, "CHAPTER II", PROSE, "THE LAST CHAPTER", PROSE))) == 3
    )


def test_chapters_begin_with_their_heading_and_end_with_their_text() -> None:
    text = book("A title page", "CHAPTER I", "It rained.", "CHAPTER II", "It stopped.")
    assert [text[chapter.start : chapter.end] for chapter in find_chapters(text)] == [
        "CHAPTER I\n\nIt rained.",
        "CHAPTER II\n\nIt stopped.",
    ]


@pytest.mark.parametrize(
    "contents",
    [
        "CONTENTS\n\nCHAPTER I\nCHAPTER II\nCHAPTER III",
        "CONTENTS\n\nCHAPTER I. The Weir\n\nCHAPTER II. The Mill\n\nCHAPTER III. The Flood",
        "Contents\n\n   I. The Weir ........ 3\n  II. The Mill ........ 30\n III. The Flood ...... 300",
        "CONTENTS.\n\nI. The Weir\n\nII. The Mill\n\nIII. The Flood",
        "CHAPTER I\n\nThe Weir\n\nCHAPTER II\n\nThe Mill\n\nCHAPTER III\n\nThe Flood",
    ],
)
def test_a_list_of_contents_is_not_taken_for_chapters(contents: str) -> None:
    body = book(
        "CHAPTER I", "The Weir", PROSE, "CHAPTER II", "The Mill", PROSE, "CHAPTER III", "The Flood", PROSE
    )
    text = book("THE MILLER'S GULL", contents, body)
    chapters = find_chapters(text)
    assert [chapter.title for chapter in chapters] == [
        "CHAPTER I: The Weir",
        "CHAPTER II: The Mill",
        "CHAPTER III: The Flood",
    ]
    assert chapters[0].start == text.rindex("CHAPTER I\n")


@pytest.mark.parametrize("part", ["PART {}", "Book {}", "VOL. {}", "Part {}"])
@pytest.mark.parametrize("numbers", [("1", "2"), ("1", "2", "3"), ("I", "II"), ("ONE", "TWO")])
def test_parts_that_only_the_list_of_contents_names_hold_no_chapters(
    part: str, numbers: tuple[str, ...]
) -> None:
    chapters = "\n".join(f"  {word}  THE {word} SACKS" for word in ("FIVE", "SIX", "SEVEN", "EIGHT", "NINE"))
    contents = book("CONTENTS", *(f"{part.format(number)}\n\n{chapters}" for number in numbers))
    text = book("THE MILLER'S GULL", contents, "CHAPTER ONE", "THE WEIR", PROSE, "CHAPTER TWO", PROSE)
    assert titles(text) == ["CHAPTER ONE: THE WEIR", "CHAPTER TWO"]


def test_chapters_that_count_anew_in_every_book_are_named_with_it() -> None:
    text = book(
        *("CONTENTS", "BOOK I", "CHAPTER I", "CHAPTER II", "BOOK II", "CHAPTER I", "CHAPTER II"),
        *("BOOK THE FIRST", "CHAPTER I", PROSE, "CHAPTER II", PROSE),
        *("BOOK THE SECOND", "CHAPTER I", PROSE, "CHAPTER II", PROSE),
    )
    assert titles(text) == [
        "BOOK THE FIRST, CHAPTER I",
        "BOOK THE FIRST, CHAPTER II",
        "BOOK THE SECOND, CHAPTER I",
        "BOOK THE SECOND, CHAPTER II",
    ]


def test_scenes_are_named_with_their_act_and_begin_with_it() -> None:
    text = book("ACT I", "SCENE I. A Mill", PROSE, "SCENE II. A Weir", PROSE, "ACT II\nSCENE I", PROSE)
    chapters = find_chapters(text)
    assert titles(text) == ["ACT I, SCENE I: A Mill", "ACT I, SCENE II: A Weir", "ACT II, SCENE I"]
    assert chapters[0].start == 0
    assert text[chapters[2].start :].startswith("ACT II\nSCENE I")


def test_scene_headings_of_a_screenplay_are_chapters() -> None:
    text = book(
        "THE GULL",
        "1   INT. MILL - NIGHT   1",
        "Sacks. A lamp.",
        "          MILLER\n     That gull again.",
        "2   EXT. WEIR - DAWN   2",
        "Int. is how the clerk began his note.",
        "INT./EXT. CART (MOVING) - Later",
        "The gull follows.",
    )
    assert titles(text) == ["INT. MILL - NIGHT", "EXT. WEIR - DAWN", "INT./EXT. CART (MOVING) - Later"]


@pytest.mark.parametrize(
    "paragraph",
    [
        "Chapter two of his life began at the weir.",
        "Part of the mill had fallen.",
        "Act one was over, and the miller slept.",
        "BOOK I                 17",
        "Letter I have none, said the postman.",
        "The last chapter of his life began at the weir.",
        "Chapter two: it was of his life\nand of the weir.",
        "I",
        "1. Never feed the gull.",
        "Introduction to a gull is a serious matter.",
        "CHAPTER\nI.   THE WEIR\nII.  THE MILL\nIII. THE GULL",
        "Part\nI have read of it is wet.",
        "Night\nOne Gull",
        "\u2014 Chapter two, she said, and slept.",
        "- Chapter two of a list",
        "Part 1066",
        "Epilogue to a gull: a serious matter",
        "3 May",
    ],
)
def test_prose_that_begins_like_a_heading_is_not_a_chapter(paragraph: str) -> None:
    assert titles(book("THE MILLER'S GULL", PROSE, paragraph, PROSE)) == []


def test_the_end_of_a_list_of_contents_is_no_chapter_where_its_other_lines_are_no_headings() -> None:
    text = book("CONTENTS", "The Weir, a tale", "CHAPTER I. The Mill\n\nCHAPTER II. The Flood", PROSE)
    text = book(text, "CHAPTER I", "The Mill", PROSE, "CHAPTER II", "The Flood", PROSE)
    assert titles(text) == ["CHAPTER I: The Mill", "CHAPTER II: The Flood"]


def test_titles_of_numbered_chapters_in_a_second_list_are_no_chapters() -> None:
    lists = ("CONTENTS", "I. The Weir\nII. The Mill\nIII. The Flood", PROSE, "ILLUSTRATIONS")
    pictures = ("THE WEIR", "A gull", "THE MILL", "Two gulls", "THE FLOOD", "No gull")
    body = (
        "CHAPTER I",
        "The Weir",
        PROSE,
        "CHAPTER II",
        "The Mill",
        PROSE,
        "CHAPTER III",
        "The Flood",
        PROSE,
    )
    assert titles(book(*lists, *pictures, *body)) == [
        "CHAPTER I: The Weir",
        "CHAPTER II: The Mill",
        "CHAPTER III: The Flood",
    ]


def test_a_list_of_contents_ends_where_prose_of_one_line_a_paragraph_begins() -> None:
    chapters = [part for number in range(1, 5) for part in (f"Chapter {number}", ONE_LINE, ONE_LINE)]
    text = book("Contents", "Dedication\nChapter 1\nChapter 2\nChapter 3\nChapter 4", *chapters)
    assert titles(text) == ["Chapter 1", "Chapter 2", "Chapter 3", "Chapter 4"]


def test_stanza_numbers_are_not_chapters() -> None:
    stanzas = [part for number in ("I", "II", "III", "IV") for part in (number, LINE)]
    assert titles(book("THE GULL", "A Poem", *stanzas)) == []


ROMAN = ("I", "II", "III", "IV", "V", "VI")
ARABIC = ("1", "2", "3", "4", "5", "6")


def stanzas(*numbers: str) -> str:
    return book(
        *(f"{number}\n\nThe gull flew over the weir\nAnd every sack stood still" for number in numbers)
    )


@pytest.mark.parametrize("numerals", [ROMAN, ARABIC])
@pytest.mark.parametrize("chapter", [0, 3])
@pytest.mark.parametrize(
    "inside",
    [
        "I TOOK THE BARLEY",
        "I Take the Barley",
        "1. Barley\n\n2. Candles\n\n3. Salt\n\n4. Oil\n\n5. Rope\n\n6. Nails",
        "1. Barley\n\n2. Candles\n\n3. Salt\n\n4. Oil",
        *(stanzas(*numbers[:count]) for numbers in (ROMAN, ARABIC) for count in (1, 2, 4, 6)),
    ],
)
def test_numbers_within_a_chapter_do_not_end_the_series_of_chapters(
    numerals: tuple[str, ...], chapter: int, inside: str
) -> None:
    parts = [
        [numeral, PROSE, *([inside] if at == chapter else []), PROSE] for at, numeral in enumerate(numerals)
    ]
    text = book("THE MILLER'S GULL", *(part for parts_of_one in parts for part in parts_of_one))
    assert titles(text) == [*numerals]


def test_numerals_with_unmarked_titles_count_from_the_one_that_looks_like_the_pronoun() -> None:
    assert titles(book("I The Weir", PROSE, "II The Mill", PROSE, "III The Flood", PROSE)) == [
        "I. The Weir",
        "II. The Mill",
        "III. The Flood",
    ]


def test_each_of_two_kinds_of_numerals_goes_on_its_own_series() -> None:
    numerals = ("1", "I", "II", "III", "2", "I", "II", "3", "I", "II", "III", "IV", "4")
    assert titles(book(*(part for numeral in numerals for part in (numeral, PROSE)))) == [*numerals]


@pytest.mark.parametrize(
    "title", ["I Weigh the Gull", "I GO UP THE WEIR", "The Salt-water gull", "Long-lost brothers"]
)
def test_titles_below_numerals_may_begin_with_the_pronoun_and_have_compounds(title: str) -> None:
    text = book("PART ONE", "1", "The Weir", PROSE, "2", title, PROSE, "PART TWO", "3", "The Flood", PROSE)
    assert titles(text) == ["PART ONE, 1. The Weir", f"PART ONE, 2. {title}", "PART TWO, 3. The Flood"]


def test_the_first_section_of_a_chapter_is_no_title_of_the_chapter() -> None:
    sections = ("I The Weir", PROSE, "II The Mill", PROSE)
    assert titles(book("CHAPTER ONE", *sections, "CHAPTER TWO", *sections)) == ["CHAPTER ONE", "CHAPTER TWO"]


def test_the_first_chapter_of_a_part_is_no_title_of_the_part() -> None:
    text = book("PART ONE", "I The Weir", PROSE, "II The Mill", PROSE, "PART TWO", "III The Flood", PROSE)
    assert titles(text) == ["PART ONE, I. The Weir", "PART ONE, II. The Mill", "PART TWO, III. The Flood"]


def test_a_chapter_marked_by_its_number_alone_goes_on_a_series() -> None:
    text = book("Chapter I", PROSE, "Chapter II", PROSE, "III", PROSE, "Chapter IV", PROSE)
    assert titles(text) == ["Chapter I", "Chapter II", "III", "Chapter IV"]


def test_titles_without_numbers_are_known_from_the_list_of_contents() -> None:
    text = book(
        "CONTENTS", "The Weir\nThe Mill\nThe Flood", "THE WEIR", PROSE, "THE MILL", PROSE, "THE FLOOD", PROSE
    )
    assert titles(text) == ["THE WEIR", "THE MILL", "THE FLOOD"]


def test_lines_in_capitals_that_stand_far_apart_are_chapters() -> None:
    long = book(PROSE, PROSE, PROSE)
    text = book("THE GULL", "by A Miller", "\nTHE WEIR", long, "\nTHE MILL", long, "\nTHE FLOOD", long)
    assert titles(text) == ["THE WEIR", "THE MILL", "THE FLOOD"]


def test_titles_far_below_what_is_before_them_are_chapters() -> None:
    titled = [f"{title}\n\n{PROSE}\n\n{PROSE}\n\n{PROSE}" for title in ("A Gull", "The Weir", "The Mill")]
    listed = "Tales of 1871\n\n    A Gull           1\n\n    The Weir         9\n\n    The Mill        17"
    text = "\n\n\n\n\n".join(["The Miller's Gull", listed, *titled])
    assert titles(text) == ["A Gull", "The Weir", "The Mill"]


def test_numbers_amid_sentences_are_of_pages_and_no_chapters() -> None:
    half = PROSE.removesuffix(" his sacks of barley again.")
    pages = [f"{half}\n\n{number}" for number in range(1, 9)]
    assert titles(book(*pages)) == []
    assert titles(book(*[page.replace("miller count\n", "miller.\n") for page in pages])) != []


def test_a_chapter_behind_the_only_part_on_its_line_begins_with_the_line() -> None:
    first, second = find_chapters(book("Volume 1 Chapter 1", PROSE, "Volume 1 Chapter 2", PROSE))
    assert (first.start, second.title) == (0, "Chapter 2")
    assert first.end == len(book("Volume 1 Chapter 1", PROSE))


@pytest.mark.parametrize("heading", ["CHAPTER {}", "          CHAPTER {}\n          THE WEIR"])
def test_paragraphs_that_only_their_first_lines_set_apart_are_paragraphs(heading: str) -> None:
    paragraph = f"    {PROSE}"
    text = "\n".join(line for number in ROMAN for line in (heading.format(number), paragraph, paragraph))
    apart = with_blank_lines(text)
    assert [title.partition(":")[0] for title in titles(apart)] == [f"CHAPTER {number}" for number in ROMAN]
    assert apart.count(f"\n\n{paragraph}") == 2 * len(ROMAN)
    assert apart.split() == text.split()
    verses = text.replace(".\n    ", ",\n    ")
    assert with_blank_lines(verses) == verses


def test_a_list_of_contents_at_the_end_is_no_chapter() -> None:
    text = book("CHAPTER I", PROSE, "CHAPTER II", PROSE, "CHAPTER III", PROSE, "THE END", "CONTENTS")
    assert titles(
        book(text, "CHAPTER I The Weir 1\n\nCHAPTER II The Mill 9\n\nCHAPTER III The Flood 20")
    ) == [
        "CHAPTER I",
        "CHAPTER II",
        "CHAPTER III",
    ]


def test_notes_after_the_story_are_no_part_of_its_last_chapter() -> None:
    text = book(
        "CHAPTER I", PROSE, "FOOTNOTES", "[1] A gull.", "CHAPTER II", PROSE, "FOOTNOTES", "[2] A mill."
    )
    assert titles(text) == ["CHAPTER I", "CHAPTER II", "FOOTNOTES"]


PARTS = st.sampled_from(
    [
        "CONTENTS",
        "BOOK I",
        "CHAPTER I",
        "CHAPTER II. The Weir",
        "I",
        "II",
        "PREFACE",
        "FOOTNOTES",
        "ACT I\nSCENE I",
        *("INT. MILL - DAY", "THE MILL", "1. A list", "The gull.", LINE, PROSE, "", "   CHAPTER X   12"),
    ]
)


@settings(max_examples=60, deadline=None)
@given(st.lists(PARTS, max_size=14))
def test_chapters_never_overlap_and_bound_text(parts: list[str]) -> None:
    text = normalise(book(*parts))
    chapters = find_chapters(text)
    assert all(a.end <= b.start for a, b in pairwise(chapters))
    assert all(
        text[chapter.start : chapter.end].strip() == text[chapter.start : chapter.end] for chapter in chapters
    )
    assert all(chapter.title.strip() for chapter in chapters)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("1123", 1123),
        ("2nd", 2),
        ("21ST", 21),
        ("3d", 3),
        ("2x", None),
        ("XIV", 14),
        ("xl", 40),
        ("CXXIX", 129),
        ("one", 1),
        ("THIRTY-SEVEN", 37),
        ("Twenty first", 21),
        ("twelfth", 12),
        ("sixtieth", 60),
        ("one hundred", 100),
        ("Hundredth", 100),
        ("A HUNDRED AND ONE", 101),
        ("One Hundred and First", 101),
        ("one hundred twelve", 112),
        ("one-hundred-and-thirtieth", 130),
        ("hundred and second", 102),
        ("ONE HUNDRED AND NINETY-NINE", 199),
        ("two hundred", 200),
        ("Three Hundred and Forty-Fifth", 345),
        ("nine hundredth", 900),
        ("two hundred hundred", None),
        ("one hundred and", None),
        ("hundred hundred", None),
        ("twenty hundred", None),
        ("a one", None),
        ("twenty eleven", None),
        ("IIIII", None),
        ("VX", None),
        ("ten two", None),
        ("gull", None),
        ("", None),
    ],
)
def test_numerals_of_headings(text: str, value: int | None) -> None:
    assert numeral(text) == value


LABELS = ("Part I", "PART TWO", "Chapter 1", "Chapter 2", "1", "II", "Three", "The Weir", "Prologue", "Notes")
BLOCKS = st.one_of(
    st.builds(Block, st.sampled_from(LABELS), st.integers(1, 3)),
    st.builds(Block, st.sampled_from(["Wet.", LINE, ONE_LINE]), st.just(0)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(BLOCKS, min_size=1, max_size=12), st.data())
def test_chapters_of_any_table_of_contents_follow_one_another(
    blocks: list[Block], data: st.DataObject
) -> None:
    content = join([replace(block, anchors=(str(number),)) for number, block in enumerate(blocks)])
    places = st.sampled_from(sorted(content.anchors.values()))
    entries = st.builds(
        lambda at, depth, label: Mark(at, at, depth, label),
        places,
        st.integers(1, 4),
        st.sampled_from(LABELS),
    )
    contents = in_text(data.draw(st.lists(entries, max_size=8)), content.marks)
    chapters = marked_chapters(content.text, contents, content.marks)
    assert all(before.end <= after.start for before, after in pairwise(chapters))

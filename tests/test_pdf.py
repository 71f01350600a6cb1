"""PDFs: running text, chapters and pages of books typeset here, and what cannot be read."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("reportlab", reason="reportlab is not installed: pip install '.[dev]'")

from manuscripts import AUTHOR, TITLE, Manuscript, sample, twelve
from test_documents import check_chapters, read
from typeset import DESIGNS, pdf, two_pages_of_pictures, with_password

from answering.citing import page_at
from indexing.chapters.numerals import numeral, roman
from indexing.errors import SourceError
from indexing.formats.initials import with_initials
from indexing.formats.page_layout import Bookmark, Line, lay_out
from indexing.formats.running_heads import printed_labels, running_heads, without_heads


def paragraphs(text: str) -> list[str]:
    return [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]


@pytest.mark.parametrize("number", range(len(DESIGNS)))
def test_a_typeset_story_is_read_word_for_word_in_its_paragraphs_and_chapters(number: int) -> None:
    book = read("weigher.pdf", pdf(sample(), DESIGNS[number]))
    assert book.text.split() == sample().words
    check_chapters(book, sample())
    assert (book.title, book.author) == (TITLE, AUTHOR)
    wanted = [" ".join(one.split()) for heading, texts in sample().chapters for one in (heading, *texts)]
    read_right = set(paragraphs(book.text)) & set(wanted)
    assert len(read_right) >= 0.98 * len(wanted)


@pytest.mark.parametrize("number", range(12))
def test_twelve_pdfs_are_read_word_for_word(number: int) -> None:
    manuscript = twelve()[number]
    book = read("weigher.pdf", pdf(manuscript, DESIGNS[number % 5]))
    assert book.text.split() == manuscript.words
    check_chapters(book, manuscript)


def test_pages_bear_their_printed_numbers_and_begin_at_their_first_words() -> None:
    story = Manuscript(
        (("CHAPTER I", tuple(f"Sack {n} was weighed and sold on the quay." for n in range(90))),)
    )
    design = replace(DESIGNS[0], indent=0)
    book = read("weigher.pdf", pdf(story, design, first_page=7))
    assert [page.label for page in book.pages] == ["7", "8", "9"]
    # 595 points high, lines from 525 down to 60, 14 points each: 60 points and more go to the heading.
    first = [book.text[page.start :].split()[1] for page in book.pages]
    assert book.pages[0].start == 0
    on_a_page = 1 + (595.28 - 70 - 60) // 14
    assert int(first[2]) - int(first[1]) == on_a_page
    assert 0.8 * on_a_page < int(first[1]) < on_a_page


SACKS = Manuscript(
    tuple(
        (f"CHAPTER {number}", tuple(f"Sack {number}.{n} was weighed and sold." for n in range(90)))
        for number in ("I", "II")
    )
)
FRONT_MATTER = ("For whoever weighs.", "The quay is not a real quay.")


@pytest.mark.parametrize(
    ("numbers", "labels", "first", "wanted"),
    [
        ("foot", False, 1, ["1", "2", "3", "4", "5", "6"]),
        ("head", False, 213, ["213", "214", "215", "216", "217", "218"]),
        ("none", False, 1, ["1", "2", "3", "4", "5", "6", "7", "8"]),
        ("foot", True, 4, ["4", "5", "6", "7", "8", "9", "10", "11"]),  # the file's, from its first page on
    ],
)
def test_pages_that_the_file_does_not_label_bear_the_numbers_printed_on_them(
    numbers: str, labels: bool, first: int, wanted: list[str]
) -> None:
    design = replace(DESIGNS[0], indent=0, numbers=numbers)
    book = read("weigher.pdf", pdf(SACKS, design, first, labels, FRONT_MATTER))
    assert [page.label for page in book.pages][-6:] == wanted[-6:]
    if numbers != "none" and not labels:
        before = str(first - 1) if first > 1 else None  # the page before the first number counts back
        assert page_at(book.pages, book.text.index("a real quay")) == before
        assert page_at(book.pages, book.text.index("For whoever")) is None
        assert page_at(book.pages, book.text.index("CHAPTER I")) == wanted[0]
    else:
        assert [page.label for page in book.pages] == wanted


def numbered(printed: str) -> list[list[Line]]:
    """A page of each word, its number at the foot; none where it is a dash."""
    return [
        [
            *(row(f"Gull {100 * page + n} sat on the weir.", page, 500 - 14 * n) for n in range(9)),
            *([] if number == "-" else [row(number, page, 30)]),
        ]
        for page, number in enumerate(printed.split())
    ]


@pytest.mark.parametrize(
    ("printed", "labels"),
    [
        ("- - 3 4 - 6 7 8 - -", "- 2 3 4 5 6 7 8 9 10"),  # from a chapter's first page on
        ("- - 1 2 - 4 5 6", "- - 1 2 3 4 5 6"),
        ("- ii iii - - 2 3 4 - 6 7", "i ii iii iv 1 2 3 4 5 6 7"),
        ("8 9 10 11 - - 12 13 14 15", "8 9 10 11 11 11 12 13 14 15"),  # pictures between
        ("8 9 10 11 - - - 14 15 16", "8 9 10 11 12 13 13 14 15 16"),
        ("1 2 3 4 - 7 8 9", "1 2 3 4 6 7 8 9"),
        ("1 2 8 4 5 6 7 3 9 10", "1 2 3 4 5 6 7 8 9 10"),  # misread
        ("1 2 - - 1 2 3 4 - 6 7 8", "- - - - 1 2 3 4 5 6 7 8"),
    ],
)
def test_pages_without_a_number_count_on_from_those_beside_them(printed: str, labels: str) -> None:
    wanted = [None if label == "-" else label for label in labels.split()]
    assert printed_labels(len(printed.split()), running_heads(numbered(printed))) == wanted


@pytest.mark.parametrize("printed", ["- - - -", "7 7 7 7 7 8 8 8", "1 2 3 4 1 2 3 4 1 2 3 4", "4 3 2 1"])
def test_numbers_that_do_not_count_the_pages_label_none(printed: str) -> None:
    assert printed_labels(len(printed.split()), running_heads(numbered(printed))) is None


def test_roman_numerals_are_written_as_they_are_read() -> None:
    assert [numeral(roman(number)) for number in range(1, 400)] == [*range(1, 400)]
    assert roman(1944) == "MCMXLIV"


@pytest.mark.parametrize("begins", ["Once upon", "\u201cOnce upon", "ONCE UPON", "A gull upon", "I sat upon"])
def test_a_raised_initial_is_a_part_of_its_word_however_far_before_it(begins: str) -> None:
    text = f"{begins} a weir that a gull had sat on, and nobody had asked it for what, and for how long."
    story = Manuscript((("The Weir", (text, text)), ("The Mill", (text, text))))
    design = replace(DESIGNS[0], head="none", initial=2, raised=5)
    assert read("gull.pdf", pdf(story, design)).text.split() == story.words


def test_hyphens_of_line_ends_go_and_those_of_words_stay() -> None:
    text = (
        "The weigh-house stood. They weighed thirty-one sacks at the weigh-house remarkably well, "
        "said Anglo-Saxons."
    )
    plain = replace(DESIGNS[0], head="none", numbers="none")
    for width in range(150, 420, 20):
        story = Manuscript((("I", (f"{text} Then it was closed.", text)),))
        book = read("weigher.pdf", pdf(story, replace(plain, page=(float(width + 100), 500.0))))
        assert book.text.split() == story.words, width


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (two_pages_of_pictures(), "scanned"),
        (with_password(twelve()[0]), "password"),
        (b"%PDF-1.7\ngull", "cannot be read as a PDF"),
        (pdf(twelve()[0])[:2000], "cannot be read as a PDF"),
    ],
)
def test_what_has_no_text_for_us_is_refused_with_what_to_do(data: bytes, said: str) -> None:
    with pytest.raises(SourceError, match=said) as caught:
        read("gull.pdf", data)
    assert "gull.pdf" in str(caught.value)


def test_a_pdf_of_too_many_characters_or_pages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    data = pdf(twelve()[0])
    with monkeypatch.context() as patch:
        patch.setattr("indexing.formats.pdf._MOST_PAGES", 3)
        with pytest.raises(SourceError, match="more than the 3 allowed"):
            read("gull.pdf", data)
    monkeypatch.setattr("indexing.formats.pdf._MOST_CHARACTERS", 1000)
    with pytest.raises(SourceError, match="more than 1,000 characters"):
        read("gull.pdf", data)


def row(text: str, page: int, y: float, left: float = 50, right: float = 350, height: float = 10) -> Line:
    return Line(text, page, left, right, y + height, y)


@pytest.mark.parametrize(
    ("initial", "rest", "wanted"),
    [
        ("T", "HE WEIR was", "THE WEIR was"),
        ("\u201cW", "ell, said he", "\u201cWell, said he"),
        ("Qu", "ays are", "Quays are"),
        ("I", "\u2019ll weigh", "I\u2019ll weigh"),
        ("I", "t was the", "It was the"),
        ("I", "watched the", "I watched the"),
        ("A", "gull sat", "A gull sat"),
        ("A", "fter that", "After that"),
    ],
)
def test_an_initial_of_several_lines_begins_the_word_beside_it(initial: str, rest: str, wanted: str) -> None:
    cap = row(initial, 0, 372, 50, 74, height=30)
    heading = row("The Weir", 0, 440, 50, 120, height=16)
    beside = [row(f"{rest} wet.", 0, 390, 76), row("It stood and watched.", 0, 376, 76)]
    below = [row("The gull sat, and it was wet.", 0, 362 - 14 * n) for n in range(9)]
    for drawn in ([heading, cap, *beside], [cap, heading, *beside]):
        content, _, _ = lay_out(with_initials([[*drawn, *below]]))
        assert content.text.startswith(f"The Weir\n\n{wanted} wet. It stood and watched. The gull sat,")
        assert [mark.label for mark in content.marks] == ["The Weir"]


@pytest.mark.parametrize(
    ("letter", "left", "right", "y", "text"),
    [
        ("B", 50, 70, 420, "Barley, 12"),  # alone above its text
        ("I", 50, 56, 398, "it was wet."),
        ("I", 50, 74, 385, "It was wet."),  # a numeral beside it
        ("T", 200, 224, 385, "he day was wet."),  # on the other side
        ("T", 10, 34, 385, "he day was wet."),  # too far from it
    ],
)
def test_a_large_letter_that_begins_no_word_is_a_heading(
    letter: str, left: float, right: float, y: float, text: str
) -> None:
    page = [row(letter, 0, y, left, right, 24), row(text, 0, 390, 50 if y > 390 else 76, 180)]
    page += [row("The gulls sat, and it was wet.", 0, 376 - 14 * n) for n in range(9)]
    assert with_initials([page]) == [page]
    content, _, _ = lay_out(with_initials([page]))
    assert [mark.label for mark in content.marks] == [letter]


def test_large_letters_alone_head_chapters_of_a_typeset_book() -> None:
    story = Manuscript(
        tuple(
            (letter, tuple(f"{letter * n} was sold on the quay." for n in range(1, 30))) for letter in "ABI"
        )
    )
    book = read("weigher.pdf", pdf(story, replace(DESIGNS[4], heading_size=30)))
    check_chapters(book, story)


def test_letters_beside_letters_are_read_once() -> None:
    nested = [row("A", 0, 300, 50, 90, 60), row("b", 0, 320, 91, 110, 30), row("out it.", 0, 330, 111)]
    text = lay_out(with_initials([nested]))[0].text
    assert sorted(text.replace("\n", "").replace(" ", "")) == sorted("Aboutit.")


def test_heads_and_numbers_go_and_lines_that_stand_elsewhere_stay() -> None:
    pages = [
        [
            row("The Gull" if page % 2 else f"Chapter {page // 4}", page, 560),
            *(row(f"Line {line} of page {page * 13} is long.", page, 500 - 14 * line) for line in range(9)),
            row(f"{page + 5}", page, 30),
        ]
        for page in range(12)
    ]
    pages[6].insert(4, row("The Gull", 6, 451))
    kept = without_heads(pages, running_heads(pages))
    assert [len(page) for page in kept] == [9, 9, 9, 9, 9, 9, 10, 9, 9, 9, 9, 9]
    assert kept[6][3].text == "The Gull"


def test_numbers_that_do_not_count_with_the_pages_are_chapters_of_the_book() -> None:
    pages = [
        [
            row(f"{chapter}", page, 400),
            *(row(f"Gull {100 * page + n} sat on the weir.", page, 380 - 14 * n) for n in range(9)),
        ]
        for chapter, page in ((1, 0), (2, 4), (3, 7), (4, 9))
    ]
    assert without_heads(pages, running_heads(pages)) == pages


def test_a_bookmark_without_a_place_on_its_page_leads_to_the_page() -> None:
    pages = [
        [row(f"Page {page} begins.", page, 500), row(f"So {page} ends.", page, 400)] for page in range(3)
    ]
    marks = lay_out(pages, [Bookmark(1, "One", 1, None), Bookmark(1, "Two", 2, 420), Bookmark(1, "No", 9, 1)])
    content, contents, starts = marks
    assert [(mark.label, content.text[mark.start :].split("\n")[0]) for mark in contents] == [
        ("One", "Page 1 begins."),
        ("Two", "So 2 ends."),
    ]
    assert [content.text[start:][:6] for start in starts] == ["Page 0", "Page 1", "Page 2"]


def test_notes_at_the_foot_of_a_page_stand_behind_the_paragraph_that_goes_on_over_it() -> None:
    def note(text: str, page: int, bottom: float) -> Line:
        return Line(text, page, 50, 300, bottom + 8, bottom)

    pages = [
        [
            row("It was wet.", 0, 520),
            row("The gull sat on the", 0, 500),
            note("1 A large gull,", 0, 80),
            note("of the weir.", 0, 70),
        ],
        [row("weir and", 1, 500), row("went to", 1, 488), note("2 In May.", 1, 70)],
        [row("the mill, and then it slept.", 2, 500), row("So it ended.", 2, 400), note("* There.", 2, 70)],
        [note("3 is what the smaller letters say.", 3, 500), row("So it was.", 3, 400)],
    ]
    content, _, starts = lay_out(pages)
    assert paragraphs(content.text) == [
        "It was wet.",
        "The gull sat on the weir and went to the mill, and then it slept.",
        "1 A large gull, of the weir.",
        "2 In May.",
        "So it ended.",
        "* There.",
        "3 is what the smaller letters say.",
        "So it was.",
    ]
    begins = [content.text[start:].split()[0] for start in starts]
    assert begins == ["It", "weir", "the", "3"]


def test_a_pdf_may_begin_behind_what_a_mail_program_or_a_server_put_before_it() -> None:
    data = b"HTTP/1.1 200 OK\r\n\r\n" + pdf(sample())
    assert read("gull.pdf", data).text == read("gull.pdf", pdf(sample())).text


def test_bookmarks_of_a_part_and_of_its_first_chapter_may_lead_to_one_page() -> None:
    pages = [
        [row(title, page, 500), row(f"Page {page} begins.", page, 400)]
        for page, title in enumerate(("PART I", "Chapter 2"))
    ]
    outline = [
        Bookmark(1, "Part I", 0, None),
        Bookmark(2, "Chapter 1", 0, None),
        Bookmark(2, "Chapter 2", 1, None),
    ]
    _, contents, _ = lay_out(pages, outline)
    assert [(mark.label, mark.start > 0) for mark in contents] == [
        ("Part I", False),
        ("Chapter 1", False),
        ("Chapter 2", True),
    ]

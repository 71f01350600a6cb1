"""What Project Gutenberg adds is cut off; the book is not."""

from __future__ import annotations

import pytest

from indexing.formats.gutenberg import (
    author_on_title_page,
    body_span,
    licences,
    stated_author,
    stated_language,
    stated_title,
    title_and_author,
    title_page,
)

BOOK = (
    "THE MILLER'S GULL\n\nby Anse Quill\n\n\nCHAPTER I\n\n"
    + "The gull sat on the weir.\n" * 200
    + "\nTHE END"
)
HEADER = (
    "The Project Gutenberg EBook of The Miller's Gull\n\n"
    "Title: The Miller's Gull\n    A Tale\n\nAuthor: Anse Quill\n"
)


def body(text: str) -> str:
    start, end = body_span(text)
    return text[start:end]


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (
            "*** START OF THE PROJECT GUTENBERG EBOOK THE MILLER'S GULL ***",
            "*** END OF THE PROJECT GUTENBERG EBOOK THE MILLER'S GULL ***\n\nMuch licence.",
        ),
        (
            "***START OF THE PROJECT GUTENBERG EBOOK THE MILLER'S\nGULL***\n\n\nE-text prepared by\na friend",
            "***END OF THE PROJECT GUTENBERG EBOOK THE MILLER'S GULL***\n\n\n***** a licence *****",
        ),
        (
            "*** START OF THIS PROJECT GUTENBERG EBOOK THE MILLER'S GULL ***\n\n\n\n\nProduced by A. Friend",
            "End of the Project Gutenberg EBook of The Miller's Gull\n\n*** END OF THIS PROJECT\nlicence",
        ),
        (
            "*END THE SMALL PRINT! FOR PUBLIC DOMAIN ETEXTS*Ver.04.29.93*END*",
            "End of Project Gutenberg's Gull",
        ),
    ],
)
def test_header_licence_and_credits_are_cut_off(start: str, end: str) -> None:
    assert body(f"{HEADER}\n{start}\n\n\n{BOOK}\n\n\n{end}") == BOOK


def test_credits_and_the_rest_of_a_marker_are_cut_where_another_tool_cut_the_header() -> None:
    assert body(f"GULL ***\n\n\nProduced by A. Friend and the\nGull Proofreaders\n\n\n{BOOK}") == BOOK


def test_a_text_that_is_not_gutenbergs_stays_whole() -> None:
    text = "Produce of the mill: barley.\n\n" + BOOK
    assert body(text) == text


def test_a_mention_of_the_project_in_the_story_does_not_end_it() -> None:
    text = "CHAPTER I\n\nEnd of Project Gutenberg, said the gull.\n\n" + BOOK
    assert body(text) == text


@pytest.mark.parametrize("times", [1, 30])
def test_a_file_may_hold_several_books_of_which_licences_and_headers_are_cut_out(times: int) -> None:
    marks = [f"*** {word} OF THE PROJECT GUTENBERG EBOOK {{}} ***" for word in ("START", "END")]
    books = [
        (title, f"{title}\n\n{BOOK * size}") for title, size in (("ONE", times), ("TWO", 1), ("THREE", 9))
    ]
    text = "\n\n".join(
        f"{HEADER}\n{marks[0].format(title)}\n\nProduced by A. Friend\n\n{story}\n\n"
        f"{marks[1].format(title)}\n\nMuch licence."
        for title, story in books
    )
    start, end = body_span(text)
    parts, at = [], start
    for stop, begin in licences(text, start, end):
        parts.append(text[at:stop].strip())
        at = begin
    assert [*parts, text[at:end]] == [story for _, story in books]


def test_a_stated_title_may_go_over_two_lines() -> None:
    assert stated_title(HEADER) == "The Miller's Gull A Tale"
    assert stated_title("Title: a line of a play\n\nText") is None


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (BOOK, "THE MILLER'S GULL"),
        ("The Miller's Gull\n\nA Novel\n\nBy\n\nAnse Quill\n\nIt rained.", "The Miller's Gull"),
        ("THE MILLER'S GULL, BY ANSE QUILL.\n\nIt rained.", "THE MILLER'S GULL"),
        ("[Illustration]\n\n_The Miller's Gull_\n\nby Anse Quill", "The Miller's Gull"),
        ("It rained.\n\nThe gull sat on the weir.", None),
        ("CHAPTER 1\n\nIt rained.", None),
        ("PROLOGUE\n\nIt rained.", None),
        ("II\n\nIt rained.", None),
        ("Anse Quill\n12 Weir Lane\n\nAbout 90,000 words\n\nThe Gull\n\nby Anse Quill", "The Gull"),
        ("Dashes; quick pass; checked; spelt\n\nTHE GULL\n\nby Anse Quill", "THE GULL"),
        ("1871\n\nA Novel by Anse Quill", "1871"),
        ("The Gull; or, the Weir; a Tale\n\nby Anse Quill", "The Gull; or, the Weir; a Tale"),
        ("INT. A MILL - NIGHT\n\nIt rains.", None),
    ],
)
def test_the_title_stands_first_on_the_title_page(page: str, title: str | None) -> None:
    assert title_page(page) == title


@pytest.mark.parametrize(
    ("page", "author"),
    [
        ("THE WEIR\n\nBy ANSE VELL\n\nCHAPTER I", "ANSE VELL"),
        ("The Weir\n\nby\n\nA. J. van der Vell\n\nI", "A. J. van der Vell"),
        ("_The Weir_\n\n_by Anse Vell_\n", "Anse Vell"),
        ("The Weir\n\nBy A. J. Vell [Anse Joan Vell]\n", "A. J. Vell"),
        ("The Weir\n\nby Anse Vell (1871-1930)\n", "Anse Vell"),
        ("The Weir\n\nby Anse Vell, M.A., Ph.D.\n", "Anse Vell"),
        ('The Weir\n\nBy Anse Vell, author of "The Mill," etc.\n', "Anse Vell"),
        ("The Weir\n\nBY ANSE VELL AND WILM ORR\n", "ANSE VELL, WILM ORR"),
        ("The Weir\n\nA Novel by Anse Vell & Wilm Orr\n", "Anse Vell, Wilm Orr"),
        ("The Weir\n\nWritten by Anse Vell\n", "Anse Vell"),
        ("The Weir\n\n_by_ Anse Vell\n", "Anse Vell"),
        ("The Weir\n\nBy the author of The Mill\n", None),
        ("The gull sat\nby the weir of the mill\nand watched.", None),
        ("THE WEIR\n\nBy the same miller\n", None),
    ],
)
def test_the_author_is_the_name_behind_by_on_the_title_page(page: str, author: str | None) -> None:
    assert author_on_title_page(page) == author


def test_a_header_states_author_and_language() -> None:
    head = "The Project Gutenberg EBook\n\nTitle: The Weir\n\nAuthor: Anse Vell\n\nLanguage: English\n"
    assert (stated_author(head), stated_language(head)) == ("Anse Vell", "en")
    assert stated_author("Author: a line of a play") is None
    assert stated_author("Title: The Weir\nAuthor: Anse Vell\n\nIt rained.") == "Anse Vell"


@pytest.mark.parametrize(
    ("called", "expected"),
    [
        ("The Project Gutenberg eBook of The Weir, by Anse Vell.", ("The Weir", "Anse Vell")),
        ("The Weir, by Anse Vell\u2014A Project Gutenberg eBook", ("The Weir", "Anse Vell")),
        ("The Weir | Project Gutenberg", ("The Weir", None)),
        ("The Project Gutenberg E-text of The Weir", ("The Weir", None)),
        ("The Weir, by Anse Vell", ("The Weir, by Anse Vell", None)),
        (None, (None, None)),
    ],
)
def test_what_gutenbergs_pages_are_called_is_title_and_author(
    called: str | None, expected: tuple[str | None, str | None]
) -> None:
    assert title_and_author(called) == expected


@pytest.mark.parametrize(
    ("written", "author"),
    [
        ("Anse Vell\n        Wilm  Orr\n        Osk Tam", "Anse Vell, Wilm Orr, Osk Tam"),
        ("Anse Vell and\n        Wilm Orr", "Anse Vell and Wilm Orr"),
        ("Vell, Anse,\n  the younger", "Vell, Anse, the younger"),
    ],
)
def test_a_header_may_state_an_author_a_line(written: str, author: str) -> None:
    head = f"The Project Gutenberg eBook\n\nAuthor: {written}\n\nTranslator: Ib Sun\n        Eda Sun\n"
    assert stated_author(head) == author

"""What the first pages of a book state: author, title, year and genre, and what they do not."""

from __future__ import annotations

import pytest

from answering.title_page import TitlePage
from indexing.book import Chapter

PROSE = "\n\nI.\n\nThe boat lay in the reeds by the weir. By noon nobody had come for it, in 1801.\n"


def page(text: str) -> TitlePage:
    return TitlePage(text, ())


@pytest.mark.parametrize(
    ("head", "author"),
    [
        ("THE REED BOAT\n\nby Odo Marsh\n", "Odo Marsh"),
        ("The Reed Boat\n\nA Tale\n\nBY\n\nODO MARSH\n\nAuthor of “The Weir”\n", "Odo Marsh"),
        ("THE REED BOAT, BY ODO VAN MARSH.\n", "Odo van Marsh"),
        ("The Reed Boat\n\n_by_\n_Odo Marsh_\n", "Odo Marsh"),
        ("THE REED BOAT.\n\nO. W. MARSH\n", "O. W. Marsh"),
        ("THE REED BOAT\n\nTranslated by Ruta Vell\n\nBy Odo Marsh\n", "Odo Marsh"),
        ("THE REED BOAT\n\nWith drawings\nby Ruta Vell\n", None),
        ("Transcriber's note: The author is Odo Marsh (1759-1797).\n\nTHE REED BOAT\n", "Odo Marsh"),
        ("THE REED BOAT\n\nCONTENTS\n", None),
    ],
)
def test_the_author_is_who_stands_behind_by_or_below_the_title(head: str, author: str | None) -> None:
    text = head + PROSE
    stated = page(text).author()
    assert (stated and stated.value.lower()) == (author and author.lower())
    if stated is not None:
        assert text[stated.start : stated.end].lower() == stated.value.lower()


@pytest.mark.parametrize(
    ("line", "year"),
    [
        ("First published in 1897\n\nReprinted 1903", "1897"),
        ("Copyright, 1920, by the Weir Press", "1920"),
        ("LONDON\n\nMDCCLXXXVIII", "1788"),
        ("1917", "1917"),
        ("Odo Marsh (1474-1533)", None),
        ("This electronic edition was prepared in July, 1995.", None),
        (
            "The boat was lost in the flood of 1801, and in 1802 nobody spoke of it any more at all.",
            None,
        ),
    ],
)
def test_the_year_is_that_of_the_first_edition_and_of_nothing_else(line: str, year: str | None) -> None:
    stated = page(f"THE REED BOAT\n\nby Odo Marsh\n\n{line}\n{PROSE}").first_published()
    assert (stated and stated.value) == year


def test_the_genre_is_in_the_subtitle_or_a_plays_acts() -> None:
    stated = page("THE REED BOAT\n\nA Romance of the Marsh\n\nby Odo Marsh\n" + PROSE).genre()
    assert stated is not None
    assert stated.value == "romance"
    assert page("THE REED BOAT\n\nby Odo Marsh\n" + PROSE).genre() is None
    text = "THE REED BOAT\n\nby Odo Marsh\n\n" + "ACT I\n\nA marsh. " + "Reeds. " * 9
    acted = TitlePage(text, (Chapter("ACT I", text.index("ACT I"), len(text)),)).genre()
    assert acted is not None
    assert (acted.value, text[acted.start : acted.end]) == ("play", "ACT I")


def test_the_title_stands_first_and_its_place_is_found_however_it_is_parted() -> None:
    text = "THE REED\n     BOAT\n\nby Odo Marsh\n" + PROSE
    stated = page(text).title()
    assert stated is not None
    assert stated.value == "The Reed Boat"
    assert page(text).place_of("The Reed Boat") == (0, text.index("\n\nby"))
    assert page(text).place_of("Another Boat") is None
    assert page("").author() is page("").title() is page("").first_published() is page("").genre() is None

"""Days that texts name: found however they are written, and written in one way."""

from __future__ import annotations

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from text.dates import Day, find_days, parse_day

WRITTEN = {
    "on 4 July 1776, at noon": Day(1776, 7, 4),
    "July 4, 1776": Day(1776, 7, 4),
    "July 4 , 1776": Day(1776, 7, 4),
    "the 3rd of March 1850": Day(1850, 3, 3),
    "Sept. 5, 1905": Day(1905, 9, 5),
    "May 1, 900": Day(900, 5, 1),
    "29 Feb 1904": Day(1904, 2, 29),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_day_is_found_however_it_is_written(text: str) -> None:
    [found] = find_days(text)
    assert found.day == WRITTEN[text]
    assert parse_day(text[found.start : found.end]) == WRITTEN[text]


@pytest.mark.parametrize(
    "text", ["30 February 1900", "July 1776", "1776", "May I come?", "32 March 1850", "0 May 1900"]
)
def test_what_is_no_day_is_not_found(text: str) -> None:
    assert list(find_days(text)) == []


def test_what_says_more_than_a_day_is_none() -> None:
    assert parse_day("about 4 July 1776") is None
    assert parse_day("4 July 1776 or 1777") is None


@given(st.dates(min_value=datetime.date(100, 1, 1), max_value=datetime.date(2999, 12, 31)))
def test_every_day_is_written_so_that_it_is_found_again(date: datetime.date) -> None:
    day = Day(date.year, date.month, date.day)
    assert parse_day(str(day)) == day
    assert str(day) == f"{date.day} {date:%B} {date.year}"


def test_days_are_found_in_order_and_in_their_places() -> None:
    text = "Born March 1, 1801; wed 2 May 1830; died on the 9th of June, 1870."
    found = list(find_days(text))
    assert [str(one.day) for one in found] == ["1 March 1801", "2 May 1830", "9 June 1870"]
    assert [text[one.start : one.end] for one in found] == [
        "March 1, 1801",
        "2 May 1830",
        "9th of June, 1870",
    ]

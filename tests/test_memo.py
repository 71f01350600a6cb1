"""What is found out of a long text is kept for the texts that were asked of last, and the texts are not."""

from __future__ import annotations

import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from answering.narrator import narrator
from indexing.characters import named, persons
from text.memo import SHORTEST, memoized


class Text(str):
    """A text of which can be seen whether somebody keeps it."""

    __slots__ = ("__weakref__",)


def long_text(number: int) -> Text:
    return Text(f"This is text {number}. " + "The ferryman rowed on and on over the dark lake. " * 100)


def test_what_was_found_is_kept_for_the_texts_that_were_given_last() -> None:
    given: list[str] = []

    @memoized(2)
    def length(text: str) -> int:
        given.append(text)
        return len(text)

    first, second, third = map(long_text, range(3))
    assert [length(text) for text in (first, second, first, third)] == [len(first)] * 4
    assert given == [first, second, third]
    length(first)
    assert given == [first, second, third]
    length(second)  # which was given before the two others
    assert given == [first, second, third, second]


def test_texts_of_one_length_are_told_apart() -> None:
    @memoized(8)
    def number(text: str) -> str:
        return text[13]

    assert [number(long_text(i)) for i in (1, 2, 3, 1)] == ["1", "2", "3", "1"]


def test_no_text_is_kept_and_of_a_short_one_nothing() -> None:
    given = []

    @memoized(8)
    def length(text: str) -> int:
        given.append(len(text))
        return len(text)

    text = long_text(0)
    kept = weakref.ref(text)
    length(text)
    del text
    assert kept() is None
    assert (length("The Ferry"), length("The Ferry")) == (9, 9)
    assert len("The Ferry") < SHORTEST
    assert given[1:] == [9, 9]


def test_an_error_is_not_kept() -> None:
    given = []

    @memoized(8)
    def length(text: str) -> int:
        given.append(text)
        if len(given) == 1:
            raise ValueError("no")
        return len(text)

    with pytest.raises(ValueError, match="no"):
        length(long_text(0))
    assert length(long_text(0)) == len(long_text(0))


def test_threads_may_share_it() -> None:
    @memoized(3)
    def number(text: str) -> str:
        return text[13]

    asked = [i % 5 for i in range(400)]
    with ThreadPoolExecutor(8) as pool:
        assert [*pool.map(number, map(long_text, asked))] == [str(i) for i in asked]


def test_names_and_narrators_of_a_score_of_books_are_found_once() -> None:
    told = '\n\n"Come, Odo," said Berta. I went with her, and my lamp went out. "Odo, wait," said Berta.'
    books = [f"Book {number}." + told * 30 for number in range(20)]
    first = [(named(book), narrator(book, persons(named(book)))) for book in books]
    for book, (names, teller) in zip(books, first, strict=True):
        assert names
        assert all(again is one for again, one in zip(named(book), names, strict=True))
        assert teller is not None
        assert narrator(book, persons(named(book))) is teller

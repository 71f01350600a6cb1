"""Ids are safe as a folder's name and in an address."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing.ids import LONGEST, check_id, slug
from text.errors import StoryQAError


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300))
def test_a_slug_of_anything_is_an_id(text: str) -> None:
    assert check_id(slug(text)) == slug(text)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(alphabet="az09", min_size=1, max_size=20), min_size=1, max_size=5))
def test_the_slug_of_a_plain_id_is_itself(parts: list[str]) -> None:
    assert slug("-".join(parts)) == "-".join(parts)


@pytest.mark.parametrize(
    ("title", "expected"),
    [("The Miller's Gull", "the-millers-gull"), ("Caf\u00e9 No\u00ebl", "cafe-noel"), ("../../etc", "etc")],
)
def test_slugs_keep_what_is_plain(title: str, expected: str) -> None:
    assert slug(title) == expected


def test_titles_in_other_scripts_get_different_ids() -> None:
    assert slug("\u0412\u043e\u0439\u043d\u0430") != slug("\u041c\u0438\u0440")


@pytest.mark.parametrize("id", ["", ".", "..", "a/b", "A", "-a", "a b", "a" * (LONGEST + 1), "a\n"])
def test_what_is_no_id_is_refused_with_one_that_would_do(id: str) -> None:
    with pytest.raises(StoryQAError, match="would do"):
        check_id(id)

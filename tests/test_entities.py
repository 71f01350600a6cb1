"""Entity markers: which words become one, and that nothing is lost on the way back."""

from __future__ import annotations

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from readers.neural.entities import MARKERS, find_entities, marker
from text.tokens import tokens

STORY = (
    "Dorrit sat on the roof of Hob, the baker. The goose Dorrit counted. A tinker called Osk slept; "
    "the others did not. Dorrit’s star was gone."
)


def test_capitalised_words_that_never_appear_in_lower_case_are_the_entities() -> None:
    entities = find_entities([STORY], random.Random(1))
    # "A" begins a sentence and occurs nowhere else: the paper's rule takes it for a name.
    assert set(entities.numbers) == {"dorrit", "hob", "osk", "a"}


def test_a_name_is_the_same_marker_wherever_and_however_it_is_spelled() -> None:
    entities = find_entities([STORY], random.Random(1))
    dorrit = marker(entities.numbers["dorrit"])
    assert entities.mark("WHO WAS DORRIT'S BAKER?") == ["who", "was", dorrit, "s", "baker", "?"]
    assert entities.mark("dorrit") == [dorrit]


def test_markers_are_permuted_anew_for_each_example() -> None:
    rng = random.Random(1)
    drawn = [find_entities([STORY], rng).numbers["dorrit"] for _ in range(20)]
    assert len(set(drawn)) > 10
    assert all(0 <= number < MARKERS for number in drawn)
    assert find_entities([STORY], random.Random(3)) == find_entities([STORY], random.Random(3))


def test_more_names_than_markers_leave_the_rarest_as_they_are() -> None:
    entities = find_entities([STORY], random.Random(1), markers=2)
    assert set(entities.numbers) == {"dorrit", "hob"}
    assert sorted(entities.numbers.values()) == [0, 1]


def test_a_marker_that_stands_for_nothing_is_left_out() -> None:
    entities = find_entities(["Osk slept."], random.Random(1), markers=2)
    there = entities.numbers["osk"]
    assert entities.unmark(["by", marker(there), marker(1 - there)]) == ["by", "Osk"]


@settings(deadline=None)
@given(st.lists(st.text()), st.randoms(use_true_random=False))
def test_marking_and_unmarking_gives_the_words_back(passages: list[str], rng: random.Random) -> None:
    entities = find_entities(passages, rng)
    for passage in passages:
        back = entities.unmark(entities.mark(passage))
        straight = str.maketrans(dict.fromkeys("’‘´`", "'"))  # as a key has it, whatever the name's spelling
        spelled = [word.lower().translate(straight) for word in back]
        assert spelled == [token.key for token in tokens(passage)]

"""What a probe takes for right: the answer names what is wanted, and no other answer of the task."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.probing.answer_words import is_right, named

PLACES = {"bedroom", "kitchen", "garden", "hallway", "bathroom", "office"}
THINGS = {"apple", "football", "milk", "nothing"}
NUMBERS = {"none", "one", "two", "three"}
VERDICTS = {"yes", "no", "maybe"}
PATHS = {"n", "s", "e", "w"}
KINDS = {"mouse", "sheep", "wolf", "cat"}
GIVING = {"Fred", "Bill", "Jeff", "Mary", "apple", "football", "milk"}


@pytest.mark.parametrize(
    ("task", "answers", "wanted", "right"),
    [
        (1, PLACES, "garden", ["garden", "Garden.", "in the garden", "She went to the garden."]),
        (5, GIVING, "Fred", ["Fred", "fred", "It was Fred's", "to Fred!"]),
        (5, GIVING, "apple", ["the apple", "apples"]),
        (6, VERDICTS, "no", ["no", "No, he is not.", "No. She is no longer there."]),
        (6, VERDICTS, "yes", ["Yes", "yes, she is", "Yes: in the kitchen"]),
        (10, VERDICTS, "maybe", ["maybe", "Perhaps.", "possibly he is"]),
        (7, NUMBERS, "two", ["two", "2", "Two objects", "she carries 2 of them"]),
        (7, NUMBERS, "none", ["none", "0", "Zero", "no objects", "nothing"]),
        (
            8,
            THINGS,
            "apple,milk",
            ["apple,milk", "milk,apple", "the milk and the apple", "apple, milk, apple"],
        ),
        (8, THINGS, "nothing", ["nothing", "None.", "no objects", "He is carrying nothing at all"]),
        (15, KINDS, "wolf", ["wolf", "wolves", "of wolves", "the wolf"]),
        (15, KINDS, "mouse", ["mice", "a mouse"]),
        (19, PATHS, "n,e", ["n,e", "north, then east", "Go north and then east.", "northwards, eastwards"]),
        (19, PATHS, "s,s", ["s,s", "south, then south", "South south"]),
        (20, PLACES | {"hungry", "bored"}, "hungry", ["hungry", "because she was hungry"]),
    ],
)
def test_an_answer_is_right_in_any_words_that_name_it(
    task: int, answers: set[str], wanted: str, right: list[str]
) -> None:
    assert [text for text in right if not is_right(text, wanted.split(","), answers, task)] == []


@pytest.mark.parametrize(
    ("task", "answers", "wanted", "wrong"),
    [
        (
            1,
            PLACES,
            "garden",
            ["", "kitchen", "garden or kitchen", "gardener", "not in the office", "she is out"],
        ),
        (4, PLACES, "garden", ["The garden is north of the kitchen."]),
        (5, GIVING, "Fred", ["Bill", "Bill gave the milk to Fred", "him"]),
        (
            6,
            VERDICTS,
            "no",
            ["", "yes", "yes and no", "He is not.", "nowhere", "maybe not", "Ann is no longer there."],
        ),
        (6, VERDICTS, "yes", ["no", "Yes or no?", "He is in the kitchen.", "yesterday"]),
        (7, NUMBERS, "two", ["", "three", "12", "one or two", "apple, milk"]),
        (7, NUMBERS, "none", ["", "one", "no one"]),
        (8, THINGS, "apple,milk", ["", "apple", "milk", "apple, milk, football", "nothing"]),
        (8, THINGS, "nothing", ["", "apple", "she has something"]),
        (15, KINDS, "wolf", ["cats", "wolf or cat"]),
        (19, PATHS, "n,e", ["", "e,n", "n", "n,e,e", "east, then north", "northeast", "it is near"]),
        (19, PATHS, "s,s", ["s", "south", "s,s,s"]),
    ],
)
def test_an_answer_is_wrong_that_names_another_or_lacks_a_word(
    task: int, answers: set[str], wanted: str, wrong: list[str]
) -> None:
    assert [text for text in wrong if is_right(text, wanted.split(","), answers, task)] == []


def test_what_is_named_comes_in_the_order_of_naming_and_as_often() -> None:
    assert named("The milk, the apple and the milk", THINGS) == ["milk", "apple", "milk"]
    assert named("", THINGS) == named("a cup of tea", THINGS) == []


@given(st.text(max_size=60), st.sampled_from(sorted(PLACES)))
def test_of_two_answers_no_text_is_both(text: str, one: str) -> None:
    right = [wanted for wanted in PLACES if is_right(f"{text} {one}", [wanted], PLACES, 1)]
    assert right in ([], [one])

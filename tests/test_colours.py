"""What colour are NAME's eyes?: told by the colours beside the word where it may be theirs."""

from __future__ import annotations

import pytest
from counted_books import answer, counted, long_story, store_of

from answering.book_qa import BookQA
from answering.colours import colour_asked

SCENES = (
    "There was Orla Gray, and she was late. Orla’s large, dark blue eyes were wet. “Good morning,” said "
    "Bram Osk, and he shook his red hair. His black coat hung over his eyes. ",
    "The sky was grey, and Orla Gray said that she was cold. She shut her blue eyes. Bram Osk had a "
    "green hat, and there were green stains about his eyes. “Row,” said Bram. His eyes were as brown as "
    "the river. ",
    "So Bram sang, and Orla Gray listened, and her long, golden hair fell over the oar. A white bird "
    "sat on it. Bram said that he had a black eye. “You have,” said Orla, and his brown eyes opened. ",
    "Then Tibb said that it was late. Tibb had no hat, and Tibb laughed. ",
)
STORY = long_story(SCENES)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    return BookQA(store_of(SCENES, tmp_path_factory.mktemp("store")))


@pytest.mark.parametrize(
    ("question", "feature", "whom"),
    [
        ("What colour are Orla's eyes?", "eyes", "Orla"),
        ("What color was Bram Osk’s hair in the book?", "hair", "Bram Osk"),
        ("What colour eyes does Orla have?", "eyes", "Orla"),
        ("What is the colour of Bram's beard?", "beard", "Bram"),
        ("What color are the eyes of Orla Gray?", "eyes", "Orla Gray"),
        ("What is Orla's eye color?", "eye", "Orla"),
        ("What colour is Orla's dress?", None, None),
        ("What colour are her eyes?", None, None),
        ("What colour are the eyes of the boy?", None, None),
        ("Why are Orla's eyes blue?", None, None),
    ],
)
def test_the_colour_of_eyes_hair_and_beards_is_asked_for(
    question: str, feature: str | None, whom: str | None
) -> None:
    asked = colour_asked(question)
    assert (None if asked is None else (asked.feature, asked.whom)) == (feature and (feature, whom))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("What colour are Orla's eyes?", "blue"),  # her name is none
        ("What color is Orla Gray's hair?", "golden"),
        ("What colour are Bram's eyes?", "brown"),  # no stain about them is one, and no black eye
        ("What colour is Bram's hair?", "red"),
    ],
)
def test_the_colours_of_what_is_theirs_are_told(qa: BookQA, question: str, told: str) -> None:
    cited = answer(qa, question)
    assert counted(cited)
    assert cited.text == told
    assert not {"grey", "green", "black", "white"} & {one.text for one in cited.candidates}
    places = [one for one in (cited.evidence, *cited.candidates[0].also) if one is not None]
    assert all(place.text == STORY[place.start : place.end] and told in place.text for place in places)


def test_no_more_is_told_than_has_been_read(qa: BookQA) -> None:
    assert not counted(answer(qa, "What color is Orla's hair?", before=STORY.index("So Bram sang")))


@pytest.mark.parametrize(
    ("question", "book"),
    [
        ("What colour are Tibb's eyes?", "lock"),
        ("What colour are Zora's eyes?", "lock"),
        ("What colour are Orla's eyes?", "short"),
    ],
)
def test_where_no_colour_is_said_and_in_a_short_story_passages_are_read(
    qa: BookQA, question: str, book: str
) -> None:
    assert not counted(answer(qa, question, book))

"""Who are NAME's children, parents, friends?: all who are told of each relation, in one answer."""

from __future__ import annotations

import pytest
from counted_books import answer, counted, long_story, store_of

from answering.book_qa import BookQA
from answering.related_questions import relatives_asked

SCENES = (
    "Edmund mended a net, and his daughter Orla sang. Edmund's son, Bram, was late, and he had lost his "
    "hat. “You are late,” said Edmund. Then Orla said that she had seen him. ",
    "Orla's father, Edmund, went down to the lock, and Orla's mother, Mrs. Pell, went with him. There "
    "Mrs. Pell said that she was tired. So Bram said that he would row, and Bram and his sister Orla "
    "rowed. ",
    "In the spring Mrs. Pell came home. “Mother,” said Bram to Mrs. Pell. Edmund's daughter Orla held "
    "her hat, and Orla laughed, for she was glad. His son Bram laughed, too, and Edmund said that he "
    "was glad. ",
    "Edmund's son Bram had a boat. Then Orla's friend Tilda said that she was late, and Orla's friend "
    "Nell said that she knew. “Row,” said Tilda. “No,” said Nell. Her friend Tilda laughed, and her "
    "friend Nell slept. ",
)
STORY = long_story(SCENES)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    return BookQA(store_of(SCENES, tmp_path_factory.mktemp("store")))


@pytest.mark.parametrize(
    ("question", "words", "whom"),
    [
        ("Who are Orla's parents?", ["father", "mother"], "Orla"),
        ("What are the names of Edmund Pell’s children?", ["son", "daughter"], "Edmund Pell"),
        ("Who were the sisters of Orla in the book?", ["sister"], "Orla"),
        ("Name Orla's best friends.", ["friend"], "Orla"),
        ("Who are all James' wives?", ["wife"], "James"),
        ("Who are Orla's enemies?", ["enemy"], "Orla"),
        ("Who are her parents?", None, None),
        ("Who are the king's daughters?", None, None),
        ("Who is Orla's father?", None, None),
        ("Who are Orla's?", None, None),
        ("Why are Orla's parents late?", None, None),
    ],
)
def test_several_are_asked_for_by_a_relation_to_a_name(
    question: str, words: list[str] | None, whom: str | None
) -> None:
    asked = relatives_asked(question)
    assert (None if asked is None else [one.words[0] for one in asked.relations]) == words
    assert (None if asked is None else asked.whom) == whom


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who are Edmund's children?", {"Orla", "Bram"}),
        ("Who are Orla's parents?", {"Edmund", "Mrs. Pell"}),
        ("Who are the friends of Orla?", {"Tilda", "Nell"}),
    ],
)
def test_all_are_named_in_one_answer_each_with_a_place(qa: BookQA, question: str, names: set[str]) -> None:
    cited = answer(qa, question)
    assert set(cited.text.split(", ")) == names
    assert counted(cited)
    [only] = cited.candidates
    places = [one for one in (only.evidence, *only.also) if one is not None]
    assert len(places) == len(names)
    assert all(place.text == STORY[place.start : place.end] for place in places)
    assert 0 < only.confidence < 1


def test_no_more_are_told_than_have_been_read(qa: BookQA) -> None:
    limit = STORY.index("In the spring")
    cited = answer(qa, "Who are Orla's friends?", before=limit)
    assert "Tilda" not in cited.text
    assert "Nell" not in cited.text


@pytest.mark.parametrize(
    ("question", "book"), [("Who are Zora's parents?", "lock"), ("Who are Orla's parents?", "short")]
)
def test_of_nobody_and_of_a_short_story_passages_are_read(qa: BookQA, question: str, book: str) -> None:
    assert not counted(answer(qa, question, book))

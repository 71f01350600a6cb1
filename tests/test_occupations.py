"""What does NAME do for a living?: told by the trades that are named beside them, in all of a book."""

from __future__ import annotations

from pathlib import Path

import pytest
from counted_books import answer, counted, long_story, store_of

from answering.book_qa import BookQA
from answering.occupations import occupation_asked

SCENES = (
    "Orla Pell, the glover, came down the stair. “Good morning, Orla,” said Mr. Mason the baker. Orla said "
    "that she had seen a judge. Mr. Mason laughed. Inspector Dunn stood in the door, for he was late. ",
    "Mr. Mason was a baker, as his father had been. “Bread,” said Mr. Mason, “is bread.” The sailor and the "
    "painter went by. Inspector Dunn asked for two loaves. Orla said nothing. Tibb said that it was late. ",
    "A judge and a sailor sat below the lock. Orla Pell was a weaver now, and a good weaver. The weaver Orla "
    "Pell had a loom of her own. “I am,” said Orla. Inspector Dunn wrote it down. Tibb laughed. ",
)
STORY = long_story(SCENES)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    return BookQA(store_of(SCENES, tmp_path_factory.mktemp("store")))


@pytest.mark.parametrize(
    ("question", "whom"),
    [
        ("What is Orla's profession?", "Orla"),
        ("What was Mr. Mason’s job in the book?", "Mr. Mason"),
        ("What is the occupation of Orla Pell?", "Orla Pell"),
        ("What does Orla do for a living?", "Orla"),
        ("What kind of work did Orla do?", "Orla"),
        ("How does Orla earn her living?", "Orla"),
        ("What did Orla work as?", "Orla"),
        ("What was Orla by trade?", "Orla"),
        ("Tell me what Orla does for a living.", None),  # until it is put plainly
        ("What Orla does for a living.", "Orla"),
        ("What does Orla do?", None),
        ("What is her profession?", None),
        ("What is the profession of the baker?", None),
        ("What is Orla's trade secret?", None),
    ],
)
def test_an_occupation_is_asked_for(question: str, whom: str | None) -> None:
    assert occupation_asked(question) == whom


@pytest.mark.parametrize(
    ("question", "trade"),
    [
        ("What is Orla's profession?", "weaver"),
        ("What does Mr. Mason do for a living?", "baker"),
        ("What is Dunn's job?", "inspector"),
    ],
)
def test_the_trade_beside_a_name_is_told_where_it_stands(qa: BookQA, question: str, trade: str) -> None:
    cited = answer(qa, question)
    assert cited.text == trade
    assert counted(cited)
    places = [one for one in (cited.evidence, *cited.candidates[0].also) if one]
    assert all(STORY[one.start : one.end].lower() == trade for one in places)
    confidences = [one.confidence for one in cited.candidates]
    assert confidences == sorted(confidences, reverse=True)


def test_a_name_that_is_a_trade_tells_nothing(qa: BookQA) -> None:
    assert "mason" not in {one.text for one in answer(qa, "What is Mr. Mason's job?").candidates}


def test_no_more_is_counted_than_has_been_read(qa: BookQA) -> None:
    limit = STORY.index("A judge and a sailor")
    cited = answer(qa, "What is Orla's profession?", before=limit)
    assert cited.text != "weaver"
    assert cited.evidence is not None
    assert cited.evidence.end <= limit


@pytest.mark.parametrize("question", ["What is Zora's profession?", "What is Tibb's job?"])
def test_what_is_not_counted_is_left_to_the_reader(qa: BookQA, question: str) -> None:
    assert not counted(answer(qa, question, "lock" if "Zora" in question else "short"))


def test_a_trade_that_others_are_named_beside_is_not_told_of_whom_nothing_says_it(tmp_path: Path) -> None:
    scenes = (
        *SCENES,
        "The weaver Orla Pell, the weaver Dunn and Mr. Mason, the weaver, sat below the lock. “It is late,” "
        "said Hedda Crane. The weaver slept. “Come,” said Hedda. They saw Hedda Crane, who laughed. ",
    )
    qa = BookQA(store_of(scenes, tmp_path))
    assert not counted(answer(qa, "What is Hedda Crane's profession?"))
    assert answer(qa, "What is Orla's profession?").text == "weaver"

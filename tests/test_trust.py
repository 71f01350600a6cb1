"""When not to answer: kinds of questions, names that a book never mentions, and the verdict on the rest."""

from __future__ import annotations

import pytest
import shelf
from hypothesis import given
from hypothesis import strategies as st

from answering.book_qa import Ask, BookQA
from answering.trust import UNMENTIONED, Thresholds
from indexing.store import IndexStore
from text.asked_names import names_in, unmentioned
from text.question_kinds import Kind, needs_conversation, question_kind

KINDS = {
    "Who kept the lamp?": Kind.WHO,
    "In the end, whom does Ruta marry?": Kind.WHO,
    "Where is the well?": Kind.WHERE,
    "in which city was the oil sold": Kind.WHERE,
    "When did the clock stop?": Kind.WHEN,
    "In which year was the clock built?": Kind.WHEN,
    "When Pim came up the tower, what did he see?": Kind.WHAT,
    "Why did Ines hide the oil?": Kind.WHY,
    "What did she climb up there for?": Kind.WHY,
    "How come nobody laughed?": Kind.WHY,
    "How did Ruta start the clock?": Kind.HOW,
    "how old is Pim": Kind.HOW_MANY,
    "How many eggs were there?": Kind.HOW_MANY,
    "What did Pim bring?": Kind.WHAT,
    "Which apprentice could hear a loose screw?": Kind.WHAT,
    "Is Ines pleased?": Kind.YES_NO,
    "and did the captain come back?": Kind.YES_NO,
    "Was it Ruta or Pim?": Kind.OTHER,
    "Describe the tower.": Kind.DESCRIBE,
    "Can you tell me about Pim?": Kind.DESCRIBE,
    "What is Pim like?": Kind.DESCRIBE,
    "What does the tower smell like oil of?": Kind.WHAT,
    "What is the moral of the story?": Kind.MEANING,
    "what are the main themes?": Kind.MEANING,
    "What does the lamp symbolise?": Kind.MEANING,
    "What is it about?": Kind.SUMMARISE,
    "What is chapter 3 about?": Kind.SUMMARISE,
    "Summarise the second chapter": Kind.SUMMARISE,
    "How does the book end?": Kind.SUMMARISE,
    "What happens at the end of the story?": Kind.SUMMARISE,
    "Name the captain": Kind.OTHER,
}
OPEN = [
    "And then?",
    "why?",
    "Why did she do it?",
    "Who killed him?",
    "What happened to them?",
    "What happens to her in the end?",
    "What is it?",
    "so how did they stop him",
    "And what did he actually come there for?",
]
CLOSED = [
    "Why did Ines hide her oil?",
    "Who lost his hat?",
    "What did the captain say when he came back?",
    "When Ruta listened, what did she hear?",
    "What did I-Na say to her aunt?",
    "Was it raining when the captain rowed ashore?",
    "Who is Pim?",
    "he climbed the steps with her bucket",
    "why does she say no to Abel Thorne when he is rich",
    "How do you drive geese off? what can't they stand",
    "where did they moor after the flood",
    "which little thing in the boat gave away who had taken it?",
]


@pytest.mark.parametrize(("question", "kind"), KINDS.items())
def test_a_question_has_a_kind(question: str, kind: Kind) -> None:
    assert question_kind(question) == kind


@pytest.mark.parametrize(("question", "open"), [(q, True) for q in OPEN] + [(q, False) for q in CLOSED])
def test_pronouns_and_nothing_to_search_for_need_a_conversation(question: str, open: bool) -> None:
    assert needs_conversation(question) is open


@given(st.text(max_size=60))
def test_any_text_has_a_kind_and_names(text: str) -> None:
    assert question_kind(text) in Kind
    assert needs_conversation(text) in (True, False)
    assert all(name in text for name in names_in(text))


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who killed Dumbledore?", ["Dumbledore"]),
        ("What did Mr. Abel Thorne's crew see?", ["Abel", "Thorne"]),
        ("Tobias’s aunt lives where?", ["Tobias"]),
        ("Abel Thorne owed whom a ship?", ["Abel", "Thorne"]),
        ("Lanterns are lit by whom?", []),
        ("Why did I do that?", []),
        ("Describe Ines.", ["Ines"]),
        ("Compare Abel with Tobias.", ["Abel", "Tobias"]),
        ("WHO KEPT THE LAMP?", []),
        ("who is ruta", []),
    ],
)
def test_names_are_words_with_a_capital_that_do_not_begin_the_question(
    question: str, names: list[str]
) -> None:
    assert names_in(question) == names


@pytest.mark.parametrize(
    ("name", "mentioned"),
    [
        ("Ines", True),
        ("Thornes", True),
        ("Tobais", True),
        ("Katharine", True),
        ("Rose", True),
        ("Dumbledore", False),
        ("Ross", False),
        ("Nes", False),
    ],
)
def test_a_name_counts_as_mentioned_in_any_case_in_the_plural_and_nearly_spelled(
    name: str, mentioned: bool
) -> None:
    text = "Old INES lit it. “Captain Thorne,” Tobias said, “Catharine gave me a rose.”"
    assert (unmentioned([name], text) == []) is mentioned


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_more_confidence_never_has_a_worse_verdict(
    answerable: float, sure: float, one: float, other: float
) -> None:
    order = ["none", "maybe", "answer"]
    thresholds = Thresholds(answerable, sure)
    low, high = sorted((one, other))
    assert order.index(thresholds.verdict(low)) <= order.index(thresholds.verdict(high))
    assert (thresholds.verdict(one) != "none") is (one >= answerable)


def ask(store: IndexStore, question: str, reader: str = "overlap", **more: object) -> Ask:
    return Ask("lantern", question, retriever="bm25", reader=reader, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Is Ines glad of the oil?", "yes or no is asked for"),
        ("Is Ines glad of the oil? Is she well?", "yes or no is asked for"),
        ("Is Ines glad of the oil? Describe the lighthouse.", "a description is asked for"),
        ("Describe the lighthouse", "a description is asked for"),
        ("How does the story end?", "a summary is asked for"),
        ("And why did she hide it?", "the question is about something said before"),
    ],
)
def test_a_question_that_the_reader_cannot_answer_is_refused_with_the_reason_and_the_best_passages(
    shelf_store: IndexStore, question: str, says: str
) -> None:
    cited = BookQA(shelf_store).answer(ask(shelf_store, question))
    assert (cited.text, cited.candidates, cited.evidence) == ("", (), None)
    assert (cited.verdict, cited.answerable, cited.confidence) == ("none", False, 0.0)
    assert says in str(cited.note)
    assert cited.passages


def test_what_is_asked_beside_a_yes_or_no_is_answered(shelf_store: IndexStore) -> None:
    cited = BookQA(shelf_store).answer(ask(shelf_store, "Is Ines glad of the oil? Who kept the lighthouse?"))
    assert cited.text
    assert cited.evidence is not None


def test_a_name_that_the_book_never_mentions_is_said_and_lowers_the_confidence(
    shelf_store: IndexStore,
) -> None:
    qa = BookQA(shelf_store)
    plain = qa.answer(ask(shelf_store, "Who kept the lighthouse at Quill Point?"))
    doubted = qa.answer(ask(shelf_store, "Who kept the lighthouse at Quill Point, Dumbledore?"))
    assert plain.note is None
    assert doubted.note == "the book never mentions Dumbledore"
    assert doubted.text == plain.text
    assert doubted.confidence <= UNMENTIONED
    assert [one.note for one in doubted.candidates] == [doubted.note] * len(doubted.candidates)


@pytest.mark.parametrize("blank", ["XXXXX", "@placeholder", "____"])
def test_a_blank_is_no_name_that_the_book_could_mention(shelf_store: IndexStore, blank: str) -> None:
    cited = BookQA(shelf_store).answer(ask(shelf_store, f"The keeper lit the {blank} at Quill Point."))
    assert cited.note is None


def test_what_stands_after_the_place_that_has_been_read_is_not_given_away(shelf_store: IndexStore) -> None:
    first = shelf.LANTERN.index("Abel Thorne")
    cited = BookQA(shelf_store).answer(
        ask(shelf_store, "What did Captain Thorne owe for the oil?", before=first)
    )
    assert cited.note == "what has been read of the book never mentions Thorne"


def test_one_list_may_hold_questions_of_every_kind(shelf_store: IndexStore) -> None:
    asks = [ask(shelf_store, q) for q in ("Is Ines glad?", "Who kept the lighthouse?", "And then?")]
    qa = BookQA(shelf_store)
    together = qa.answer_many(asks)
    assert [one.text for one in together] == [qa.answer(one).text for one in asks]
    assert [bool(one.text) for one in together] == [False, True, False]

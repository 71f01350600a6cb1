"""When not to answer: kinds of questions, names that a book never mentions, and the verdict on the rest."""

from __future__ import annotations

import pytest
import shelf
from hypothesis import given
from hypothesis import strategies as st

from answering.book_qa import Ask, BookQA
from answering.citing import Candidate
from answering.finding import NOTHING_BEFORE
from answering.trust import Thresholds, doubted, refusal
from indexing.store import IndexStore
from text.question_kinds import Kind, needs_conversation, question_kind
from text.question_names import names_in, unmentioned

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
    "What was the ending?": Kind.SUMMARISE,
    "What are the main events?": Kind.SUMMARISE,
    "what's the plot so far": Kind.SUMMARISE,
    "Give me an overview of the plot": Kind.SUMMARISE,
    "Can you sum it up for me?": Kind.SUMMARISE,
    "tl;dr": Kind.SUMMARISE,
    "What has happened so far?": Kind.SUMMARISE,
    "Name the captain": Kind.OTHER,
    "Can you name the captain?": Kind.OTHER,
    "Could anyone please list the eggs?": Kind.OTHER,
    "Do you know the captain's name?": Kind.WHAT,
    "Can you tell me the captain's name?": Kind.WHAT,
    "What happens at the beginning of the book?": Kind.SUMMARISE,
    "Tell me how the book ends": Kind.SUMMARISE,
    "What was the road to Quill Point like?": Kind.DESCRIBE,
    "What can you tell me about the tower?": Kind.DESCRIBE,
    "Give me a short description of the tower.": Kind.DESCRIBE,
    "What was the message of the story?": Kind.MEANING,
    "Do you know the captain?": Kind.YES_NO,
}
YES_NO = [
    "Did Ines hide the oil or not?",
    "Does Pim fall? yes or no",
    "True or false: Ines hid the oil.",
    "Ines hid the oil: true or false?",
    "Is it true or false that Ines hid the oil?",
    "Ines hid the oil, right?",
    "Ines hid the oil, didn't she",
    "The captain never came back, did he?",
    "I wonder if Ines hid the oil",
    "Just wondering whether or not Pim falls.",
    "Tell me whether Pim falls",
    "Do you know if Pim falls?",
    "Hi! Does Pim fall?",
    "In the end, does the captain come back?",
    "When the storm came, did Pim light the lamp?",
    "Where Ines lives, is there a well?",
]
READABLE = [
    "Did the captain row to Quill Point or to the lighthouse?",
    "Who falls, Ruta or Pim?",
    "I wonder if it was Ruta or Pim",
    "Was Ines found guilty or not guilty of it?",
    "Did Ines say yes or no to Abel Thorne?",
    "Who decides whether or not the captain sails?",
    "If Pim had fallen, who would have lit the lamp?",
    "Name the captain, can you?",
    "The captain, a stranger to Pim, is called what?",
    "left, right",
    "When the storm came, what did Pim do?",
    "When the storm came, did Ruta or Pim light the lamp?",
    "When, exactly, did the captain sail?",
    "When in the story, by the way, does the captain sail?",
    "When Pim, who had fallen, woke up, whom did he see?",
    "Who found out about the plot?",
    "Why did the plot against the captain fail?",
    "What did Ines grow in her garden plot?",
    "How does it end for the captain?",
    "What was it about the tower that Pim disliked?",
    "What happens in chapter 3 to the captain?",
    "What is the ending of the song that Ines sings?",
    "What was the main event at the fair?",
    "Could you tell me the name of the captain?",
    "May I ask who Pim is?",
    "Describe where Pim lives",
    "Who was the one that the captain did not like?",
    "What is the fish Pim doesn't like?",
    "Who was it that the captain looked like?",
    "What was the message?",
    "What happens at the end of the dance?",
    "Is there an oil shop, and where is it?",
    "Name two important events of Pim's childhood",
]
OPEN = [
    "What about the captain?",
    "How many did they bring?",
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
    "What about Pim made Ruta laugh?",
    "What about the oil was strange?",
    "How many eggs did they bring?",
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


@pytest.mark.parametrize("question", YES_NO)
def test_yes_or_no_may_be_asked_for_in_many_ways(question: str) -> None:
    assert question_kind(question) == Kind.YES_NO


@pytest.mark.parametrize("question", READABLE)
def test_a_question_for_one_thing_is_read_whatever_else_is_in_it(question: str) -> None:
    assert refusal(Ask("lantern", question)) is None


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
        ("What Did Ines Find in the Tower?", []),
        ("What Was in the tower of Ines?", ["Was", "Ines"]),
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
        ("Tobin", False),  # four letters of the eleven of two names alike
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


@pytest.mark.parametrize(
    ("answerable", "sure", "confidence", "verdict"),
    [
        (0.3, 0.6, 0.29, "none"),
        (0.3, 0.6, 0.3, "maybe"),
        (0.3, 0.6, 0.59, "maybe"),
        (0.3, 0.6, 0.6, "answer"),
        (0.6, 0.3, 0.59, "none"),
        (0.6, 0.3, 0.6, "answer"),
        (0.0, 0.0, 0.0, "answer"),
        (1.0, 1.0, 1.0, "answer"),
    ],
)
def test_a_confidence_at_a_threshold_has_passed_it(
    answerable: float, sure: float, confidence: float, verdict: str
) -> None:
    assert Thresholds(answerable, sure).verdict(confidence) == verdict


@pytest.mark.parametrize(
    ("notes", "note", "confidence"),
    [
        ({"lantern": "no such name", "clock": None}, None, 0.9),
        ({"lantern": "no such name", "clock": "nor here"}, "no such name", 0.18),
        ({"lantern": None}, None, 0.9),
    ],
)
def test_an_answer_of_no_book_is_doubted_where_all_of_them_are(
    notes: dict[str, str | None], note: str | None, confidence: float
) -> None:
    [found] = doubted([Candidate("by night", 0.9, None)], notes)
    assert (found.text, found.note) == ("by night", note)
    assert found.confidence == pytest.approx(confidence)


def ask(store: IndexStore, question: str, reader: str = "overlap", **more: object) -> Ask:
    return Ask("lantern", question, retriever="bm25", reader=reader, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("Is Ines glad of the oil?", "yes or no is asked for"),
        ("Is Ines glad of the oil? Is she well?", "yes or no is asked for"),
        ("Does she know who came and what he wanted?", "yes or no is asked for"),
        ("Is Ines glad of the oil? Describe the lighthouse.", "a description is asked for"),
        ("Describe the lighthouse", "a description is asked for"),
        ("How does the story end?", "a summary is asked for"),
        ("Sum it up.", "a summary is asked for"),
        ("What happens in The Lamp at Quill Point?", "a summary is asked for"),
        ("Ines is glad of the oil, right?", "yes or no is asked for"),
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
    named = qa.answer(ask(shelf_store, "Who kept the lighthouse at Quill Point, Dumbledore?"))
    assert plain.note is None
    assert named.note == "the book never mentions Dumbledore"
    assert named.text == plain.text
    assert 0 < named.confidence <= 0.2
    assert [one.note for one in named.candidates] == [named.note] * len(named.candidates)


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


def test_where_too_little_has_been_read_to_be_searched_that_is_said(shelf_store: IndexStore) -> None:
    cited = BookQA(shelf_store).answer(ask(shelf_store, "Who kept the lighthouse at Quill Point?", before=9))
    assert (cited.text, cited.verdict, cited.note) == ("", "none", NOTHING_BEFORE)


def test_one_list_may_hold_questions_of_every_kind(shelf_store: IndexStore) -> None:
    asks = [ask(shelf_store, q) for q in ("Is Ines glad?", "Who kept the lighthouse?", "And then?")]
    qa = BookQA(shelf_store)
    together = qa.answer_many(asks)
    assert [one.text for one in together] == [qa.answer(one).text for one in asks]
    assert [bool(one.text) for one in together] == [False, True, False]

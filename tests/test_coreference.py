"""Questions that follow others are put by rule so that they can be understood alone."""

from __future__ import annotations

import pytest
import shelf
from hypothesis import given
from hypothesis import strategies as st
from server import serving

from answering.ask import Ask, Turn
from answering.book_qa import BookQA
from indexing.store import IndexStore
from service.settings import Settings
from text.coreference import leans, put_alone

# Mara is "he" in this book and Corin "she": what a name sounds like says nothing.
BOOK = """Mara rowed out before dawn, for he had promised it. Nobody saw Mara when he came back.
"Late again," said Corin, and she shut the door. Corin went up to her loft, and Mara to his nets.
In the evening Mara laughed, as he seldom did; and Corin counted her coins. Corin said that she had lost one.
The tinker's aunt mended a sail. The tinker's aunt was old, and she sang. Then the tinker's aunt put her
needle away."""
MARA, CORIN = ("Who rowed out before dawn?", "Mara"), ("Who counted the coins?", "Corin")

PUT = [
    ("What had he promised?", [MARA], "What had Mara promised?"),
    ("Where did she keep her coins?", [MARA, CORIN], "Where did Corin keep her coins?"),
    ("Where were his nets?", [MARA], "Where were Mara's nets?"),
    ("Where did he go?", [CORIN, MARA], "Where did Mara go?"),
    ("Where did he go?", [MARA, CORIN], "Where did Mara go?"),
    ("How old was she?", [("Who mended the sail?", "The tinker's aunt")], "How old was the tinker's aunt?"),
    ("And where does she live?", [("Who is Corin?", "a lodger")], "And where does Corin live?"),
    ("Who saw him?", [("Where was Mara at dawn?", "in his boat")], "Who saw Mara?"),
    ("What did she count there?", [("Where did Corin go?", "the loft")], "What did Corin count in the loft?"),
    ("Who sang there?", [("Where did Corin come from?", "From the mill")], "Who sang in the mill?"),
    ("Who sang there?", [("Where did Corin go?", "to Vell")], "Who sang in Vell?"),
    ("Who sang there?", [("Where was the sail?", "Behind the mill")], "Who sang behind the mill?"),
    ("Why?", [("Who shut the door?", "Corin")], "Why Corin shut the door?"),
    ("And when?", [("What did Corin lose?", "A coin")], "When did Corin lose a coin?"),
    ("But how?", [("Did Mara row out?", "He did.")], "How did Mara row out?"),
    ("Where?", [("Why did Corin go up?", "to count")], "Where did Corin go up?"),
    ("Where is it now?", [("What did Corin lose?", "a coin")], "Where is a coin now?"),
    ("Who mended them?", [("What did Mara hang up?", "his nets")], "Who mended his nets?"),
    ("Did they quarrel?", [("What did Mara say to Corin?", "nothing")], "Did Mara and Corin quarrel?"),
    ("What did Mr. Thorne owe him?", [MARA], "What did Mr. Thorne owe him?"),
    ("Why?", [("Who shut the door?", "Mrs. Wimpole")], "Why Mrs. Wimpole shut the door?"),
    ("Where did he go?", [("Who rowed out?", "Dr. J.B. Watson")], "Where did Dr. J.B. Watson go?"),
    ("Did they row?", [("Who was late?", "Mr. Thorne and Corin")], "Did Mr. Thorne and Corin row?"),
    ("What about Mara?", [("Where does Corin live?", "in a loft")], "Where does Mara live?"),
    ("And Mr. Thorne?", [("Can you tell me where Corin is?", "here")], "Where is Mr. Thorne?"),
    ("And what about Mara's?", [("What colour are Corin's eyes?", "green")], "What colour are Mara's eyes?"),
    ("What about his sister?", [("Where is Mara?", "at sea")], "Where is Mara's sister?"),
    ("And Corin?", [("Where is Mara?", "at sea"), ("What about Odo?", "in a loft")], "Where is Corin?"),
    ("And Odo?", [("Who rang the bell?", "Mara"), ("Where did he go?", "home")], "Where did Odo go?"),
    ("Why?", [("Who rang the bell?", "Mara"), ("Where did he go?", "home")], "Why did Mara go?"),
    (
        "Where is it now?",
        [("What is the cold lamp?", "a light of blue glass")],
        "Where is the cold lamp now?",
    ),
    ("Who mended it?", [("Where is the sail now?", "in the boat")], "Who mended the sail?"),
    ("Who gave it?", [("What is the name of the boat?", "the Tern")], "Who gave the Tern?"),
    ("Where did she go?", [CORIN, ("Who came?", "On the first of May came a boat.")], "Where did Corin go?"),
    ("Where did he go?", [MARA, ("Who came?", "My aunt came in the first boat.")], "Where did Mara go?"),
    ("Where did he go?", [MARA, ("In which year did the flood come?", "")], "Where did Mara go?"),
]
AS_IT_STANDS = [
    ("What did Corin say when she came in?", [MARA]),  # her own
    ("Is it true that nobody saw Mara?", [CORIN]),
    ("Is there a loft?", [("Where is the sail?", "in the boat")]),
    ("What happened then?", [MARA]),
    ("Who sang there?", [("Where was Mara?", "with Corin")]),
    ("Why?", [("Why did Mara row out?", "he had promised it")]),
    ("Why?", [("Who shut the door?", "The king. He was cold")]),  # no phrase
    ("Who saw him?", [("Where is the sail?", "in the boat")]),
    ("Where did she go?", [MARA]),  # nobody whom the book calls so was spoken of
    ("Who saw him?", []),
    ("What about Corin?", [("What did Mara say to Odo?", "nothing")]),  # beside whom, nobody can tell
    ("What about Corin?", [("Who rang the bell?", "Mara")]),
    ("What about Corin made Odo laugh?", [("Where is Mara?", "at sea")]),
    ("And Corin?", [("Who is Corin?", "a lodger")]),
    ("And afterwards?", [("Where is Corin?", "here")]),
    ("Who is he?", [("Who took the boat?", "It was on the first of May that the mate took it.")]),
    ("What was her name?", [("Who mended the net?", "On the beach an old woman mended a net.")]),
    ("Why?", [("Who wrote it?", "Mara")]),
    ("Who saw it?", [("Where is the tinker's aunt?", "at home")]),
    ("Where did he go?", [MARA, *[("What is it?", "a sail")] * 3]),  # four turns ago
]


@pytest.mark.parametrize(("question", "turns", "alone"), PUT)
def test_a_pronoun_becomes_what_was_spoken_of(
    question: str, turns: list[tuple[str, str]], alone: str
) -> None:
    assert put_alone(question, turns, BOOK) == alone


@pytest.mark.parametrize(("question", "turns"), AS_IT_STANDS)
def test_what_stands_for_nothing_known_stays(question: str, turns: list[tuple[str, str]]) -> None:
    assert put_alone(question, turns, BOOK) == question


@pytest.mark.parametrize(
    ("pronouns", "may_be_she"),
    [
        (("he", "he"), True),  # too few
        (("he", "he", "he"), False),
        (("he", "she", "he"), False),  # two of three
        (("he", "she", "he", "she", "he"), True),  # three of five
    ],
)
def test_whom_the_book_calls_he_and_whom_she_is_told_by_most_of_its_pronouns(
    pronouns: tuple[str, ...], may_be_she: bool
) -> None:
    text = " ".join(f"Then Robin came to the mill, and {one} sang of the river." for one in pronouns)
    alone = put_alone("Where did she go?", [("Who shut the door?", "Robin")], text)
    assert alone == ("Where did Robin go?" if may_be_she else "Where did she go?")


@pytest.mark.parametrize(("question", "turns"), [(q, t) for q, t, alone in PUT if q != alone])
def test_what_is_put_otherwise_leans_on_what_was_said(question: str, turns: list[tuple[str, str]]) -> None:
    assert leans(question)


_TURNS = st.lists(st.tuples(st.text(max_size=40), st.text(max_size=40)), max_size=3)


@given(st.text(max_size=60), _TURNS, st.text(max_size=80))
def test_any_conversation_can_be_followed(question: str, turns: list[tuple[str, str]], text: str) -> None:
    alone = put_alone(question, turns, text)
    assert alone == question or (turns and leans(question))


def test_a_follow_up_is_answered_by_a_reader_that_is_told_nothing_else(shelf_store: IndexStore) -> None:
    qa = BookQA(shelf_store)

    def ask(question: str, *turns: Turn, before: str | None = None) -> Ask:
        return Ask("lantern", question, retriever="bm25", reader="overlap", before=before, conversation=turns)

    keeper = Turn("Who kept the lighthouse at Quill Point?", "Old Ines")
    cited = qa.answer(ask("And where had she hidden the good oil?", keeper))
    assert cited.rewritten == "And where had Old Ines hidden the good oil?"
    assert cited.evidence is not None
    assert "under the stairs" in cited.evidence.sentence
    assert qa.answer(ask("Where had she hidden it?", keeper)).answerable
    assert "something said before" in str(qa.answer(ask("Where had she hidden it?")).note)
    # An answer that was given for another limit names whom nobody has read of.
    told_later = Turn("Who came in the end?", "Tobias Wren")
    begun = shelf.LANTERN.index("II. The Storm")
    assert "Wren" not in str(qa.answer(ask("Why did he come?", told_later, before=str(begun))).rewritten)


@pytest.mark.parametrize(
    ("asked", "answered", "question", "alone"),
    [
        ("where did ines hide the oil", "under the stairs", "why did she hide it?", "why did Ines hide it?"),
        ("who is ines", "", "what about tobias?", "Who is Tobias?"),
        ("Who wrote this book?", "Ada Pell", "When?", "When was this book first published?"),
        ("who is the author", "Ada Pell", "why", None),
        ("What is the title?", "The Lantern", "How?", None),
    ],
)
def test_a_follow_up_is_understood_by_questions_in_lower_case_and_of_the_book(
    shelf_store: IndexStore, asked: str, answered: str, question: str, alone: str | None
) -> None:
    follows = Ask(
        "lantern", question, retriever="bm25", reader="overlap", conversation=(Turn(asked, answered),)
    )
    cited = BookQA(shelf_store).answer(follows)
    assert cited.rewritten == alone
    assert bool(cited.candidates) or alone is None or "published" in str(cited.note)


def test_a_conversation_of_the_call_is_followed(shelf_store: IndexStore) -> None:
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap")
    body = {"book_id": "lantern", "question": "Where had she hidden the good oil?"}
    said = [{"question": "Who kept the lighthouse at Quill Point?", "answer": "Old Ines"}]
    with serving(settings) as client:
        plain = client.post("/answer", json=body).json()
        told = client.post("/answer", json=body | {"conversation": said}).json()
    assert plain["rewritten"] is None
    assert told["rewritten"] == "Where had Old Ines hidden the good oil?"

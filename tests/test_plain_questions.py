"""Questions as people type them, put plainly, and what must stay as it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import shelf
from hypothesis import given
from hypothesis import strategies as st

from answering.ask import LONGEST_QUESTION, Turn
from answering.book_qa import Ask, BookQA
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from text.plain_questions import plain_question
from text.question_kinds import Kind, question_kind
from text.question_names import names_in, respelled, unmentioned

TITLE = "The Salt Road of Ines; or, The Toll"
PLAIN = "Who rang the bell?"
POLITE = [
    "Can you tell me who rang the bell?",
    "could somebody please tell us who rang the bell?",
    "Tell me who rang the bell?",
    "Hi! Please tell me: who rang the bell?",
    "Good morning, would you happen to know who rang the bell?",
    "Do you know who rang the bell? Thanks!",
    "Who rang the bell? Thank you very much.",
    "Who rang the bell, please?",
    "I'd like to know who rang the bell?",
    "I don\u2019t remember who rang the bell?",
    "I was just wondering, who rang the bell?",
    "Any idea who rang the bell?",
    "do you have any idea who rang the bell?",
    "Great, thanks! And who rang the bell?",
    "Just wondering who rang the bell?",
    "I see. But just a quick question: who rang the bell?",
    "Explain to me who rang the bell?",
    "So, in this novel, who rang the bell?",
    "According to the story who rang the bell?",
    "In The Salt Road of Ines, who rang the bell?",
    "in the novel \u201cSalt Road of Ines\u201d by A. Friend, who rang the bell?",
    "Hello there! Can you tell me, in the salt road of ines: who rang the bell?",
]
INDIRECT = {
    "Tell me who Ines is": "Who is Ines?",
    "do you know who ines is": "Who is ines?",
    "I wonder where the bell was hung.": "Where was the bell hung?",
    "Can I ask how old the captain was?": "How old was the captain?",
    "Do you know what colour Ines's eyes are?": "What colour are Ines's eyes?",
    "Tell me in which chapter Ines is introduced": "In which chapter is Ines introduced?",
    "Could you tell me how many chapters there are?": "How many chapters are there?",
    "I'd like to know how many pages the book has": "How many pages has the book?",
    "I am trying to remember why the sea is salt": "Why is the sea salt?",
    "Can you tell me the name of the captain?": "What is the name of the captain?",
    "Tell me the old woman's name, please.": "What is the old woman's name?",
    "Do you know the names of the bells?": "What are the names of the bells?",
    "Hi! Could you please give me the reason why she rang?": "What is the reason why she rang?",
    "I'm looking for her address": "What is her address?",
    "Tell me the author": "Who is the author?",
    "Name the main characters of the book": "Who are the main characters of the book?",
    "whats the toll?": "What's the toll?",
    "tell me whos ines": "Who's ines",
}
OF_THE_BOOK = {
    "How does The Salt Road of Ines end?": "How does the book end?",
    "What is Salt Road of Ines about?": "What is the book about?",
    "who is the narrator of 'The Salt Road of Ines'?": "Who is the narrator of the book?",
    "Who rang the bell in The Salt Road of Ines?": "Who rang the bell in the book?",
    "What happens in The Salt Road of Ines?": "What happens in the book?",
}
AS_IT_STANDS = [
    PLAIN,
    "  who rang the bell",
    "Can you tell me about the bell?",
    "Can you tell me whether she rang the bell?",
    "Do you know if he came back?",
    "Please describe the tower.",
    "Explain the toll.",
    "Did he tell me who rang the bell?",
    "How do you know who rang the bell?",
    "In the story that she tells, who rang the bell?",
    "In the story of the bell, who rang it?",
    "Whom did she please?",
    "I see who rang the bell.",
    "To whom did he give thanks?",
    "However he rang, what came of it?",
    "Where does the salt road of Ines begin to climb?",
    "Who walks in the salt road of ines?",  # whether the road or the book is meant, nobody can tell
    "Why does she believe in the Salt Road?",
    "Can you tell me the story of the bell?",
    "Do you know the captain?",
    "Tell me about Ines's name.",
    "Tell me the plot.",
    "Give me the bell.",
    "Hi!",
    "the bell of the drowned church",
    "",
]


@pytest.mark.parametrize("question", POLITE)
def test_what_is_polite_or_names_the_book_is_left_out(question: str) -> None:
    assert plain_question(question, TITLE) == PLAIN


@pytest.mark.parametrize(
    ("question", "plain"),
    [
        *INDIRECT.items(),
        ("what the captain was mending?", "What was the captain mending?"),
        # What words may begin the subject of is no clause.
        ("Can you tell me how many Danes were lost?", "How many Danes were lost?"),
        ("Tell me what Danish king was lost", "What Danish king was lost"),
        ("How much of the oil was lost?", "How much of the oil was lost?"),
        ("How big an error is it?", "How big an error is it?"),
        # A clause of its own may be what the verb is of.
        ("Tell me who the king thought was dead", "Who the king thought was dead"),
        ("Tell me what happened when the bell was rung", "What happened when the bell was rung"),
        ("So, when the storm was over, what did he do?", "When the storm was over, what did he do?"),
        ("who rang it in ch. 3?", "who rang it in chapter 3?"),
        ("Tell me who rang it in Chap IV", "Who rang it in chapter IV"),
        ("ch3: who rang it", "chapter 3: who rang it"),
        ("Who lost the ch?", "Who lost the ch?"),
    ],
)
def test_what_is_asked_indirectly_has_the_words_of_a_question(question: str, plain: str) -> None:
    assert plain_question(question, TITLE) == plain
    assert plain_question(plain, TITLE) == plain


@pytest.mark.parametrize(("question", "plain"), OF_THE_BOOK.items())
def test_a_title_that_can_only_be_the_book_is_called_so(question: str, plain: str) -> None:
    assert plain_question(question, TITLE) == plain


@pytest.mark.parametrize("question", AS_IT_STANDS)
def test_what_asks_plainly_or_not_at_all_stays_as_it_stands(question: str) -> None:
    assert plain_question(question, TITLE) == question


def test_a_title_that_may_be_somebody_is_the_book_only_where_it_is_said_to_be() -> None:
    assert plain_question("What does she see in Emma?", "Emma") == "What does she see in Emma?"
    assert plain_question("Who is rich in 'Emma'?", "Emma") == "Who is rich in the book?"
    assert plain_question("In Emma, who is rich?", "Emma") == "Who is rich?"
    assert plain_question("what happens in emma?", "Emma") == "What happens in the book?"
    assert (
        plain_question("What are the main events in Emma?", "Emma") == "What are the main events in the book?"
    )
    assert plain_question("What happens in Emma's garden?", "Emma") == "What happens in Emma's garden?"


SPELLED = (
    "Heathcliff rang it twice. Philippa, whom Mary called Pip, answered him, and the Captain slept. "
    "“Marry him?” Heathcliff asked Mary. “To marry is to rest,” said Philippa. Kemper--or had rested."
)


@pytest.mark.parametrize(
    ("question", "respelt"),
    [
        ("Who called Phillipa's captain?", "Who called Philippa's captain?"),
        (
            "What did Heathclif ask Mary, and did Heathclif rest?",
            "What did Heathcliff ask Mary, and did Heathcliff rest?",
        ),
        ("who called phillipa", "who called Philippa"),
        ("Who is Philippa?", "Who is Philippa?"),
        ("Who killed Dumbledore?", "Who killed Dumbledore?"),
        ("Who is Pipp?", "Who is Pipp?"),  # of short names too many are near
        ("whom did maryy carry", "whom did Mary carry"),
        ("why did mary remarry", "why did Mary remarry"),
        ("What is the Resst for?", "What is the Resst for?"),  # the book rests, but calls nobody so
        ("Who called Phillipa-Jane?", "Who called Phillipa-Jane?"),
        ("Who is the Emperor?", "Who is the Emperor?"),  # near a broken name
        ("", ""),
    ],
)
def test_names_are_spelled_as_the_book_spells_them(question: str, respelt: str) -> None:
    assert respelled(question, SPELLED) == respelt
    assert respelled(respelt, SPELLED) == respelt


LOWERED = (
    "At last Captain Hook saw Will and Rose, who rose to thank Will. “Rose,” said Mrs. Darling, “and Will, I "
    "will not rose-water him.” She told Rose that the Captain and the dog of Hook will sleep. “Oh!” said "
    "Hook, “oh, I will.” Here the Red Queen rose. “Oh, Rose,” said the Red Queen to Will and Rose, “I "
    "miss the queen.”"
)


@pytest.mark.parametrize(
    ("question", "respelt"),
    [
        ("who is hook's dog?", "who is Hook's dog?"),
        ("who's captain hook", "who's Captain Hook"),
        ("what does mrs. darling tell hook?", "what does Mrs. Darling tell Hook?"),
        ("why did the red queen miss the queen?", "why did the Red Queen miss the queen?"),
        ("who will thank will's sister?", "who will thank Will's sister?"),
        ("who rose to thank rose’s dog?", "who rose to thank Rose’s dog?"),
        ("what did the captain's dog say, oh?", "what did the captain's dog say, oh?"),
        ("who is hooks dog?", "who is Hook's dog?"),
        ("Where is Hooks room?", "Where is Hook's room?"),
        ("Where do the Hooks live?", "Where do the Hooks live?"),
        ("what have roses and thorns in common?", "what have roses and thorns in common?"),
        ("Who Is rose?", "Who Is rose?"),  # who types one capital may type others
    ],
)
def test_names_in_lower_case_get_the_capitals_of_the_book(question: str, respelt: str) -> None:
    assert respelled(question, LOWERED) == respelt
    assert respelled(respelt, LOWERED) == respelt


ASKED_OF = (
    "Here were the Pooles. Mrs. Poole saw Odo Poole, and Mr Owen Dray saw Silas. “I saw Marry-Anne,” said "
    "Silas to Mentone. Odo told Mentone that Silas and Owen saw the captain and the cook. “Go,” said Odo."
)


@pytest.mark.parametrize(
    ("question", "respelt"),
    [
        # What questions are asked with is no name, however near one is.
        ("how often is the captain mentioned", "how often is the captain mentioned"),
        ("who is the owner", "who is the owner"),
        ("how many times is mentonne mentioned", "how many times is Mentone mentioned"),
        # A name that the text has with an s for several owns what is behind it where it is one's.
        ("who is odo pooles wife", "who is Odo Poole's wife"),
        ("who is mrs pooles sister", "who is Mrs. Poole's sister"),
        ("Who is Odo Pooles wife?", "Who is Odo Poole's wife?"),
        ("what do the pooles own", "what do the Pooles own"),
        ("who is silas father", "who is Silas' father"),
        ("Who is Silas uncle?", "Who is Silas' uncle?"),
        ("what did silas name it", "what did Silas name it"),
        ("whats the cooks name", "whats the cook's name"),
        ("who is the captains wife", "who is the captain's wife"),
        ("what do the cooks name the goat", "what do the cooks name the goat"),
        ("what is the millers name", "what is the millers name"),
        ("who is silas owens cousin", "who is Silas Owen's cousin"),
        # Titles are as the text has them.
        ("who is mrs poole", "who is Mrs. Poole"),
        ("who is mr. owen", "who is Mr. Owen"),
        ("Who is mrs Poole?", "Who is Mrs. Poole?"),
    ],
)
def test_owners_titles_and_words_that_ask_are_told_from_names(question: str, respelt: str) -> None:
    assert respelled(question, ASKED_OF) == respelt
    assert respelled(respelt, ASKED_OF) == respelt


def test_a_name_is_spelled_as_the_book_spells_it_most_often() -> None:
    text = "HEATHCLIFF. Heathcliff came. HEATHCLIFF! Heathcliff left. heathcliff HeathCliff"
    assert respelled("Where did Heathclif go?", text) == "Where did Heathcliff go?"


@given(st.text(max_size=60), st.text(max_size=60))
def test_of_any_question_nothing_but_words_that_the_text_lacks_is_spelled_otherwise(
    question: str, text: str
) -> None:
    assert respelled(question, "") == question
    assert respelled(question, question) == question
    assert unmentioned(names_in(respelled(question, text)), text) == unmentioned(names_in(question), text)


@given(
    st.lists(
        st.sampled_from(
            [*" ?.,!'", "can you tell me ", "hi! ", "who ", "in The Toll ", "the end of ", "thanks"]
        ),
        max_size=12,
    ).map("".join)
    | st.text(max_size=60)
)
def test_it_is_put_plainly_once_and_for_all(question: str) -> None:
    plain = plain_question(question, "The Toll of the Bell")
    assert plain_question(plain, "The Toll of the Bell") == plain
    assert bool(plain.strip()) == bool(question.strip())


@pytest.mark.parametrize("question", POLITE[:13])
def test_a_polite_question_has_the_kind_of_the_plain_one(question: str) -> None:
    assert question_kind(question) == Kind.WHO


@pytest.mark.parametrize(
    "question",
    [
        "Hi! Can you tell me who kept the lighthouse at Quill Point?",
        "In {title}, who kept the lighthouse at Quill Point?",
        "I wonder who kept the lighthouse at Quill Point? Thanks!",
    ],
)
def test_a_polite_question_is_answered_and_searched_for_as_the_plain_one(
    shelf_store: IndexStore, question: str
) -> None:
    qa = BookQA(shelf_store)
    question = question.format(title=qa.open("lantern").title)
    plain, polite = (
        Ask("lantern", one, retriever="bm25", reader="overlap")
        for one in ("Who kept the lighthouse at Quill Point?", question)
    )
    cited = qa.answer(polite)
    assert replace(cited, rewritten=None, timings_ms={}) == replace(qa.answer(plain), timings_ms={})
    assert cited.rewritten == plain.question
    hits = [one.found.hits for one in qa.search_many([plain, polite])]
    assert hits[0] == hits[1]


def test_a_name_is_spelled_as_what_has_been_read_of_the_book_spells_it(shelf_store: IndexStore) -> None:
    qa, asked = BookQA(shelf_store), "Who brought Tobais a jar of blue oil?"
    ask = Ask("lantern", asked, retriever="bm25", reader="overlap")
    assert qa.answer(ask).rewritten == "Who brought Tobias a jar of blue oil?"
    before = shelf.LANTERN.index("Tobias")
    cited = qa.answer(replace(ask, before=before))
    assert (cited.rewritten, cited.note) == (None, "what has been read of the book never mentions Tobais")
    assert qa.answer(replace(ask, book_id="lantern,clock")).rewritten is None


def test_a_long_question_that_would_be_too_long_as_the_book_spells_it_stays_as_it_is(
    shelf_store: IndexStore,
) -> None:
    asked = "Who met Tobas? ".ljust(LONGEST_QUESTION, "a")
    assert (
        BookQA(shelf_store).answer(Ask("lantern", asked, retriever="bm25", reader="overlap")).rewritten
        is None
    )


def test_a_follow_up_put_politely_is_understood_by_what_was_said(shelf_store: IndexStore) -> None:
    cited = BookQA(shelf_store).answer(
        Ask(
            "lantern",
            "Can you tell me why she hid the oil?",
            retriever="bm25",
            reader="overlap",
            conversation=(Turn("Who kept the lighthouse?", "Ines"),),
        )
    )
    assert cited.rewritten == "Why Ines hid the oil?"


@pytest.mark.parametrize(
    "question", ["Who wrote The Glass Ferry?", "Where does Adair have the heron stand, on the jetty?"]
)
def test_title_and_author_of_a_book_are_nobody_that_it_never_mentions(tmp_path: Path, question: str) -> None:
    store = IndexStore(tmp_path)
    text = "The heron stood on the jetty until the boat came."
    build_book(Book("glass", "The Glass Ferry", text, "test", author="M. Adair"), BuildSettings(), store)
    cited = BookQA(store).answer(Ask("glass", question, retriever="bm25", reader="overlap"))
    assert cited.note is None

"""What a language model can do that small readers cannot, and that it never tells of what lies behind."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import shelf
from chat_server import Asked, ChatServer, Handler, Script, chatting, parrot, reply, says
from server import serving
from test_answer_events import EVENTS, events

from answering.ask import Ask, BadRequest, Turn
from answering.book_qa import BookQA
from answering.chapter_references import NO_SUCH_CHAPTER
from answering.citing import CitedAnswer, Evidence
from answering.spoilers import LEAKED, SpoilerGuard
from indexing.store import IndexStore
from service.settings import Settings

STORM = shelf.LANTERN.index("II. The Storm")
BILL = shelf.LANTERN.index("III. The Bill")
MOST = {  # what may be read of each: nothing of the last third
    book: len(text) * 60 // 100 for book, (_, text) in shelf.STORIES.items()
}


@contextmanager
def asking(store: IndexStore, script: Script, chars: int | None = None) -> Iterator[tuple[Any, ChatServer]]:
    """A function that asks a book by a chat model which does as ``script`` says."""
    with chatting(script) as server:
        qa = BookQA(store)
        reader = f"chat:{server.url}@model=parrot" + ("" if chars is None else f"@chars={chars}")

        def ask(question: str, book: str = "lantern", **more: Any) -> CitedAnswer:
            return qa.answer(Ask(book, question, retriever="bm25", reader=reader, **more))

        yield ask, server


def instructions(asked: Asked) -> str:
    return str(asked.body["messages"][0]["content"])


def shown(asked: Asked) -> str:
    """The passages that a model was shown, in order."""
    return "\n".join(asked.passages.values())


def places(cited: CitedAnswer) -> list[Evidence]:
    best = cited.candidates[0]
    return [*filter(None, [best.evidence]), *best.also]


@pytest.mark.parametrize(
    ("question", "prompt", "told"),
    [
        ("Who kept the lighthouse?", "answer 1", "in as few words as possible"),
        ("Did Ines trust Tobias?", "yes-no 1", "Yes or No"),
        ("Why did Ines hide the good oil?", "explain 1", "the reason"),
        ("How did Ines light the lamp?", "explain 1", "the reason"),
        ("Describe Ines.", "describe 1", "a description"),
        ("What is Tobias like?", "describe 1", "a description"),
        ("Compare Ines and Tobias.", "compare 1", "what is alike"),
        ("How do Ines and Tobias differ?", "compare 1", "what is alike"),
        ("Summarise the second chapter.", "summary 1", "a summary"),
    ],
)
def test_a_question_is_asked_with_the_prompt_for_its_kind_which_the_answer_names(
    shelf_store: IndexStore, question: str, prompt: str, told: str
) -> None:
    with asking(shelf_store, parrot) as (ask, server):
        cited = ask(question)
    assert cited.versions["prompt"] == prompt
    assert told in instructions(server.asked[0])
    assert cited.verdict != "none" or cited.text == "unanswerable"


def test_an_answer_cites_several_places_each_of_which_stands_in_the_book(shelf_store: IndexStore) -> None:
    def cites(handler: Handler, asked: Asked) -> None:
        numbers = {text: number for number, text in asked.passages.items()}
        jar = next(number for text, number in numbers.items() if "a jar of blue oil from" in text)
        hidden = next(number for text, number in numbers.items() if "hidden the good oil" in text)
        reply(
            handler,
            asked,
            f"ANSWER: Tobias brought blue oil, and Ines hid hers.\nPASSAGE: {jar}\nQUOTE: a jar of blue oil\n"
            f"PASSAGE: {hidden}\nQUOTE: she had hidden the good oil from Tobias\n"
            f"PASSAGE: {jar}\nQUOTE: a jar of green oil\nPASSAGE: {jar}\nQUOTE: jar of blue",
        )

    with asking(shelf_store, cites) as (ask, _):
        cited = ask("Compare the oil of Tobias and the oil of Ines.", k=12)
    assert [place.text for place in places(cited)] == [
        "a jar of blue oil",
        "she had hidden the good oil from Tobias",
    ]
    for place in places(cited):
        assert shelf.LANTERN[place.start : place.end] == place.text
    assert cited.note == "1 of the 4 places that the model cited did not hold, and went"


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("Summarise chapter 2.", STORM, BILL),
        ("Please summarize Chapter II", STORM, BILL),
        ("Give me a summary of the second chapter", STORM, BILL),
        ("Summarise The Storm.", STORM, BILL),
        ("What happens in the chapter? Summarise chapter three.", BILL, len(shelf.LANTERN)),
        ("Summarise the story.", 0, len(shelf.LANTERN)),
        ("Sum it up.", 0, len(shelf.LANTERN)),
        ("What are the main events?", 0, len(shelf.LANTERN)),
        ("Recap", 0, len(shelf.LANTERN)),
    ],
)
def test_a_summary_is_made_of_all_of_the_part_that_it_is_asked_of(
    shelf_store: IndexStore, question: str, start: int, end: int
) -> None:
    with asking(shelf_store, parrot) as (ask, server):
        cited = ask(question, k=1)
    assert "".join(shown(server.asked[0]).split()) == "".join(shelf.LANTERN[start:end].split())
    assert cited.passages[0].start >= start
    assert cited.passages[-1].end <= end


def test_a_summary_of_more_than_fits_is_made_of_notes_and_rests_on_their_places(
    shelf_store: IndexStore,
) -> None:
    def notes(handler: Handler, asked: Asked) -> None:
        number, passage = next(iter(asked.passages.items()))
        quote = " ".join(passage.split()[:3])
        if "take notes" in instructions(asked):
            reply(handler, asked, f"ANSWER: Note of {passage[:12]}\nPASSAGE: {number}\nQUOTE: {quote}")
        else:
            reply(handler, asked, "ANSWER: It is all told.")

    with asking(shelf_store, notes, chars=500) as (ask, server):
        cited = ask("Summarise the story.")
    *parts, joined = server.asked
    assert len(parts) >= 3
    assert all(len(shown(one)) <= 500 + len(one.passages) for one in parts)
    together = "".join(sorted((shown(one) for one in parts), key=lambda text: shelf.LANTERN.find(text[:30])))
    assert "".join(together.split()) == "".join(shelf.LANTERN.split())
    assert all(text.startswith("Note of") for text in joined.passages.values())
    assert len(joined.passages) == len(parts)
    assert (cited.text, cited.versions["prompt"]) == ("It is all told.", "summary-part 1, summary-join 1")
    assert len(places(cited)) == len(parts)
    for place in places(cited):
        assert shelf.LANTERN[place.start : place.end] == place.text


TURNS = (Turn("Who kept the lighthouse at Quill Point?", "Old Ines"),)


def rewrites(question: str) -> Script:
    def script(handler: Handler, asked: Asked) -> None:
        if "rewrite" in instructions(asked):
            reply(handler, asked, f"QUESTION: {question}")
        else:
            parrot(handler, asked)

    return script


def test_a_follow_up_is_put_so_that_it_can_be_understood_alone_and_shown(shelf_store: IndexStore) -> None:
    with asking(shelf_store, rewrites("Where had Ines hidden the good oil?")) as (ask, server):
        cited = ask("And where had she hidden it?", conversation=TURNS)
        assert cited.rewritten == "Where had Ines hidden the good oil?"
        assert "Old Ines" in server.asked[0].body["messages"][1]["content"]
        assert server.asked[1].question == "Where had Ines hidden the good oil?"
        assert cited.evidence is not None
        assert "under the stairs" in cited.evidence.sentence
        assert ask("Where had Ines hidden the good oil?", conversation=TURNS).rewritten is None
        assert ask("Where had Ines hidden the good oil?").rewritten is None
    assert len(server.asked) == 5


@pytest.mark.parametrize("made_up", ["Where had Professor Snape hidden it?", "", "x" * 3000, "Who is XXXXX?"])
def test_a_rewritten_question_that_names_others_or_is_none_is_not_asked(
    shelf_store: IndexStore, made_up: str
) -> None:
    with asking(shelf_store, rewrites(made_up)) as (ask, server):
        cited = ask("And where had she hidden it?", conversation=TURNS)
    assert cited.rewritten is None
    assert server.asked[-1].question == "And where had she hidden it?"


def test_a_conversation_that_is_none_is_refused() -> None:
    for turns in ((Turn("a", "b"),) * 21, (Turn("x" * 2001, ""),), (Turn("a", "\ud800"),)):
        with pytest.raises(BadRequest, match=r"conversation|turn"):
            Ask("lantern", "Who?", conversation=turns)


def test_other_readers_are_told_of_a_conversation_only_what_the_question_leans_on(
    shelf_store: IndexStore,
) -> None:
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap")
    body = {"book_id": "lantern", "question": "Where had Ines hidden the good oil?"}
    with serving(settings) as client:
        plain = client.post("/answer", json=body).json()
        told = client.post("/answer", json=body | {"conversation": [{"question": "Who?", "answer": "Ines"}]})
    assert told.status_code == 200
    assert {**told.json(), "timings_ms": 0} == {**plain, "timings_ms": 0}
    assert plain["rewritten"] is None


@pytest.mark.parametrize("stream", [False, True])
def test_the_messages_of_openais_call_are_the_conversation(shelf_store: IndexStore, stream: bool) -> None:
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": TURNS[0].question},
        {"role": "assistant", "content": TURNS[0].answer},
        {"role": "user", "content": "x" * 3000},
        {"role": "user", "content": "And where had she hidden it?"},
    ]
    with chatting(rewrites("Where had Ines hidden the good oil?")) as server:
        reader = f"chat:{server.url}@model=parrot"
        settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap", readers=(reader,))
        body = {"model": "lantern", "messages": messages, "reader": reader, "stream": stream}
        with serving(settings) as client:
            response = client.post("/v1/chat/completions", json=body)
        told = server.asked[0].body["messages"][1]["content"]
    assert "Reader: Who kept the lighthouse at Quill Point?\nAnswer: Old Ines\n" in told
    assert "Be brief" not in told
    assert "xxx" not in told
    assert '"rewritten":"Where had Ines' in response.text.replace('": "', '":"')


# The limit


QUESTIONS = [
    *shelf.QUESTIONS,
    ("lantern", "Did Captain Thorne thank her?"),
    ("lantern", "Why did Tobias go back on foot?"),
    ("lantern", "Describe Captain Thorne."),
    ("lantern", "Compare Ines and Captain Thorne."),
    ("lantern", "Summarise chapter 3."),
    ("lantern", "Summarise The Bill."),
    ("lantern", "Summarise the story so far."),
    ("lantern", "Summarise this chapter."),
    ("well", "Summarise the book."),
    ("clock", "Recap"),
]


@pytest.mark.parametrize("chars", [None, 300])
@pytest.mark.parametrize("with_turns", [False, True])
def test_a_model_is_never_shown_what_lies_behind_the_limit_whatever_is_asked(
    shelf_store: IndexStore, chars: int | None, with_turns: bool
) -> None:
    turns = (Turn("Who came?", "Gallus the locksmith, Captain Thorne and the young jackdaws"),)
    with asking(shelf_store, parrot, chars) as (ask, server):
        for book, question in QUESTIONS:
            text, limit = shelf.STORIES[book][1], MOST[book]
            server.asked.clear()
            cited = ask(question, book, before=limit, conversation=turns if with_turns else ())
            behind = set(re.findall(r"\w+", text[limit:])) - set(re.findall(r"\w+", text[:limit] + question))
            assert server.asked or question in ("Summarise chapter 3.", "Summarise The Bill.")
            for asked in server.asked:
                told = json.dumps(asked.body["messages"][1:], ensure_ascii=False)
                assert behind.isdisjoint({word for word in re.findall(r"\w+", told) if len(word) > 4}), (
                    question
                )
            assert all(passage.end <= limit for passage in cited.passages)
            for place in places(cited) if cited.candidates else ():
                assert place.end <= limit
                assert place.sentence_end <= limit
                assert place.chapter is None or place.chapter in text[:limit]


@pytest.mark.parametrize(
    ("said", "leaks"),
    [
        ("ANSWER: Gallus the locksmith will open it.", True),
        ("ANSWER: It is Gallus's key.", True),
        ("ANSWER: Yes, for Gallus comes.\nPASSAGE: 1\nQUOTE: KNOCK", True),
        ("ANSWER: unanswerable before Gallus comes\nPASSAGE: 0", True),
        ("ANSWER: Hale and Odo keep it.\nPASSAGE: 1", False),
        ("ANSWER: However, nobody knows. Meanwhile Odo waits.\nPASSAGE: 1", False),
        ("ANSWER: The small grey woman gave it to Hale's husband.\nPASSAGE: 1", False),
    ],
)
def test_what_a_model_knows_by_itself_is_kept_back(shelf_store: IndexStore, said: str, leaks: bool) -> None:
    with asking(shelf_store, says(said)) as (ask, _):
        cited = ask("Who will open the lock?", "well", before="75%")
        assert (cited.note == LEAKED) is leaks
        assert (cited.candidates == ()) is leaks
        assert ("Gallus" in repr(cited)) is False
        assert ask("Who will open the lock?", "well").note != LEAKED  # who has read all of it may be told


ROSE = "Old Hale rose and hoped that Odo would go with good grace, frank as he was. “May I?” he said."


@pytest.mark.parametrize(
    ("said", "leaks"),
    [
        ("It was Rose who stole the key.", True),
        ("It was Hope, then.", True),
        ("The thief is Grace.", True),
        ("He asked Mr. Frank for it.", True),
        ("Rose stole it.", False),  # which cannot be told from “rose”
        ("Good! Grace is all that he hoped for.", False),
        ("It was Old Hale and Odo, Mr. Hale said.", False),
        ("It was Hale's, or Captain Odo's.", False),
        ("Old Hale did this:\n- Rose early\n- Hoped, and rose again", False),
        ("Odo:\n1) Hoped for it\n2) Rose", False),
        ("Hale said: “Grace is all.”", False),
        ("Hale said: “All is for Grace.”", True),
    ],
)
def test_a_word_that_is_read_without_a_capital_is_no_name_within_a_sentence(said: str, leaks: bool) -> None:
    heard: list[str] = []
    assert SpoilerGuard("Who stole it?", ROSE).leaks(said) is leaks
    hear = SpoilerGuard("Who stole it?", ROSE).guarded(heard.append)
    for word in re.split(r"(?<=\s)", said):
        hear(f"{word} ")
    assert ("".join(heard).split() != said.split()) is leaks


@pytest.mark.parametrize(
    "question", ["Summarise chapter 3.", "Summarise chapter 9.", "Summarise chapter XX."]
)
def test_a_chapter_behind_the_limit_is_as_one_that_is_not(shelf_store: IndexStore, question: str) -> None:
    with asking(shelf_store, parrot) as (ask, server):
        cited = ask(question, before=BILL)
    assert (cited.text, cited.note, cited.verdict) == ("", NO_SUCH_CHAPTER, "none")
    assert cited.passages == ()
    assert server.asked == []


@pytest.mark.parametrize(
    ("books", "before", "leaks"),
    [
        ("lantern,well", {"well": "75%"}, True),
        ("lantern,well", {"well": 0}, True),
        ("well,lantern", "75%", True),
        ("*", {"well": 0, "*": "100%"}, True),
        ("*", 10, True),
        ("lantern,well", {"well": "100%", "*": 10**6}, False),
        ("lantern,well", None, False),
    ],
)
def test_a_model_tells_nothing_of_a_book_that_is_asked_too_and_of_which_nothing_is_found(
    shelf_store: IndexStore, books: str, before: Any, leaks: bool
) -> None:
    with asking(shelf_store, says("ANSWER: The key was made for Gallus.\nPASSAGE: 1")) as (_, server):
        heard: list[str] = []
        asked = Ask(
            books,
            "Who kept the lighthouse at Quill Point?",
            k=1,
            retriever="bm25",
            reader=f"chat:{server.url}@model=parrot",
            before=before,
        )
        [cited] = BookQA(shelf_store).answer_many([asked], on_words=[heard.append])
    assert {passage.book_id for passage in cited.passages} == {"lantern"} or before == 10
    assert ("Gallus" not in repr(cited) + "".join(heard)) is leaks
    assert (cited.note == LEAKED) is (leaks and bool(cited.passages))


def test_what_stands_on_the_cover_of_a_book_is_no_leak(shelf_store: IndexStore) -> None:
    with asking(shelf_store, says("ANSWER: It is The Lamp at Quill Point.\nPASSAGE: 1")) as (ask, _):
        cited = ask("Which book is about oil?", "lantern,well", k=1, before={"lantern": 320, "well": 0})
    assert cited.text == "It is The Lamp at Quill Point."


@pytest.mark.parametrize(("name", "model"), [("seq2seq", "tiny_t5"), ("write", "tiny_write")])
def test_what_any_model_writes_freely_is_kept_back_where_it_names_what_is_not_read(
    shelf_store: IndexStore, request: pytest.FixtureRequest, name: str, model: str
) -> None:
    reader = f"{name}:{request.getfixturevalue(model)}"
    asked = Ask("well", "Where is the key?", retriever="bm25", reader=reader)
    limited, whole = BookQA(shelf_store).answer_many([replace(asked, before="75%"), asked])
    assert (limited.text, limited.candidates, limited.note) == ("", (), LEAKED)
    assert whole.text
    assert whole.text not in shelf.WELL


def test_spans_are_told_where_what_is_written_beside_them_is_kept_back(
    shelf_store: IndexStore, tiny_write: Path
) -> None:
    asked = Ask("well", "Where is the key?", retriever="bm25", reader=f"auto-write:{tiny_write}")
    limited, whole = BookQA(shelf_store).answer_many([replace(asked, before="75%"), asked])
    assert whole.text not in shelf.WELL
    assert limited.candidates
    assert all(one.text in shelf.WELL for one in limited.candidates)


def test_no_word_of_a_leak_is_heard(shelf_store: IndexStore) -> None:
    def knows(handler: Handler, asked: Asked) -> None:
        reply(handler, asked, "ANSWER: The key that Hale kept was made for Gallus, who came.\nPASSAGE: 1")

    with chatting(knows) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap", readers=(reader,))
        body = {"book_id": "well", "question": "Whose is the key?", "reader": reader}
        with serving(settings) as client:
            heard = {}
            for before in ("75%", "100%"):
                asked = body | {"before": before}
                with client.stream("POST", "/answer", json=asked, headers=EVENTS) as response:
                    heard[before] = list(events(response))
    words = "".join(one["text"] for name, one in heard["75%"] if name == "words")
    assert words == "The key that Hale kept was made for "
    assert "Gallus" not in json.dumps(heard["75%"])
    assert heard["75%"][-1][1]["note"] == LEAKED
    assert "Gallus" in heard["100%"][-1][1]["answer"]


def test_a_rewritten_question_names_nobody_from_behind_the_limit(shelf_store: IndexStore) -> None:
    turns = (Turn("Who gets the key?", "Gallus, the forty-first stranger"),)
    script = rewrites("Where does Gallus live?")
    with asking(shelf_store, script) as (ask, server):
        cited = ask("Where does he live?", "well", before="75%", conversation=turns)
        assert "Gallus" not in json.dumps([asked.body for asked in server.asked[:1]])
        assert "Gallus" not in repr(cited)
        assert ask("Where does he live?", "well", conversation=turns).rewritten == "Where does Gallus live?"

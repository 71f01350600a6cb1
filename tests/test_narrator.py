"""Who tells a story: told by how it says I, and by whom the others address."""

from __future__ import annotations

from pathlib import Path

import pytest

from answering.book_qa import Ask, BookQA
from answering.narrator import narrator
from indexing.book import Book
from indexing.build import build_book
from indexing.characters import named
from indexing.manifest import BuildSettings
from indexing.store import IndexStore

CALLED = (
    "I had come to the mill at dusk, and I found Hedra Voss at my table. “You are late, Corin,” said Hedra "
    "Voss. I said that I had been delayed. Hedra laughed at me. “Sit down, my dear Corin, and eat.” I did as "
    "I was told, and Hedra Voss watched me. “Corin, where is the horse?” asked Hedra. I told her that I had "
    "sold it. “So, Corin!” cried Hedra Voss. “And the cart, Corin?” Hedra rose from my chair, and I gave her "
    "the key. "
)
STRAIGHT = CALLED.replace("“", '"').replace("”", '"')
NAMELESS = CALLED.replace(", Corin", "").replace(", my dear Corin,", "").replace("Corin, where", "Where")
APOSTROPHES = "‘Corin’s late, and I don’t know why he’s late,’ said Hedra, who’d shut the door on Corin. "
SINGLE = "'I don't care, and I told my sister \"the mill is sold\" when I saw her,' said Hedra.\n\n"
GIVES_NAME = NAMELESS.replace("I had come", "My name is Perran Skewes. I had come")
OUTSIDE = (
    "Corin came to the mill at dusk and found Hedra Voss at the table. “You are late, Corin,” said Hedra "
    "Voss. Corin said that he had been delayed. “I know you, Corin,” said Hedra. Corin sat down and Hedra "
    "watched him. "
)
DIARY = "I rose at dusk, and I shut the mill. I had sold my horse, and nobody asked me for it.\n\n"
PLAY = "HEDRA. I know you, Corin.\n\nCORIN. I have sold my horse, and I am hungry.\n\n"


def told(text: str) -> tuple[bool, str | None] | None:
    found = narrator(text, named(text))
    return None if found is None else (found.somebody, found.person.name if found.person else None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CALLED, (True, "Corin")),
        (STRAIGHT, (True, "Corin")),
        # Speech that goes on in the next paragraph is not closed before it.
        ('"I was there, Hedra, and saw it.\n\n"So it was."\n\n' + STRAIGHT, (True, "Corin")),
        (NAMELESS, (True, None)),
        (GIVES_NAME, (True, "Perran Skewes")),
        (GIVES_NAME.replace("My name is", "Call me"), (True, "Perran Skewes")),
        (NAMELESS + "And then they would call me Wenna Trew. ", (True, None)),
        # What somebody says of his own name, or two do, tells nobody.
        (NAMELESS + "“My name is Perran Skewes,” said the man. ", (True, None)),
        (GIVES_NAME + DIARY + "My name is Wenna Trew. ", (True, None)),
        (OUTSIDE, (False, None)),
        # Speech with an apostrophe is spoken to its end; between straight single quotes it cannot be told.
        (APOSTROPHES, (False, None)),
        (SINGLE, None),
        (PLAY, None),
        (DIARY, (True, None)),
        (PLAY + DIARY.replace("I ", "He "), None),
        ("", None),
    ],
)
def test_who_tells_a_story_says_i_and_is_called_by_name(
    text: str, expected: tuple[bool, str | None] | None
) -> None:
    assert told(3 * text) == expected


@pytest.mark.parametrize(
    ("text", "said", "note"),
    [
        (CALLED, "Corin", "the story says I, and whoever tells it is addressed so"),
        (GIVES_NAME, "Perran Skewes", "the story says I, and whoever tells it gives this name"),
        (NAMELESS, "", "the story says I, and does not tell clearly by what name that person is called"),
        (OUTSIDE, "", "the story is told in the third person, by nobody in it"),
    ],
)
@pytest.mark.parametrize("question", ["Who is the narrator?", "Who tells this story?"])
def test_a_book_says_who_tells_it(
    tmp_path_factory: pytest.TempPathFactory, question: str, text: str, said: str, note: str
) -> None:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(Book("mill", "The Mill", 3 * text, "test"), BuildSettings(words=40), store)
    cited = BookQA(store).answer(Ask("mill", question, retriever="bm25", reader="overlap"))
    assert (cited.text, cited.note) == (said, note)
    assert cited.verdict == ("answer" if said else "none")
    assert (cited.evidence is None) == (not said)


@pytest.mark.parametrize(
    "question",
    ["What point of view is the story told from?", "Is it told in the first person?", "the point of view"],
)
@pytest.mark.parametrize(
    ("text", "person"), [(CALLED, "first person"), (NAMELESS, "first person"), (OUTSIDE, "third person")]
)
def test_the_point_of_view_goes_by_who_says_i(tmp_path: Path, text: str, person: str, question: str) -> None:
    store = IndexStore(tmp_path)
    build_book(Book("mill", "The Mill", 3 * text, "test"), BuildSettings(words=40), store)
    cited = BookQA(store).answer(Ask("mill", question, retriever="bm25", reader="overlap"))
    assert (cited.text, cited.verdict) == (person, "answer")

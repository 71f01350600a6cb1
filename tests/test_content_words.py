"""What a question is about that its text has in no form is told, if that is most of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answering.ask import Ask
from answering.book_qa import BookQA
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore
from text.content_words import strange_words
from text.words import words

LONG = 2_000  # characters, from which on a book is looked through for the words of a question
TEXT = """The ferryman married late. He had carried salt and geese across the lake for thirty years, and his
wife carried them after him. In the third winter the ice broke under their sledge."""


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Where did the dragon guard its golden treasure?", ["dragon", "guard", "golden", "treasure"]),
        ("Who forged the ferryman's sword?", ["forged", "sword"]),
        ("When does the ferryman marry?", []),  # married
        ("Who carries the goose?", []),  # one word alone
        ("what broke the sledges in winter", []),
        ("Why did the ferryman's wife not cross the lake by train?", []),  # one of four
        ("How did the ferryman's wife feel after the ice broke?", []),
        ("How old is the narrator at the beginning of the story?", []),
        ("What kind of sword does the narrator have?", []),
        ("Who is Dumbledore?", []),  # a name, which is looked for as such
        ("What did he say to her?", []),
        ("", []),
    ],
)
def test_words_are_missed_where_they_are_half_of_what_is_asked(question: str, missing: list[str]) -> None:
    assert strange_words(question, TEXT) == missing


def test_a_word_is_not_there_where_it_is_but_a_part_of_another() -> None:
    assert strange_words("Who had art and ice?", "the party had a price") == ["art", "ice"]
    assert strange_words("Who had art and ice?", "the party had a price for art and ice") == []


@given(st.text(max_size=80), st.text(max_size=80))
def test_what_is_missed_is_asked_and_not_in_the_text(question: str, text: str) -> None:
    missing = strange_words(question, text)
    assert set(missing) <= set(words(question))
    assert not set(missing) & set(words(text))
    assert strange_words(question, f"{text} {question.lower()}") == []


def test_a_question_about_other_things_than_the_book_is_doubted_and_says_so(
    store_of_long: IndexStore,
) -> None:
    qa = BookQA(store_of_long)

    def ask(question: str, book: str = "long", before: str | None = None) -> Ask:
        return Ask(book, question, retriever="bm25", reader="overlap", before=before)

    other = qa.answer(ask("Who forged the ferryman's sword?"))
    assert other.note == "the book never mentions forged or sword"
    assert other.confidence <= 0.2
    assert qa.answer(ask("When does the ferryman marry?")).note is None
    # A page may answer in words of its own.
    assert qa.answer(ask("Who forged the ferryman's sword?", book="short")).note is None
    # What has not been read is not looked at.
    assert qa.answer(ask("What did the lanterns and bells announce?")).note is None
    limited = qa.answer(ask("What did the lanterns and bells announce?", before=str(LONG + 10)))
    assert limited.note == "what has been read of the book never mentions lanterns or bells or announce"


@pytest.fixture
def store_of_long(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    whole = "\n\n".join([TEXT] * (LONG // len(TEXT) + 1)) + "\n\nLanterns and bells announced the thaw."
    for id, text in (("long", whole), ("short", TEXT)):
        build_book(Book(id, id, text, source=id), BuildSettings(), store)
    return store

"""Who says what a question quotes, by what stands beside it, and that what is around it alone is searched."""

from __future__ import annotations

import pytest

from answering.book_qa import Ask, BookQA
from answering.citing import CitedAnswer
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from text.quotations import place_once, quotation
from text.speech import speaker

PARAGRAPHS = (
    "“The kiln is cold,” said Wenna, “and the boat is late.” She sat down.",
    "Old Brock shook his head. “No boat has ever been late but once.”",
    "“What shall we do with the clay?” he asked.",
    "The ferryman answered from the door, “You shall have your clay by noon.” Nobody believed him.",
    "“Then I shall wait for it,” Mrs. Pask replied.",
    'Jory cried out: "The river is rising again!" and ran. "Come and look at it, all of you!"',
    "“I have heard that before,” said the little man quickly.",
)
TEXT = "\n\n".join(
    (*PARAGRAPHS, "The wheel turned on and on until the evening, and the lamps were lit. " * 30)
)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    build_book(Book("kiln", "The Kiln", TEXT, "test"), BuildSettings(words=40), store)
    return BookQA(store)


def answer(qa: BookQA, question: str, **more: object) -> CitedAnswer:
    return qa.answer(Ask("kiln", question, retriever="bm25", reader="overlap", **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("paragraph", "quoted", "who"),
    [
        (0, "The kiln is cold", "Wenna"),
        (0, "the boat is late", "Wenna"),
        (1, "No boat has ever been late", None),
        (2, "What shall we do", None),
        (3, "You shall have your clay", "The ferryman"),
        (4, "Then I shall wait", "Mrs. Pask"),
        (5, "The river is rising", "Jory"),
        (5, "Come and look at it", "Jory"),
        (6, "I have heard that", "the little man"),
        (0, "She sat down", None),
    ],
)
def test_the_speaker_is_named_beside_the_speech_or_not(paragraph: int, quoted: str, who: str | None) -> None:
    text = PARAGRAPHS[paragraph]
    start = text.index(quoted)
    place = speaker(text, start, start + len(quoted))
    assert (None if place is None else text[slice(*place)]) == who


@pytest.mark.parametrize(
    ("question", "who"),
    [
        ('Who says "The kiln is cold"?', "Wenna"),
        ("Who said 'You shall have your clay by noon'?", "The ferryman"),
        ("who speaks the words “the river is rising again!”", "Jory"),
        ('Which character says: "Then I shall wait for it" in the book?', "Mrs. Pask"),
    ],
)
def test_whoever_is_said_to_speak_is_cited(qa: BookQA, question: str, who: str) -> None:
    cited = answer(qa, question)
    assert (cited.text, cited.verdict) == (who, "answer")
    assert cited.evidence is not None
    assert TEXT[cited.evidence.start : cited.evidence.end] == who


def test_nobody_is_told_who_speaks_later(qa: BookQA) -> None:
    cited = answer(qa, 'Who says "the river is rising again"?', before=TEXT.index("The ferryman"))
    assert cited.text != "Jory"


def test_what_stands_around_a_quotation_is_searched_alone(qa: BookQA) -> None:
    cited = answer(qa, 'What is wanted after somebody asks "What shall we do with the clay?"')
    assert cited.passages
    assert all(one.start < len("\n\n".join(PARAGRAPHS)) + 400 for one in cited.passages)
    for said in (PARAGRAPHS[1], PARAGRAPHS[3]):  # before it and behind it
        middle = TEXT.index(said) + len(said) // 2
        assert any(one.start <= middle < one.end for one in cited.passages)


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ('Who says "The kiln is cold"?', "The kiln is cold"),
        ("What is 'No boat has ever' about?", "No boat has ever"),
        ('Who is "the ferryman"?', None),  # a name
        ('Who says "the lamps were lit."?', None),  # in many places
        ('Who says "the kiln is hot today"?', None),
        ("Who says that the kiln is cold?", None),
        ("It's Wenna's boat that's late, isn't it?", None),
    ],
)
def test_a_quotation_is_found_where_it_is_once(question: str, found: str | None) -> None:
    quoted = quotation(question)
    place = None if quoted is None else place_once(quoted, TEXT)
    assert (None if place is None else TEXT[slice(*place)]) == found

"""What does NAME do for a living?: told by the trades that are named beside them, in all of a book."""

from __future__ import annotations

import pytest

from answering.book_qa import Ask, BookQA
from answering.citing import CitedAnswer
from answering.occupations import occupation_asked
from indexing.book import Book
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore

FILLER = "The rain fell on the slates, and the barges waited below the lock until the water was high enough. "
SCENES = (
    "Orla Pell, the glover, came down the stair. “Good morning, Orla,” said Mr. Mason the baker. Orla said "
    "that she had seen a judge. Mr. Mason laughed. Inspector Dunn stood in the door, for he was late. ",
    "Mr. Mason was a baker, as his father had been. “Bread,” said Mr. Mason, “is bread.” The sailor and the "
    "painter went by. Inspector Dunn asked for two loaves. Orla said nothing. Tibb said that it was late. ",
    "A judge and a sailor sat below the lock. Orla Pell was a weaver now, and a good weaver. The weaver Orla "
    "Pell had a loom of her own. “I am,” said Orla. Inspector Dunn wrote it down. Tibb laughed. ",
)
STORY = "\n\n".join(scene + FILLER * 80 for scene in SCENES)


@pytest.fixture(scope="module")
def qa(tmp_path_factory: pytest.TempPathFactory) -> BookQA:
    store = IndexStore(tmp_path_factory.mktemp("store"))
    for id, text in (("lock", STORY), ("short", "\n\n".join(SCENES))):
        build_book(Book(id, "Below the Lock", text, f"{id}.txt"), BuildSettings(words=60), store)
    return BookQA(store)


def answer(qa: BookQA, question: str, book: str = "lock", before: int | None = None) -> CitedAnswer:
    return qa.answer(Ask(book, question, retriever="bm25", reader="overlap", before=before, n_best=5))


def counted(cited: CitedAnswer) -> bool:
    return cited.note is not None and cited.note.endswith("counted, not read")


@pytest.mark.parametrize(
    ("question", "whom"),
    [
        ("What is Orla's profession?", "Orla"),
        ("What was Mr. Mason’s job in the book?", "Mr. Mason"),
        ("What is the occupation of Orla Pell?", "Orla Pell"),
        ("What does Orla do for a living?", "Orla"),
        ("What kind of work did Orla do?", "Orla"),
        ("How does Orla earn her living?", "Orla"),
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
    assert cited.evidence is None or cited.evidence.end <= limit


@pytest.mark.parametrize("question", ["What is Zora's profession?", "What is Tibb's job?"])
def test_what_is_not_counted_is_left_to_the_reader(qa: BookQA, question: str) -> None:
    assert not counted(answer(qa, question, "lock" if "Zora" in question else "short"))

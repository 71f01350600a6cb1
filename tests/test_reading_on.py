"""An answer that a passage cuts is read again with the rest of its sentence, and no further."""

from __future__ import annotations

from pathlib import Path

import pytest

from answering.book_qa import Ask, BookQA, CitedAnswer
from answering.reading_on import LONGEST_REST
from indexing.book import Book, Chapter
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore

SIZE = 20  # words of a passage
ASKED = "Where did the cooper bury the copper kettle of the widow Tamsin?"
BURIED = "The cooper buried the copper kettle of the widow Tamsin under the third oak behind the tannery."
FILLER = "Rain fell on the roofs and nobody went out."


def answer(
    store: IndexStore,
    encoder: Path,
    text: str,
    before: int | None = None,
    asked: str = ASKED,
    chapters: tuple[Chapter, ...] = (),
) -> CitedAnswer:
    settings = BuildSettings(words=SIZE, encoder=str(encoder))
    build_book(Book("kettle", "The Kettle", text, "kettle.txt", chapters), settings, store)
    return BookQA(store).answer(Ask("kettle", asked, k=9, retriever="bm25", reader="overlap", before=before))


def told_from_word(number: int) -> str:
    """A text in which the sentence that answers begins with the word of that number, from 0."""
    filler = FILLER.split()
    return " ".join([*(filler * 5)[: number - 1], "out.", BURIED, *filler * 4])


@pytest.mark.parametrize("number", range(1, 2 * SIZE))
def test_the_answer_is_the_whole_sentence_wherever_passages_end(
    tiny_bert: Path, tmp_path: Path, number: int
) -> None:
    text = told_from_word(number)
    cited = answer(IndexStore(tmp_path), tiny_bert, text)
    assert cited.text == BURIED
    assert cited.evidence is not None
    assert text[cited.evidence.start : cited.evidence.end] == BURIED
    read = [text[one.start : one.end] for one in cited.passages]
    assert any(BURIED in one for one in read)
    assert sum(len(one.split()) for one in read) < len(text.split()) + len(BURIED.split())


def test_nothing_is_read_that_may_not_be_read_yet(tiny_bert: Path, tmp_path: Path) -> None:
    text = told_from_word(SIZE - 10)
    third = text.index("third")
    for limit in (third, third + 3):  # a word is not read in part
        cited = answer(IndexStore(tmp_path), tiny_bert, text, limit)
        assert cited.text == text[text.index(BURIED) : third].rstrip()
        assert max(one.end for one in cited.passages) <= limit


def test_of_a_part_of_the_book_nothing_behind_it_is_read(tiny_bert: Path, tmp_path: Path) -> None:
    heading = "CHAPTER III"
    text = f"CHAPTER I\n{FILLER}\n\nCHAPTER II\n{BURIED[:-1]}, and then\n{heading}\nthe duke dug it up."
    starts = [text.index("CHAPTER I\n"), text.index("CHAPTER II\n"), text.index(heading), len(text)]
    chapters = tuple(
        Chapter(f"CHAPTER {number}", start, end)
        for number, start, end in zip(("I", "II", "III"), starts, starts[1:], strict=False)
    )
    cited = answer(
        IndexStore(tmp_path),
        tiny_bert,
        text,
        asked=f"In chapter 2, {ASKED[0].lower()}{ASKED[1:]}",
        chapters=chapters,
    )
    assert cited.evidence is not None
    assert starts[1] <= cited.evidence.start < cited.evidence.end <= starts[2]
    assert cited.text.endswith("and then")


def test_of_a_sentence_without_end_so_many_words_are_read_on(tiny_bert: Path, tmp_path: Path) -> None:
    endless = " ".join(["and then on"] * 200)
    text = told_from_word(SIZE - 10).replace("tannery.", endless)
    cited = answer(IndexStore(tmp_path), tiny_bert, text)
    assert len(cited.text.split()) == 10 + LONGEST_REST

"""Words are searched behind a passage's chapter and what leads to it, and in nothing else."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from indexing.book import Book, Chapter, LeftOut
from indexing.build import BuildSettings, build_book
from indexing.store import IndexStore

WORDS = [f"w{number}" for number in range(1000)]
TEXT = " ".join(WORDS)
SIZE = 130
TITLES = ("The Lantern", "Below Stairs", "At Sea")
STARTS = (137, 400, 790)  # in words, as all places here


def at(word: int) -> int:
    """Where the word of that number starts in the text."""
    return len(" ".join(WORDS[:word])) + (word > 0)


def chapters() -> tuple[Chapter, ...]:
    ends = [*map(at, STARTS[1:]), len(TEXT)]
    return tuple(Chapter(*one) for one in zip(TITLES, map(at, STARTS), ends, strict=True))


@pytest.mark.parametrize("overlap", [0, 30])
@pytest.mark.parametrize("aside", [None, (530, 560)])
@pytest.mark.parametrize("divided", [True, False])
def test_a_passage_is_found_by_its_chapter_and_by_the_words_before_it_there(
    tiny_bert: Path, tmp_path: Path, divided: bool, aside: tuple[int, int] | None, overlap: int
) -> None:
    book = Book("ship", "Ship", TEXT, "ship.txt", chapters() if divided else ())
    if aside is not None:
        book = replace(book, left_out=(LeftOut(at(aside[0]), at(aside[1])),))
    store = IndexStore(tmp_path)
    build_book(book, BuildSettings(words=SIZE, overlap=overlap, encoder=str(tiny_bert)), store)
    index = store.open("ship")
    own = [index.text(one.start, one.end).split() for one in index.passages]
    numbers = [[int(word[1:]) for word in words] for words in own]
    cuts = [0, *(STARTS if divided else ()), *([aside[1]] if aside else ())]
    searched = []
    for passage in numbers:
        begin = max(cut for cut in cuts if cut <= passage[0])
        searched.append({*range(max(begin, passage[0] - SIZE * 2 // 5), passage[0]), *passage})
    for number, word in enumerate(WORDS):
        found = np.flatnonzero(index.sparse.tfidf(word)).tolist()
        assert found == [one for one, words in enumerate(searched) if number in words], word
        # What one passage says itself is found in it before the next, if that is no shorter.
        scores = index.sparse.bm25(word)
        for i, (passage, after) in enumerate(pairwise(numbers)):
            if number in passage and number not in after and len(after) >= len(passage):
                assert scores[i] > scores[i + 1], word
    for title, start, end in zip(TITLES, STARTS, [*STARTS[1:], len(WORDS)], strict=True):
        found = np.flatnonzero(index.sparse.bm25(title.split()[-1])).tolist()
        begun = [one for one, passage in enumerate(numbers) if start <= passage[0] < end]
        assert found == (begun if divided else [])

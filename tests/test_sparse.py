"""The stored weights are those of scikit-learn and rank-bm25, and a question finds its words."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from novels import novel, questions
from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]
from sklearn.feature_extraction.text import (  # type: ignore[import-untyped]
    ENGLISH_STOP_WORDS,
    TfidfVectorizer,
)

from indexing.errors import IndexMismatch
from indexing.passages import split
from indexing.sparse import SparseIndex, sparse_arrays
from text.stop_words import STOP_WORDS
from text.words import words


def opened(texts: Sequence[str]) -> SparseIndex:
    arrays = sparse_arrays(texts)
    return SparseIndex(arrays["vocabulary"], arrays["terms"], arrays["postings"], len(texts), IndexMismatch)


def passages_of(text: str, size: int = 200) -> list[str]:
    return [text[p.start : p.end] for p in split(text, size)]


@pytest.mark.parametrize(
    ("length", "size", "seed"), [(40_000, 200, 1), (3_000, 50, 2), (450, 200, 3), (90, 100, 4)]
)
def test_bm25_is_that_of_rank_bm25(length: int, size: int, seed: int) -> None:
    book = novel(words=length, seed=seed)
    texts = passages_of(book.text, size)
    okapi = BM25Okapi([words(text) for text in texts])
    sparse = opened(texts)
    for question in questions(book, 20):
        np.testing.assert_allclose(sparse.bm25(question), okapi.get_scores(words(question)), atol=1e-5)


@pytest.mark.data
def test_bm25_is_that_of_rank_bm25_on_three_books(data_folder: Path) -> None:
    stories = sorted((data_folder / "narrativeqa" / "tmp").glob("*.content"))[:3]
    assert len(stories) == 3
    for story in stories:
        text = story.read_text(encoding="utf-8", errors="replace")
        texts = passages_of(text)
        okapi = BM25Okapi([words(passage) for passage in texts])
        sparse = opened(texts)
        for place in range(0, len(text) - 200, len(text) // 20):
            question = text[place : place + 80]
            np.testing.assert_allclose(sparse.bm25(question), okapi.get_scores(words(question)), atol=1e-5)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_tfidf_is_the_cosine_of_scikit_learns_vectors(seed: int) -> None:
    book = novel(words=5_000, seed=seed)
    texts = passages_of(book.text)
    vectorizer = TfidfVectorizer(analyzer=words, sublinear_tf=True)
    matrix = vectorizer.fit_transform(texts)
    sparse = opened(texts)
    for question in questions(book, 20):
        cosine = (matrix @ vectorizer.transform([question]).T).toarray()[:, 0]
        np.testing.assert_allclose(sparse.tfidf(question), cosine, atol=1e-6)


def test_a_book_is_weighed_and_retold_without_scikit_learn() -> None:
    code = (
        "import sys; from answering.recaps import telling_sentences; "
        "from indexing.sparse import sparse_arrays; "
        "text = 'Odo rowed over the dark lake to the mill. Berta lit the lamp in the old tower.'; "
        "sparse_arrays([text]); assert telling_sentences(text, 0, 2); assert 'sklearn' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True)


def test_stop_words_are_those_of_scikit_learn() -> None:
    assert STOP_WORDS == ENGLISH_STOP_WORDS


def test_words_that_begin_alike_are_told_apart() -> None:
    family = ["understand", "understandable", "understanding", "understands", "underst", "understa"]
    sparse = opened([*family, "nothing else"])
    for number, word in enumerate(family):
        assert sparse.tfidf(word).argmax() == number
        assert np.count_nonzero(sparse.tfidf(word)) == 1


@pytest.mark.parametrize("word", ["\u00e9t\u00e9", "\u043c\u043e\u0440\u0435", "\u6d77\u6d77\u6d77\u6d77"])
def test_words_of_any_script_are_found(word: str) -> None:
    sparse = opened(["one two", f"three {word} four", "five", "six", "seven"])
    assert sparse.bm25(word).argmax() == 1
    assert sparse.tfidf(word).argmax() == 1


@pytest.mark.parametrize("question", ["", "?!", "zzyzx qwerty"])
def test_a_question_without_known_words_scores_nothing(question: str) -> None:
    sparse = opened(["one two", "three"])
    assert sparse.bm25(question).tolist() == [0, 0]
    assert sparse.tfidf(question).tolist() == [0, 0]


def test_passages_without_words_score_nothing() -> None:
    sparse = opened(["* * *", "..."])
    assert sparse.bm25("anything").tolist() == [0, 0]
    assert sparse.tfidf("anything").tolist() == [0, 0]


def test_damaged_postings_are_refused() -> None:
    arrays = sparse_arrays(["one two", "three"])
    for name, part, wrong in (("postings", "passage", 7), ("terms", 2, 9)):
        damaged = {name: array.copy() for name, array in arrays.items()}
        damaged[name][part].fill(wrong)
        sparse = SparseIndex(damaged["vocabulary"], damaged["terms"], damaged["postings"], 2, IndexMismatch)
        with pytest.raises(IndexMismatch):
            sparse.bm25("one")

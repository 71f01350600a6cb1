"""Windows cover their passages; a passage scores as its best window, whatever else is asked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from novels import novel

from indexing.errors import IndexMismatch
from indexing.passages import split
from indexing.vectors import DenseIndex, faiss_module, flat_index, windows

RANDOM = np.random.default_rng(7)


def vectors(count: int, width: int = 48) -> Any:
    raw = RANDOM.normal(size=(count, width)).astype(np.float32)
    return raw / np.linalg.norm(raw, axis=1, keepdims=True)


def dense(stored: np.ndarray, begins: list[int]) -> DenseIndex:
    file = faiss_module().serialize_index(flat_index(stored))
    return DenseIndex(file, np.array(begins, dtype="<i4"), stored.shape[1], IndexMismatch)


def test_a_passage_of_200_words_has_windows_0_60_and_120() -> None:
    text = " ".join(f"w{number}" for number in range(250))
    found, begins = windows(text, split(text))
    spans = [(window.split()[0], window.split()[-1]) for window in found]
    assert spans == [("w0", "w79"), ("w60", "w139"), ("w120", "w199"), ("w200", "w249")]
    assert begins.tolist() == [0, 3, 4]


@pytest.mark.parametrize("size", [1, 80, 81, 140, 200, 333])
def test_every_word_of_a_passage_lies_in_one_of_its_windows(size: int) -> None:
    text = novel(words=1000).text
    passages = split(text, size)
    found, begins = windows(text, passages)
    for passage, first, last in zip(passages, begins[:-1], begins[1:], strict=True):
        inside = text[passage.start : passage.end].split()
        covered: list[str] = []
        for number, window in enumerate(found[first:last]):
            covered[number * 60 :] = window.split()
        assert covered == inside


def test_a_passage_scores_as_its_best_window() -> None:
    stored, asked = vectors(7), vectors(3)
    products = asked @ stored.T
    wanted = np.stack([products[:, 0:3].max(1), products[:, 3:4].max(1), products[:, 4:7].max(1)], axis=1)
    np.testing.assert_allclose(dense(stored, [0, 3, 4, 7]).scores(asked), wanted, atol=1e-6)


def test_the_score_of_a_question_does_not_depend_on_what_else_is_asked() -> None:
    index = dense(vectors(60), list(range(0, 61, 3)))
    asked = vectors(50)
    together = index.scores(asked)
    for number, question in enumerate(asked):
        assert np.array_equal(index.scores(question[None])[0], together[number])


def test_no_question_has_no_scores() -> None:
    assert dense(vectors(6), [0, 3, 6]).scores(vectors(0)).shape == (0, 2)


def test_vectors_that_are_not_the_windows_are_refused() -> None:
    with pytest.raises(IndexMismatch):
        dense(vectors(6), [0, 3, 5])
    broken = vectors(6)
    broken[2] = np.nan
    with pytest.raises(IndexMismatch):
        dense(broken, [0, 3, 6]).scores(vectors(1))

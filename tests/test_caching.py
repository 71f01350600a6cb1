"""The cache of answers: the same answer, for the same index, in bounded room."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
import shelf

from answering.ask import Ask, Turn
from answering.book_qa import BookQA, CitedAnswer
from indexing.store import IndexStore
from service.load.caching import AnswerCache

ASKS = [Ask(book, question, retriever="bm25", reader="overlap") for book, question in shelf.QUESTIONS]


@pytest.fixture(scope="module")
def answers(shelf_store: IndexStore) -> list[CitedAnswer]:
    return BookQA(shelf_store).answer_many(ASKS)


def test_an_answer_comes_back_as_it_was(answers: list[CitedAnswer]) -> None:
    cache = AnswerCache(2**20)
    for ask, cited in zip(ASKS, answers, strict=True):
        assert cache.get(ask, cited.versions["index"]) is None
        cache.put(ask, cited)
        assert cache.get(ask, cited.versions["index"]) == cited
    assert len(cache) == len(ASKS)


@pytest.mark.parametrize("field", [field.name for field in fields(Ask)])
def test_a_question_asked_in_any_other_way_is_another(field: str, answers: list[CitedAnswer]) -> None:
    cache = AnswerCache(2**20)
    cache.put(ASKS[0], answers[0])
    others: dict[str, Any] = {"k": 4, "n_best": 2, "before": "40%", "conversation": (Turn("Who?", "Ines"),)}
    other = replace(ASKS[0], **{field: others.get(field, "other")})
    assert cache.get(other, answers[0].versions["index"]) is None


def test_an_answer_from_another_index_is_not_given(answers: list[CitedAnswer]) -> None:
    cache = AnswerCache(2**20)
    cache.put(ASKS[0], answers[0])
    assert cache.get(ASKS[0], "0123456789ab") is None


def test_changing_what_came_back_changes_nothing_in_the_cache(answers: list[CitedAnswer]) -> None:
    cache = AnswerCache(2**20)
    cache.put(ASKS[0], answers[0])
    version = answers[0].versions["index"]
    first = cache.get(ASKS[0], version)
    assert first is not None
    first.versions["index"] = "spoilt"
    assert cache.get(ASKS[0], version) == answers[0]


def test_the_answers_used_last_are_kept_in_so_many_bytes(answers: list[CitedAnswer]) -> None:
    whole = AnswerCache(2**20)
    for ask, cited in zip(ASKS, answers, strict=True):
        whole.put(ask, cited)
    cache = AnswerCache(whole.bytes // 2)
    for ask, cited in zip(ASKS, answers, strict=True):
        cache.put(ask, cited)
        assert cache.bytes <= whole.bytes // 2
        assert cache.get(ASKS[0], answers[0].versions["index"]) == answers[0]
    assert 0 < len(cache) < len(ASKS)
    assert cache.get(ASKS[1], answers[1].versions["index"]) is None


def test_a_cache_of_no_bytes_keeps_nothing(answers: list[CitedAnswer]) -> None:
    cache = AnswerCache(0)
    cache.put(ASKS[0], answers[0])
    assert (len(cache), cache.bytes) == (0, 0)


def test_what_a_model_elsewhere_answered_is_not_kept(answers: list[CitedAnswer]) -> None:
    cache = AnswerCache(2**20)
    cache.put(replace(ASKS[0], reader="chat:http://127.0.0.1:1/v1@model=m"), answers[0])
    assert len(cache) == 0

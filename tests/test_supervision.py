"""What reads the questions goes on, whatever fails beside it."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest
from test_batching import ASKS, Watched, with_batcher

from answering.book_qa import CitedAnswer
from indexing.store import IndexStore
from service.load.batching import Batcher, BatchingHooks
from service.load.caching import AnswerCache


@pytest.fixture
def qa(shelf_store: IndexStore) -> Watched:
    return Watched(shelf_store)


class FullDisk(BatchingHooks):
    """Told of anything, it fails, as metrics do that are written to a disk that is full."""

    def queued(self, count: int) -> None:
        raise OSError(28, "No space left on device")


def test_an_answer_that_cannot_be_kept_is_given_all_the_same(
    qa: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dumps(*args: Any) -> bytes:
        raise MemoryError

    monkeypatch.setattr(pickle, "dumps", dumps)

    async def ask(batcher: Batcher) -> list[CitedAnswer]:
        return [(await batcher.answer([qa.task(one)]))[0] for one in ASKS[:2]]

    answers = with_batcher(ask, qa, cache=AnswerCache(2**20))
    assert [one.text for one in answers] == [qa.answer(one).text for one in ASKS[:2]]


def test_a_worker_that_fails_between_batches_begins_again_and_loses_no_question(
    qa: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep, failed = asyncio.sleep, False

    async def failing_once(seconds: float) -> None:
        nonlocal failed
        if not failed:
            failed = True
            raise OSError("what nobody thought of")
        await sleep(seconds)

    async def ask(batcher: Batcher) -> CitedAnswer:
        monkeypatch.setattr(asyncio, "sleep", failing_once)
        return (await batcher.answer([qa.task(ASKS[0])]))[0]

    assert with_batcher(ask, qa).text == qa.answer(ASKS[0]).text
    assert failed


def test_what_fails_when_it_is_told_of_questions_stops_no_answer(qa: Watched) -> None:
    async def ask(batcher: Batcher) -> list[CitedAnswer]:
        answers = [(await batcher.answer([qa.task(one)]))[0] for one in ASKS[:2]]
        assert batcher.trouble is None
        return answers

    answers = with_batcher(ask, qa, hooks=FullDisk())
    assert [one.text for one in answers] == [qa.answer(one).text for one in ASKS[:2]]


def test_a_batch_that_fails_as_none_should_fails_alone(qa: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask(batcher: Batcher) -> CitedAnswer:
        with monkeypatch.context() as broken:
            broken.setattr("service.load.batching.time.time_ns", lambda: 1 // 0)
            with pytest.raises(ZeroDivisionError):
                await batcher.answer([qa.task(ASKS[0])])
        assert batcher.trouble is None
        return (await batcher.answer([qa.task(ASKS[1])]))[0]

    assert with_batcher(ask, qa).text == qa.answer(ASKS[1]).text

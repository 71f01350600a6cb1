"""Questions of many requests in one queue: what is read together, what is refused, what is dropped."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import pytest
import shelf
from hypothesis import given, settings
from hypothesis import strategies as st

from answering.book_qa import Ask, BookQA, CitedAnswer, Searched
from indexing.store import IndexStore
from readers.reading import OnWords
from service.load.batching import Batch, Batcher, BatchingHooks, DeadlinePassed
from service.load.caching import AnswerCache
from service.load.queueing import Overloaded, TaskQueue
from service.load.tasks import ANSWER, SEARCH, BatchKey, Task, make_task, tokens_to_read
from text.errors import StoryQAError

OVERLAP = BatchKey(ANSWER, "bm25", "overlap")
ASKS = [Ask(book, question, retriever="bm25", reader="overlap") for book, question in shelf.QUESTIONS]

Result = TypeVar("Result")


class Watched(BookQA):
    """The real thing, and which questions each batch held; it begins to read when ``gate`` is open."""

    def __init__(self, store: IndexStore) -> None:
        super().__init__(store)
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()

    def answer_many(
        self,
        asks: Sequence[Ask],
        on_found: Callable[[Sequence[Searched]], None] | None = None,
        on_words: Sequence[OnWords | None] = (),
    ) -> list[CitedAnswer]:
        self.batches.append([ask.question for ask in asks])
        assert self.gate.wait(30)
        return super().answer_many(asks, on_found, on_words)

    def task(self, ask: Ask, tokens: int = 100) -> Task:
        """To answer ``ask``, as if it were so much to read."""
        return Task(
            BatchKey(ANSWER, ask.retriever, ask.reader), ask, self.store.manifest(ask.book_id).version, tokens
        )


@pytest.fixture
def qa(shelf_store: IndexStore) -> Watched:
    return Watched(shelf_store)


def with_batcher(work: Callable[[Batcher], Awaitable[Result]], qa: BookQA, **options: Any) -> Result:
    """What ``work`` returns in an event loop of its own, with a batcher that is closed afterwards."""

    async def run() -> Result:
        batcher = Batcher(qa, **options)
        batcher.start()
        # Known to be fast: of what nobody knows the speed of, only a few may wait.
        batcher.queue.record_speed(OVERLAP, tokens=10**6, tasks=10**4, seconds=1)
        try:
            return await work(batcher)
        finally:
            await batcher.close()

    return asyncio.run(asyncio.wait_for(run(), 60))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.005)


def test_questions_that_arrive_together_are_read_in_batches_of_so_many_tokens(qa: Watched) -> None:
    async def ask_all(batcher: Batcher) -> list[str]:
        answers = await asyncio.gather(*(batcher.answer([qa.task(ask)]) for ask in ASKS))
        return [cited.text for [cited] in answers]

    answers = with_batcher(ask_all, qa, wait_s=0.05, tokens=800)
    assert answers == [cited.text for cited in BookQA(qa.store).answer_many(ASKS)]
    assert [len(batch) for batch in qa.batches] == [8, 2]


def test_a_question_larger_than_a_batch_is_read_alone(qa: Watched) -> None:
    async def ask_all(batcher: Batcher) -> object:
        return await batcher.answer([qa.task(ASKS[0], 5000), qa.task(ASKS[1]), qa.task(ASKS[2])])

    with_batcher(ask_all, qa, tokens=800)
    assert [len(batch) for batch in qa.batches] == [1, 2]


@settings(max_examples=50, deadline=None)
@given(
    kinds=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 50)), min_size=1, max_size=40),
    most=st.integers(1, 120),
)
def test_a_batch_is_of_one_lane_in_the_order_of_arrival_and_no_larger_than_it_may_be(
    kinds: list[tuple[str, int]], most: int
) -> None:
    async def take_all() -> list[list[int]]:
        queue = TaskQueue(most=100, longest_wait_s=1e9)
        for reader in "abc":
            queue.record_speed(BatchKey(ANSWER, "bm25", reader), tokens=10**9, tasks=1, seconds=1)
        tasks = [Task(BatchKey(ANSWER, "bm25", reader), ASKS[0], "", tokens) for reader, tokens in kinds]
        entries = [queue.put([task])[0] for task in tasks]
        batches = []
        while len(queue):
            oldest = next(entry for entry in entries if not entry.done.done())
            key, batch = queue.next_batch(most)
            assert key == oldest.task.key
            assert {entry.task.key for entry in batch} == {key}
            assert len(batch) == 1 or sum(entry.task.tokens for entry in batch) <= most
            batches.append([entries.index(entry) for entry in batch])
            for entry in batch:
                entry.done.set_result(None)
        assert all(queue.waiting_tokens(BatchKey(ANSWER, "bm25", reader)) == 0 for reader in "abc")
        return batches

    batches = asyncio.run(take_all())
    assert sorted(number for batch in batches for number in batch) == list(range(len(kinds)))
    for reader in "abc":
        of_lane = [number for batch in batches for number in batch if kinds[number][0] == reader]
        assert of_lane == sorted(of_lane)


def test_a_batch_is_cut_to_what_three_seconds_are_expected_to_do() -> None:
    async def next_batch() -> list[int]:
        queue = TaskQueue(most=1000, longest_wait_s=1e9)
        queue.record_speed(OVERLAP, tokens=1000, tasks=1, seconds=4)
        queue.put([Task(OVERLAP, ASKS[0], "", 100)] * 10)
        return [len(queue.next_batch(10_000)[1]) for _ in range(2)]

    assert asyncio.run(next_batch()) == [7, 3]


def test_searches_and_answers_are_read_apart_and_each_is_right(qa: Watched) -> None:
    extent = qa.check(ASKS[0])

    async def ask(batcher: Batcher) -> tuple[Any, ...]:
        return await asyncio.gather(
            batcher.search([make_task(SEARCH, ASKS[0], extent)]),
            batcher.answer([make_task(ANSWER, ASKS[1], extent)]),
            batcher.search([make_task(SEARCH, ASKS[2], extent)]),
        )

    [first], answers, [last] = with_batcher(ask, qa, wait_s=0.05)
    offline = BookQA(qa.store)
    expected = offline.find([ASKS[0], ASKS[2]])
    for searched, found in zip((first, last), expected, strict=True):
        got, wanted = ([(hit.passage, hit.score) for hit in one.hits] for one in (searched.found, found))
        assert got == wanted
    assert answers[0].text == offline.answer(ASKS[1]).text
    assert qa.batches == [[ASKS[1].question]]


def test_a_question_that_fails_leaves_the_others_of_its_batch_alone(qa: Watched) -> None:
    gone = replace(qa.task(ASKS[1]), ask=replace(ASKS[1], book_id="gone"))

    async def ask_all(batcher: Batcher) -> list[Any]:
        tasks = [qa.task(ASKS[0]), gone, qa.task(ASKS[2])]
        return await asyncio.gather(*(batcher.answer([task]) for task in tasks), return_exceptions=True)

    first, failed, last = with_batcher(ask_all, qa, wait_s=0.05)
    assert "unknown book 'gone'" in str(failed)
    offline = BookQA(qa.store)
    assert [first[0].text, last[0].text] == [offline.answer(ASKS[0]).text, offline.answer(ASKS[2]).text]


def test_more_questions_than_may_wait_are_refused_at_once(qa: Watched) -> None:
    tasks = [qa.task(ask) for ask in ASKS]

    async def ask_too_much(batcher: Batcher) -> int:
        with pytest.raises(Overloaded, match="ask again") as refused:
            await batcher.answer(tasks[:4])
        assert refused.value.retry_after_s >= 1
        return len(await batcher.answer(tasks[:3]))

    assert with_batcher(ask_too_much, qa, most_waiting=3) == 3


def test_nothing_is_let_in_behind_what_will_take_too_long() -> None:
    async def put() -> None:
        queue = TaskQueue(most=1000, longest_wait_s=10)
        task = Task(OVERLAP, ASKS[0], "", 1000)
        queue.record_speed(OVERLAP, tokens=1000, tasks=1, seconds=4)
        for waiting in (0, 4, 8, 12):
            assert queue.wait_s() == pytest.approx(waiting)
            if waiting <= 10:
                queue.put([task])
        with pytest.raises(Overloaded) as refused:
            queue.put([task])
        assert refused.value.retry_after_s == 6
        queue.next_batch(1000)
        assert queue.wait_s() == pytest.approx(12, abs=0.5)  # the batch in hand is waited for as well
        queue.batch_done()
        queue.record_speed(OVERLAP, tokens=1000, tasks=1, seconds=1)
        assert queue.wait_s() < 8
        queue.put([task])

    asyncio.run(put())


def test_however_long_it_takes_one_question_is_let_in_where_none_waits() -> None:
    async def put() -> None:
        queue = TaskQueue(most=10, longest_wait_s=1)
        queue.record_speed(OVERLAP, tokens=1, tasks=1, seconds=100)
        assert queue.put([Task(OVERLAP, ASKS[0], "", 1000)])

    asyncio.run(put())


def test_how_fast_one_retriever_is_says_nothing_of_another(qa: Watched) -> None:
    extent = qa.check(ASKS[0])
    cheap = make_task(SEARCH, ASKS[0], extent)
    reranked = make_task(SEARCH, replace(ASKS[0], retriever="rerank"), extent)

    async def expect() -> None:
        queue = TaskQueue(most=1000, longest_wait_s=10)
        queue.record_speed(reranked.key, tokens=reranked.tokens, tasks=1, seconds=1)
        queue.record_speed(cheap.key, tokens=cheap.tokens, tasks=1, seconds=0.004)
        queue.put([cheap] * 10)
        assert queue.wait_s() == pytest.approx(0.04)
        queue.put([reranked] * 5)
        assert queue.wait_s() == pytest.approx(5.04)

    asyncio.run(expect())


def test_of_what_nobody_knows_the_speed_of_only_a_few_may_wait() -> None:
    async def put() -> None:
        queue = TaskQueue(most=1000, longest_wait_s=100)
        task = Task(OVERLAP, ASKS[0], "", 1000)
        for _ in range(8):
            queue.put([task])
        with pytest.raises(Overloaded) as refused:
            queue.put([task])
        assert refused.value.retry_after_s >= 1
        other = Task(BatchKey(ANSWER, "rerank", "span"), ASKS[0], "", 5000)
        queue.record_speed(other.key, tokens=5000, tasks=1, seconds=2)
        assert queue.wait_s() == pytest.approx(16)  # what is unknown is taken to be as slow as the slowest
        queue.record_speed(OVERLAP, tokens=1000, tasks=1, seconds=0.5)
        assert queue.wait_s() == pytest.approx(4)
        queue.put([task])

    asyncio.run(put())


def test_those_whose_books_are_being_opened_count_as_if_they_waited() -> None:
    async def come() -> None:
        queue = TaskQueue(most=1000, longest_wait_s=10)
        with contextlib.ExitStack() as coming:
            for _ in range(8):
                coming.enter_context(queue.coming([OVERLAP]))
            with pytest.raises(Overloaded), queue.coming([OVERLAP]):
                pass
            coming.enter_context(queue.coming([]))  # what is in the cache needs no room
        queue.record_speed(OVERLAP, tokens=1000, tasks=1, seconds=4)
        with queue.coming([OVERLAP] * 3), pytest.raises(Overloaded), queue.coming([OVERLAP]):
            pass
        queue.record_speed(BatchKey(SEARCH, "bm25", ""), tokens=1, tasks=1, seconds=0.001)
        with contextlib.ExitStack() as coming:
            for _ in range(100):
                coming.enter_context(queue.coming([BatchKey(SEARCH, "bm25", "")]))
        assert queue.wait_s() == 0

    asyncio.run(come())


def test_a_batch_that_is_late_is_waited_for_as_long_again() -> None:
    async def expect() -> None:
        queue = TaskQueue(most=1000, longest_wait_s=1)
        task = Task(OVERLAP, ASKS[0], "", 1000)
        queue.record_speed(OVERLAP, tokens=1000, tasks=1, seconds=0.01)
        queue.put([task])
        queue.next_batch(1000)
        await asyncio.sleep(0.3)
        assert queue.wait_s() >= 0.29
        queue.batch_done()
        assert queue.wait_s() == 0

    asyncio.run(expect())


def test_the_newest_batch_counts_three_tenths_in_what_the_next_is_expected_to_take() -> None:
    async def learn() -> list[float]:
        queue = TaskQueue(most=10, longest_wait_s=1)
        expected = []
        for seconds in (1.0, 2.0, 1.0):
            queue.record_speed(OVERLAP, tokens=1, tasks=1, seconds=seconds)
            expected.append(queue.expected_s([Task(OVERLAP, ASKS[0], "", 1)]))
        return expected

    assert asyncio.run(learn()) == pytest.approx([1.0, 1.3, 1.21])


@pytest.mark.parametrize(("work_s", "retry_s"), [(0, 1), (9, 5), (118, 59), (500, 60)])
def test_whoever_is_refused_is_asked_back_after_half_of_the_work_and_a_minute_at_most(
    work_s: int, retry_s: int
) -> None:
    async def wait() -> int:
        queue = TaskQueue(most=10, longest_wait_s=1e9)
        queue.record_speed(OVERLAP, tokens=1, tasks=1, seconds=1)
        queue.put([Task(OVERLAP, ASKS[0], "", work_s)])
        return queue.retry_after_s()

    assert asyncio.run(wait()) == retry_s


def test_what_would_not_be_done_well_before_its_deadline_is_refused() -> None:
    async def put() -> None:
        queue = TaskQueue(most=1000, longest_wait_s=100, deadline_s=20)
        task = Task(OVERLAP, ASKS[0], "", 1000)
        queue.record_speed(OVERLAP, tokens=1000, tasks=1, seconds=4)
        with pytest.raises(Overloaded, match="fewer at once"):
            queue.put([task] * 6)
        queue.put([task])
        queue.put([task])
        with pytest.raises(Overloaded, match="ask again in 4 s"):
            queue.put([task])

    asyncio.run(put())


def test_what_fails_at_once_says_nothing_of_how_long_an_answer_takes(qa: Watched) -> None:
    gone = replace(qa.task(ASKS[1]), ask=replace(ASKS[1], book_id="gone"))

    async def fail(batcher: Batcher) -> tuple[float, float]:
        before = batcher.queue.expected_s([gone])
        with pytest.raises(StoryQAError, match="unknown book"):
            await batcher.answer([gone])
        return before, batcher.queue.expected_s([gone])

    before, after = with_batcher(fail, qa)
    assert after >= before


def test_at_the_deadline_the_client_is_told_and_what_was_not_begun_is_never_read(qa: Watched) -> None:
    qa.gate.clear()

    async def answer_in_time(batcher: Batcher, asks: Sequence[Ask]) -> list[CitedAnswer]:
        async with batcher.deadline():
            return await batcher.answer([qa.task(ask) for ask in asks])

    async def ask(batcher: Batcher) -> None:
        begun = asyncio.create_task(answer_in_time(batcher, ASKS[:1]))
        await until(lambda: qa.batches != [])
        with pytest.raises(DeadlinePassed, match=r"0\.5 s") as late:
            await answer_in_time(batcher, ASKS[1:])
        assert late.value.retry_after_s >= 1
        with pytest.raises(DeadlinePassed):
            await begun
        qa.gate.set()
        await until(lambda: batcher.queue.wait_s() == 0)
        assert (await answer_in_time(batcher, ASKS[2:3]))[0].text

    with_batcher(ask, qa, deadline_s=0.5, wait_s=0.0)
    assert qa.batches == [[ASKS[0].question], [ASKS[2].question]]


def test_what_nobody_waits_for_any_more_is_never_read_and_makes_room(qa: Watched) -> None:
    qa.gate.clear()

    async def ask(batcher: Batcher) -> None:
        begun = asyncio.create_task(batcher.answer([qa.task(ASKS[0])]))
        await until(lambda: qa.batches != [])
        waiting = asyncio.create_task(batcher.answer([qa.task(ASKS[1]), qa.task(ASKS[2])]))
        await until(lambda: len(batcher.queue) == 2)
        with pytest.raises(Overloaded):
            await batcher.answer([qa.task(ASKS[3])])
        waiting.cancel()
        await asyncio.wait([waiting])
        after = asyncio.create_task(batcher.answer([qa.task(ASKS[3])]))
        await asyncio.sleep(0)
        qa.gate.set()
        await asyncio.gather(begun, after)

    with_batcher(ask, qa, most_waiting=2, wait_s=0.0)
    assert qa.batches == [[ASKS[0].question], [ASKS[3].question]]


def test_closing_finishes_what_was_taken_and_takes_no_more(qa: Watched) -> None:
    qa.gate.clear()
    tasks = [qa.task(ask) for ask in ASKS]

    async def close_early() -> list[str]:
        batcher = Batcher(qa, wait_s=0.0, tokens=100)
        batcher.start()
        batcher.queue.record_speed(OVERLAP, tokens=10**6, tasks=10**4, seconds=1)
        waiting = [asyncio.create_task(batcher.answer([task])) for task in tasks]
        await until(lambda: qa.batches != [])
        closing = asyncio.create_task(batcher.close())
        await asyncio.sleep(0)
        with pytest.raises(Overloaded, match="stopped"):
            await batcher.answer(tasks[:1])
        qa.gate.set()
        answers = await asyncio.gather(*waiting)
        await closing
        return [cited.text for [cited] in answers]

    texts = asyncio.run(asyncio.wait_for(close_early(), 60))
    assert texts == [cited.text for cited in BookQA(qa.store).answer_many(ASKS)]
    assert len(qa.batches) == len(ASKS)


def test_a_watch_is_told_of_every_batch_who_waited_and_what_its_steps_took(qa: Watched) -> None:
    class Notes(BatchingHooks):
        def __init__(self) -> None:
            self.batches: list[Batch] = []
            self.hits: list[bool] = []

        def context(self) -> object:
            return "here"

        def cached(self, hit: bool) -> None:
            self.hits.append(hit)

        def batch(self, batch: Batch) -> None:
            self.batches.append(batch)

    notes = Notes()

    async def ask(batcher: Batcher) -> None:
        tasks = [qa.task(ask) for ask in ASKS]
        await asyncio.gather(*(batcher.answer([task]) for task in tasks))
        await batcher.answer(tasks[:2])

    with_batcher(ask, qa, wait_s=0.05, tokens=500, cache=AnswerCache(10**6), hooks=notes)
    assert [len(batch.waited_s) for batch in notes.batches] == [5, 5]
    for batch in notes.batches:
        assert batch.key == OVERLAP
        assert (batch.tokens, batch.contexts) == (500, ("here",) * 5)
        assert set(batch.timings_ms) == {"search", "read", "cite", "total"}
        assert min(batch.waited_s) >= 0
    assert notes.hits == [False] * 10 + [True] * 2


def test_what_is_to_be_read_grows_with_the_passages_and_is_never_less_than_one_token(
    shelf_store: IndexStore,
) -> None:
    extent = BookQA(shelf_store).check(ASKS[0])
    ask = ASKS[0]
    of_k = [tokens_to_read(ANSWER, replace(ask, k=k), extent) for k in (1, 2, 5)]
    assert of_k == sorted(set(of_k))
    assert tokens_to_read(SEARCH, ask, extent) == 1
    reranked = replace(ask, k=1, retriever="rerank")
    assert tokens_to_read(SEARCH, reranked, extent) == tokens_to_read(ANSWER, reranked, extent) > of_k[2]
    everything = tokens_to_read(ANSWER, replace(ask, k=100), extent)
    assert everything == tokens_to_read(ANSWER, replace(ask, k=50), extent)

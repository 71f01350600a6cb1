"""Questions that arrive together are read in one batch, in the one thread that runs the models."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import logging
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, ParamSpec, TypeVar

from answering.book_qa import BookQA, CitedAnswer, Searched
from service.load.caching import AnswerCache
from service.load.queueing import QueuedTask, TaskQueue
from service.load.tasks import SEARCH, BatchKey, Task
from text.errors import StoryQAError

log = logging.getLogger(__name__)

_RESTART_S = 1.0

Result = TypeVar("Result")
Given = ParamSpec("Given")


class DeadlinePassed(StoryQAError):
    """A request that was not answered in the time it may take; in ``retry_after_s`` it may be."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch that was read: when it began (Unix time, ns), who waited for it and what its steps took."""

    key: BatchKey
    tokens: int
    began_ns: int
    waited_s: tuple[float, ...]
    contexts: tuple[object, ...]
    timings_ms: dict[str, float]


@dataclass(frozen=True, slots=True)
class _Done:
    """An answer or an error per question of a batch, and what they took, waiting for the thread apart."""

    outcomes: list[CitedAnswer | Searched | Exception]
    seconds: float


class BatchingHooks:
    """Called with what happens to questions, in the event loop's thread; these do nothing."""

    def context(self) -> object:
        """Whatever ``Batch.contexts`` is to hold of the request that asks."""
        return None

    def queued(self, count: int) -> None:
        """So many questions wait now."""

    def cached(self, hit: bool) -> None:
        """A question's answer was, or was not, in the cache."""

    def batch(self, batch: Batch) -> None:
        """A batch was read."""


class Batcher:
    """Hands the questions of many requests to one ``BookQA`` in batches, in the order they came.

    A batch is for one retriever and one reader and holds up to ``tokens`` to read, one question at least:
    what arrived within ``wait_s`` of its first question, or while the batch before it was being read. A
    question is dropped where its request is cancelled before its batch begins.
    Everything that may touch a model runs in one thread, so no model is ever entered twice at once.
    Lives in one event loop: ``start`` it there, ``close`` it there.
    """

    def __init__(
        self,
        qa: BookQA,
        *,
        wait_s: float = 0.003,
        tokens: int = 16384,
        most_waiting: int = 1024,
        longest_wait_s: float = 10.0,
        deadline_s: float = 120.0,
        cache: AnswerCache | None = None,
        hooks: BatchingHooks | None = None,
    ) -> None:
        self._qa = qa
        self._wait_s = wait_s
        self._tokens = tokens
        self._deadline_s = deadline_s
        self.cache = AnswerCache(0) if cache is None else cache
        self._hooks = BatchingHooks() if hooks is None else hooks
        self.queue = TaskQueue(most_waiting, longest_wait_s, deadline_s)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="storyqa-models")
        self._worker: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to answer."""
        self._worker = asyncio.create_task(self._work_on())

    @property
    def trouble(self) -> str | None:
        """Why no questions are answered any more, or None."""
        if self._worker is not None and self._worker.done():
            return "no questions are answered any more; start the service again"
        return None

    async def close(self) -> None:
        """Take no more, finish what was taken, and stop."""
        self.queue.close()
        if self._worker is not None:
            await self._worker
        await asyncio.to_thread(self._thread.shutdown)

    async def answer(self, tasks: Sequence[Task]) -> list[CitedAnswer]:
        """The answers, in the order of ``tasks``; raises what the first to fail raised.

        Raises ``Overloaded`` at once where they do not all find room to wait.
        """
        known = [self.cache.get(task.ask, task.version) for task in tasks]
        for one in known:
            self._hooks.cached(one is not None)
        missing = [task for task, one in zip(tasks, known, strict=True) if one is None]
        read = iter(await self._wait_for(missing)) if missing else iter(())
        return [next(read) if one is None else one for one in known]

    async def search(self, tasks: Sequence[Task]) -> list[Searched]:
        """What was found for each of ``tasks``; raises as ``answer`` does."""
        return await self._wait_for(tasks)

    @contextlib.asynccontextmanager
    async def deadline(self) -> AsyncIterator[None]:
        """Cancels what is done within once it takes longer than a request may; raises ``DeadlinePassed``."""
        limit = asyncio.timeout(self._deadline_s)
        try:
            async with limit:
                yield
        except TimeoutError:
            if not limit.expired():
                raise
            raise DeadlinePassed(
                f"not answered within {self._deadline_s:g} s, the most a request may take; "
                "ask again later, or fewer questions at once",
                self.queue.retry_after_s(),
            ) from None

    async def measure(self, tasks: Sequence[Task]) -> None:
        """Do ``tasks``, all of one key, one after another; then it is known how fast the last of them was.

        Those before it load what is loaded once.
        """
        for task in tasks:
            done = await self.run(self._do, task.key, [task])
        self._record_speed(task.key, [task], done)

    async def run(
        self, function: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs
    ) -> Result:
        """Call ``function`` in the thread that runs the models."""
        call = functools.partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _wait_for(self, tasks: Sequence[Task]) -> list[Any]:
        entries = self.queue.put(tasks, self._hooks.context())
        self._note_waiting()
        try:
            return await asyncio.gather(*(entry.done for entry in entries))
        finally:
            self.queue.cancel(entries)
            self._note_waiting()

    async def _work_on(self) -> None:
        """Work until there is no more to come, whatever goes wrong."""
        while True:
            try:
                return await self._work()
            except Exception:
                log.exception("the batches stopped; they go on in %g s", _RESTART_S)
                await asyncio.sleep(_RESTART_S)

    async def _work(self) -> None:
        waited = False  # for the batch before: no need to wait again
        while await self.queue.wait_for_task():
            if not waited and self.queue.waiting_tokens(self.queue.oldest_key()) < self._tokens:
                await asyncio.sleep(self._wait_s)
            if len(self.queue):  # else all have gone meanwhile
                key, entries = self.queue.next_batch(self._tokens)
                try:
                    await self._read(key, entries)
                except Exception as error:  # whatever it is, those who come next must be answered
                    log.exception("a batch failed; the next ones are read all the same")
                    for entry in entries:
                        if not entry.done.done():
                            entry.done.set_exception(error)
            waited = len(self.queue) > 0

    def _note_waiting(self) -> None:
        try:
            self._hooks.queued(len(self.queue))
        except Exception:  # as of a disk that is full
            log.exception("how many questions wait could not be told of")

    async def _read(self, key: BatchKey, entries: Sequence[QueuedTask]) -> None:
        self._note_waiting()
        loop = asyncio.get_running_loop()
        began, began_ns = loop.time(), time.time_ns()
        try:
            done = await self.run(self._do, key, [entry.task for entry in entries])
        finally:
            self.queue.batch_done()
        outcomes = done.outcomes
        tokens = self._record_speed(key, [entry.task for entry in entries], done)
        for entry, outcome in zip(entries, outcomes, strict=True):
            if entry.done.done():
                continue  # given up by the client meanwhile
            if isinstance(outcome, Exception):
                entry.done.set_exception(outcome)
            else:
                entry.done.set_result(outcome)
        timings = [outcome.timings_ms for outcome in outcomes if not isinstance(outcome, Exception)]
        batch = Batch(
            key=key,
            tokens=tokens,
            began_ns=began_ns,
            waited_s=tuple(began - entry.since for entry in entries),
            contexts=tuple(entry.context for entry in entries),
            timings_ms=timings[0] if timings else {},
        )
        try:
            self._hooks.batch(batch)
        except Exception:  # a disk that is full, say, must not end the answering
            log.exception("a batch was read, and could not be told of")
        await self.run(_trim_heap)  # now that the answers are out

    def _record_speed(self, key: BatchKey, tasks: Sequence[Task], done: _Done) -> int:
        """Have what was ``done`` count in what the next will take; returns the tokens of ``tasks``."""
        tokens = sum(task.tokens for task in tasks)
        failed = any(isinstance(outcome, Exception) for outcome in done.outcomes)
        # To fail quickly says nothing of how long it takes to answer.
        if not failed or done.seconds > self.queue.expected_s(tasks):
            self.queue.record_speed(key, tokens=tokens, tasks=len(tasks), seconds=done.seconds)
        return tokens

    def _do(self, key: BatchKey, tasks: Sequence[Task]) -> _Done:
        """In the thread that runs the models."""
        began = time.perf_counter()
        outcomes = self._outcomes(key, tasks)
        return _Done(outcomes, time.perf_counter() - began)

    def _outcomes(self, key: BatchKey, tasks: Sequence[Task]) -> list[CitedAnswer | Searched | Exception]:
        """An answer or an error per question: one that fails must not take the others with it."""
        asks = [task.ask for task in tasks]
        try:
            if key.work == SEARCH:
                return [*self._qa.search_many(asks)]
            hears = [task.on_words for task in tasks]
            answers = self._qa.answer_many(asks, functools.partial(_notify, iter(tasks)), hears)
        except Exception as error:
            if len(asks) == 1:
                return [error]
            log.warning("a batch of %d failed (%s); answering each alone", len(asks), error)
            # Who has heard half of an answer must not hear it again from the beginning.
            unheard = [replace(task, on_words=None) for task in tasks]
            return [outcome for task in unheard for outcome in self._outcomes(key, [task])]
        for ask, cited in zip(asks, answers, strict=True):
            try:
                self.cache.put(ask, cited)  # even where the client has gone: it may well ask again
            except Exception:  # of memory that is short, say: the answer is there all the same
                log.exception("an answer could not be kept")
        return [*answers]


def _notify(tasks: Iterator[Task], searched: Sequence[Searched]) -> None:
    """Call ``on_found`` of the next tasks with what was found for them."""
    for found, task in zip(searched, tasks, strict=False):  # in this order: no task is taken too many
        if task.on_found is not None:
            task.on_found(found)


def _trim_heap() -> None:
    """Have the C library let go of what is free in its heap; some milliseconds.

    glibc would keep it: batches of ever other shapes leave holes between what lives on, and after
    some hundreds of them a service held half as much again as it used. Elsewhere nothing is done.
    """
    with contextlib.suppress(OSError, AttributeError):  # no C library by that name, or another's
        ctypes.CDLL("libc.so.6").malloc_trim(0)

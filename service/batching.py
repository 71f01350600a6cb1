"""Questions that arrive together are read in one batch, in the one thread that runs the models."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ParamSpec, TypeVar

from indexing.errors import StoryQAError
from service.answering import BookQA, CitedAnswer
from service.asking import Ask

log = logging.getLogger(__name__)

Result = TypeVar("Result")
Given = ParamSpec("Given")


class Overloaded(StoryQAError):
    """More questions are waiting than the service is willing to hold."""


@dataclass(frozen=True, slots=True)
class _Waiting:
    ask: Ask
    answered: asyncio.Future[CitedAnswer]


class Batcher:
    """Hands the questions of many requests to one ``BookQA`` in batches, in the order they came.

    A batch is what arrived within ``wait_s`` of its first question, or while the batch before it
    was being answered, ``largest`` questions at most. Everything that may touch a model runs in
    one thread, so no model is ever entered twice at once. Lives in one event loop: ``start`` it
    there, ``close`` it there.
    """

    def __init__(
        self, qa: BookQA, *, wait_s: float = 0.003, largest: int = 32, most_waiting: int = 1024
    ) -> None:
        self._qa = qa
        self._wait_s = wait_s
        self._largest = largest
        self._most_waiting = most_waiting
        self._queue: asyncio.Queue[_Waiting] = asyncio.Queue()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="storyqa-models")
        self._worker: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to answer."""
        self._worker = asyncio.create_task(self._work())

    async def close(self) -> None:
        """Stop after the batch in hand; whatever still waits is cancelled."""
        if self._worker is not None:
            self._worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._worker
        while not self._queue.empty():
            self._queue.get_nowait().answered.cancel()
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)

    async def answer(self, asks: Sequence[Ask]) -> list[CitedAnswer]:
        """The answers to ``asks``, in their order; raises what the first to fail raised.

        Raises ``Overloaded`` at once where they do not all find room to wait.
        """
        if self._queue.qsize() + len(asks) > self._most_waiting:
            raise Overloaded(
                f"{self._queue.qsize():,} questions are waiting already and at most "
                f"{self._most_waiting:,} may; ask again in a few seconds"
            )
        loop = asyncio.get_running_loop()
        waiting = [_Waiting(ask, loop.create_future()) for ask in asks]
        for one in waiting:
            self._queue.put_nowait(one)
        return await asyncio.gather(*(one.answered for one in waiting))

    async def run(
        self, function: Callable[Given, Result], *args: Given.args, **kwargs: Given.kwargs
    ) -> Result:
        """Call ``function`` in the thread that runs the models."""
        call = functools.partial(function, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._thread, call)

    async def _work(self) -> None:
        while True:
            batch = [await self._queue.get()]
            if self._queue.empty():  # else they have waited for the batch before: no need to wait again
                await asyncio.sleep(self._wait_s)
            while len(batch) < self._largest and not self._queue.empty():
                batch.append(self._queue.get_nowait())
            batch = [one for one in batch if not one.answered.done()]
            outcomes = await self.run(self._outcomes, [one.ask for one in batch])
            for one, outcome in zip(batch, outcomes, strict=True):
                if one.answered.done():
                    continue  # given up by the client meanwhile
                if isinstance(outcome, Exception):
                    one.answered.set_exception(outcome)
                else:
                    one.answered.set_result(outcome)

    def _outcomes(self, asks: Sequence[Ask]) -> list[CitedAnswer | Exception]:
        """An answer or an error per question: one that fails must not take the others with it."""
        try:
            return [*self._qa.answer_many(asks)]
        except Exception as error:
            if len(asks) == 1:
                return [error]
            log.warning("a batch of %d failed (%s); answering each alone", len(asks), error)
            return [outcome for ask in asks for outcome in self._outcomes([ask])]

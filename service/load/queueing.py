"""Questions that wait to be read: bounded, by kind of work, cancelled when nobody wants them."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from answering.ask import Ask
from answering.book_qa import Searched
from indexing.manifest import Manifest
from retrieval import retriever_class
from text.errors import StoryQAError

# How much the last batch counts in what the next ones are expected to take.
_NEWEST = 0.3
_LONGEST_RETRY_S = 60
# A batch expected to take longer is cut: on a slow machine it would gain nothing, and who comes next waits.
_LONGEST_BATCH_S = 3.0

ANSWER, SEARCH = "answer", "search"
_CHARACTERS_PER_TOKEN = 4


class Overloaded(StoryQAError):
    """More is waiting than the service is willing to hold; in ``retry_after_s`` there may be room."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class BatchKey(NamedTuple):
    """What may be read in one batch: work of one kind (``ANSWER`` or ``SEARCH``) for one reader."""

    work: str
    reader: str


@dataclass(frozen=True, slots=True)
class Task:
    """A question made ready: what to do, the index ``version`` asked of, and about how much is to be read.

    ``on_found`` is called in the thread that runs the models with what was found for an ``ANSWER``, before
    it is read; more than once where a batch is read again, never where the answer is known.
    """

    key: BatchKey
    ask: Ask
    version: str
    tokens: int
    on_found: Callable[[Searched], None] | None = field(default=None, compare=False)


def make_task(work: str, ask: Ask, manifest: Manifest) -> Task:
    """The ``work`` that ``ask`` is, to the build of ``manifest``; searches share one key."""
    key = BatchKey(ANSWER, ask.reader) if work == ANSWER else BatchKey(SEARCH, "")
    return Task(key, ask, manifest.version, tokens_to_read(work, ask, manifest))


def tokens_to_read(work: str, ask: Ask, manifest: Manifest) -> int:
    """About how many tokens the models will read: the question beside each passage, by their mean length.

    A retriever reads as many as it says. A reader reads ``k`` passages, and those that the retriever read
    are not read twice.
    """
    searched = retriever_class(ask.retriever).passages_read
    passages = min(max(searched, ask.k if work == ANSWER else 0), manifest.counts.passages)
    mean = manifest.counts.characters / max(1, manifest.counts.passages)
    return 1 + round(passages * (mean + len(ask.question)) / _CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True, eq=False)
class QueuedTask:
    """A task in the queue, since when (seconds of the event loop's clock), and whom to tell."""

    task: Task
    since: float
    done: asyncio.Future[Any]
    context: object = None


@dataclass(slots=True)
class _Backlog:
    """The tasks of one key, in the order they came, and how fast they have been going."""

    waiting: OrderedDict[QueuedTask, None] = field(default_factory=OrderedDict)
    tokens: int = 0
    seconds_per_token: float = 0.0  # 0 as long as nothing is known

    @property
    def wait_s(self) -> float:
        return self.tokens * self.seconds_per_token


class TaskQueue:
    """The tasks that wait, in an event loop.

    At most ``most`` wait, and none is let in behind others that will take longer than
    ``longest_wait_s``, as far as the batches so far tell.
    """

    def __init__(self, most: int, longest_wait_s: float) -> None:
        self._most = most
        self._longest_wait_s = longest_wait_s
        self._backlogs: dict[BatchKey, _Backlog] = {}
        self._busy_until = 0.0
        self._arrived = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return sum(len(backlog.waiting) for backlog in self._backlogs.values())

    def waiting_tokens(self, key: BatchKey) -> int:
        """About how much is to be read for ``key``."""
        return self._backlog(key).tokens

    def wait_s(self) -> float:
        """How long one more task would have to wait, the batch in hand included."""
        in_hand = max(0.0, self._busy_until - asyncio.get_running_loop().time())
        return in_hand + sum(backlog.wait_s for backlog in self._backlogs.values())

    def put(self, tasks: Sequence[Task], context: object = None) -> list[QueuedTask]:
        """Let ``tasks`` wait, all or none; raises ``Overloaded`` where there is no room for them."""
        if self._closed:
            raise Overloaded("the service is being stopped; ask again in a few seconds", retry_after_s=2)
        count, wait_s = len(self), self.wait_s()
        if count + len(tasks) > self._most or (count and wait_s > self._longest_wait_s):
            raise Overloaded(
                f"{count:,} questions are waiting already, about {wait_s:.0f} s of work, and at most "
                f"{self._most:,} and {self._longest_wait_s:g} s may; ask again in a few seconds",
                retry_after_s=min(_LONGEST_RETRY_S, max(1, math.ceil(wait_s / 2))),
            )
        loop = asyncio.get_running_loop()
        entries = [QueuedTask(task, loop.time(), loop.create_future(), context) for task in tasks]
        for entry in entries:
            backlog = self._backlog(entry.task.key)
            backlog.waiting[entry] = None
            backlog.tokens += entry.task.tokens
        self._arrived.set()
        return entries

    def cancel(self, entries: Sequence[QueuedTask]) -> None:
        """Nobody waits for these any more; nothing to those that were taken."""
        for entry in entries:
            self._remove(entry)
            entry.done.cancel()

    async def wait_for_task(self) -> bool:
        """Wait until something waits; False once nothing does and nothing will."""
        while not len(self):
            if self._closed:
                return False
            self._arrived.clear()
            await self._arrived.wait()
        return True

    def close(self) -> None:
        """Let nothing in any more."""
        self._closed = True
        self._arrived.set()

    def oldest_key(self) -> BatchKey:
        """The key of the task that has waited longest; there must be one."""
        return min(
            (key for key, backlog in self._backlogs.items() if backlog.waiting),
            key=lambda key: next(iter(self._backlogs[key].waiting)).since,
        )

    def next_batch(self, tokens: int) -> tuple[BatchKey, list[QueuedTask]]:
        """The tasks to read next: of one key, in their order, up to ``tokens`` and one at least.

        Fewer where those would take more than three seconds.
        """
        key = self.oldest_key()
        backlog = self._backlogs[key]
        if backlog.seconds_per_token:
            tokens = min(tokens, int(_LONGEST_BATCH_S / backlog.seconds_per_token))
        batch: list[QueuedTask] = []
        taken = 0
        for entry in list(backlog.waiting):
            if batch and taken + entry.task.tokens > tokens:
                break
            self._remove(entry)
            batch.append(entry)
            taken += entry.task.tokens
        self._busy_until = asyncio.get_running_loop().time() + taken * backlog.seconds_per_token
        return key, batch

    def record_speed(self, key: BatchKey, tokens: int, seconds: float) -> None:
        """A batch of ``tokens`` took so long: what waits under its key is expected to go as fast."""
        backlog = self._backlog(key)
        measured = seconds / max(1, tokens)
        known = backlog.seconds_per_token
        backlog.seconds_per_token = measured if not known else known + _NEWEST * (measured - known)
        self._busy_until = 0.0

    def _backlog(self, key: BatchKey) -> _Backlog:
        return self._backlogs.setdefault(key, _Backlog())

    def _remove(self, entry: QueuedTask) -> None:
        backlog = self._backlog(entry.task.key)
        if entry in backlog.waiting:
            del backlog.waiting[entry]
            backlog.tokens -= entry.task.tokens

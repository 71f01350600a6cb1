"""Questions that wait to be read: bounded, by kind of work, cancelled when nobody wants them."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from service.load.tasks import BatchKey, Task
from text.errors import StoryQAError

# How much the last batch counts in what the next ones are expected to take.
_NEWEST = 0.3
_LONGEST_RETRY_S = 60
# A batch expected to take longer is cut: on a slow machine it would gain nothing, and who comes next waits.
_LONGEST_BATCH_S = 3.0
# So many may wait of a kind of which no batch has been read yet: nobody knows how long they will take.
_MOST_UNMEASURED = 8
# Estimates err, and machines have other work too: what is let in is expected to need no more of the deadline.
_SHARE_OF_DEADLINE = 0.5


class Overloaded(StoryQAError):
    """More is waiting than the service is willing to hold; in ``retry_after_s`` there may be room."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


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
    seconds_per_token: float = 0.0  # 0, as the next, as long as nothing is known
    seconds_per_task: float = 0.0

    @property
    def is_measured(self) -> bool:
        return self.seconds_per_token > 0

    def learn(self, tokens: int, tasks: int, seconds: float) -> None:
        newest = _NEWEST if self.is_measured else 1.0
        self.seconds_per_token += newest * (seconds / tokens - self.seconds_per_token)
        self.seconds_per_task += newest * (seconds / tasks - self.seconds_per_task)


class TaskQueue:
    """The tasks that wait, in an event loop.

    At most ``most`` wait. None is let in behind others that will take longer than ``longest_wait_s``, or
    where it would not be done well before ``deadline_s``, as far as the batches so far tell.
    """

    def __init__(self, most: int, longest_wait_s: float, deadline_s: float = math.inf) -> None:
        self._most = most
        self._longest_wait_s = longest_wait_s
        self._deadline_s = deadline_s
        self._backlogs: dict[BatchKey, _Backlog] = {}
        self._in_hand: tuple[float, float] | None = None  # when it began, and what it is expected to take
        self._coming, self._coming_s = 0, 0.0
        self._arrived = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return sum(len(backlog.waiting) for backlog in self._backlogs.values())

    def waiting_tokens(self, key: BatchKey) -> int:
        """About how much is to be read for ``key``."""
        return self._backlog(key).tokens

    def wait_s(self) -> float:
        """How long one more task would have to wait, the batch in hand included."""
        guess_s = self._slowest_task_s()
        return self._in_hand_s() + sum(
            backlog.tokens * backlog.seconds_per_token
            if backlog.is_measured
            else len(backlog.waiting) * guess_s
            for backlog in self._backlogs.values()
        )

    def expected_s(self, tasks: Sequence[Task]) -> float:
        """How long ``tasks`` will take; each of an unknown kind as long as one of the slowest known."""
        guess_s = self._slowest_task_s()
        backlogs = ((task, self._backlog(task.key)) for task in tasks)
        return sum(
            task.tokens * one.seconds_per_token if one.is_measured else guess_s for task, one in backlogs
        )

    def retry_after_s(self) -> int:
        """When there may be room again, in whole seconds."""
        return min(_LONGEST_RETRY_S, max(1, math.ceil(self.wait_s() / 2)))

    @contextlib.contextmanager
    def coming(self, keys: Sequence[BatchKey]) -> Iterator[None]:
        """Around what makes tasks of ``keys``; raises ``Overloaded`` where they would find no room.

        To know that before their books are opened makes refusing cheap. Those that others are making
        count as if they waited.
        """
        seconds = sum(map(self._usual_s, keys))
        ahead, wait_s = len(self) + self._coming, self.wait_s() + self._coming_s
        too_many = ahead + len(keys) > self._most or (
            ahead >= _MOST_UNMEASURED and not self._slowest_task_s()
        )
        if keys and (too_many or (ahead and wait_s > self._longest_wait_s)):
            raise self._overloaded(ahead, wait_s)
        self._coming += len(keys)
        self._coming_s += seconds
        try:
            yield
        finally:
            self._coming -= len(keys)
            self._coming_s -= seconds

    def put(self, tasks: Sequence[Task], context: object = None) -> list[QueuedTask]:
        """Let ``tasks`` wait, all or none; raises ``Overloaded`` where there is no room for them."""
        if self._closed:
            raise Overloaded("the service is being stopped; ask again in a few seconds", retry_after_s=2)
        self._check_room(tasks)
        loop = asyncio.get_running_loop()
        entries = [QueuedTask(task, loop.time(), loop.create_future(), context) for task in tasks]
        for entry in entries:
            backlog = self._backlog(entry.task.key)
            backlog.waiting[entry] = None
            backlog.tokens += entry.task.tokens
        self._arrived.set()
        return entries

    def _check_room(self, tasks: Sequence[Task]) -> None:
        count, wait_s, own_s = len(self), self.wait_s(), self.expected_s(tasks)
        if len(tasks) > 1 and own_s > self._deadline_s:
            raise Overloaded(
                f"{len(tasks):,} questions take about {own_s:.0f} s here, and a request may take "
                f"{self._deadline_s:g} s; ask fewer at once",
                retry_after_s=_LONGEST_RETRY_S,
            )
        # However long one takes, it is let in where none waits: it could only be refused for ever.
        too_many = count + len(tasks) > self._most
        too_long = count > 0 and (wait_s > self._longest_wait_s or self._is_full_of_unmeasured(tasks))
        too_late = wait_s > 0 and wait_s + own_s > self._deadline_s * _SHARE_OF_DEADLINE
        if too_many or too_long or too_late:
            raise self._overloaded(count, wait_s)

    def _overloaded(self, count: int, wait_s: float) -> Overloaded:
        retry_after_s = self.retry_after_s()
        return Overloaded(
            f"{count:,} questions are waiting already, with what is being read about {wait_s:.0f} s of "
            f"work; ask again in {retry_after_s} s",
            retry_after_s,
        )

    def _is_full_of_unmeasured(self, tasks: Sequence[Task]) -> bool:
        backlogs = [self._backlog(key) for key in {task.key for task in tasks}]
        return any(not one.is_measured and len(one.waiting) >= _MOST_UNMEASURED for one in backlogs)

    def _usual_s(self, key: BatchKey) -> float:
        """What a task of ``key`` takes on average; of an unknown kind as long as one of the slowest known."""
        backlog = self._backlogs.get(key)  # which may hold names that no table has: they get no backlog
        return backlog.seconds_per_task if backlog and backlog.is_measured else self._slowest_task_s()

    def _slowest_task_s(self) -> float:
        return max((backlog.seconds_per_task for backlog in self._backlogs.values()), default=0.0)

    def _in_hand_s(self) -> float:
        """What is left of the batch in hand; one that is late is expected to be as late again."""
        if self._in_hand is None:
            return 0.0
        began, expected_s = self._in_hand
        return abs(began + expected_s - asyncio.get_running_loop().time())

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
        batch: list[QueuedTask] = []
        taken, expected_s = 0, 0.0
        for entry in list(self._backlogs[key].waiting):
            seconds = self.expected_s([entry.task])
            if batch and (taken + entry.task.tokens > tokens or expected_s + seconds > _LONGEST_BATCH_S):
                break
            self._remove(entry)
            batch.append(entry)
            taken += entry.task.tokens
            expected_s += seconds
        self._in_hand = asyncio.get_running_loop().time(), expected_s
        return key, batch

    def batch_done(self) -> None:
        """The batch in hand, if there is one, is done with."""
        self._in_hand = None

    def record_speed(self, key: BatchKey, *, tokens: int, tasks: int, seconds: float) -> None:
        """``tasks`` of ``tokens`` in all took so long: what waits under ``key`` is expected to go as fast."""
        self._backlog(key).learn(max(1, tokens), tasks, seconds)

    def _backlog(self, key: BatchKey) -> _Backlog:
        return self._backlogs.setdefault(key, _Backlog())

    def _remove(self, entry: QueuedTask) -> None:
        backlog = self._backlog(entry.task.key)
        if entry in backlog.waiting:
            del backlog.waiting[entry]
            backlog.tokens -= entry.task.tokens

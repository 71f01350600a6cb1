"""Questions that wait to be read: bounded, in lanes that do not mix, dropped when nobody wants them."""

from __future__ import annotations

import asyncio
import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from answering.ask import Ask
from text.errors import StoryQAError

# How much the last batch counts in what the next ones are expected to take.
_NEWEST = 0.3
_LONGEST_RETRY_S = 60
# A batch expected to take longer is cut: on a slow machine it would gain nothing, and who comes next waits.
_LONGEST_BATCH_S = 3.0

ANSWER, SEARCH = "answer", "search"


class Overloaded(StoryQAError):
    """More is waiting than the service is willing to hold; in ``retry_after_s`` there may be room."""

    def __init__(self, message: str, retry_after_s: int) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


class Lane(NamedTuple):
    """What may be read in one batch: work of one kind (``ANSWER`` or ``SEARCH``) for one reader."""

    work: str
    reader: str


@dataclass(frozen=True, slots=True)
class Task:
    """A question made ready: what to do, the index ``version`` asked of, and about how much is to be read."""

    lane: Lane
    ask: Ask
    version: str
    tokens: int


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """A task in the queue, since when (seconds of the event loop's clock), and whom to tell."""

    task: Task
    since: float
    done: asyncio.Future[Any]
    context: object = None


@dataclass(slots=True)
class _Line:
    """One lane: its tasks in the order they came, and how fast they have been going."""

    waiting: OrderedDict[Waiting, None] = field(default_factory=OrderedDict)
    tokens: int = 0
    seconds_per_token: float = 0.0  # 0 as long as nothing is known

    @property
    def wait_s(self) -> float:
        return self.tokens * self.seconds_per_token


class Queue:
    """The tasks that wait, in an event loop.

    At most ``most`` wait, and none is let in behind others that will take longer than
    ``longest_wait_s``, as far as the batches so far tell.
    """

    def __init__(self, most: int, longest_wait_s: float) -> None:
        self._most = most
        self._longest_wait_s = longest_wait_s
        self._lines: dict[Lane, _Line] = {}
        self._in_hand_until = 0.0
        self._arrived = asyncio.Event()
        self._closed = False

    def __len__(self) -> int:
        return sum(len(line.waiting) for line in self._lines.values())

    def tokens(self, lane: Lane) -> int:
        """About how much is to be read in ``lane``."""
        return self._line(lane).tokens

    def wait_s(self) -> float:
        """How long one more task would have to wait, the batch in hand included."""
        in_hand = max(0.0, self._in_hand_until - asyncio.get_running_loop().time())
        return in_hand + sum(line.wait_s for line in self._lines.values())

    def put(self, tasks: Sequence[Task], context: object = None) -> list[Waiting]:
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
        entries = [Waiting(task, loop.time(), loop.create_future(), context) for task in tasks]
        for entry in entries:
            line = self._line(entry.task.lane)
            line.waiting[entry] = None
            line.tokens += entry.task.tokens
        self._arrived.set()
        return entries

    def drop(self, entries: Sequence[Waiting]) -> None:
        """Nobody waits for these any more; nothing to those that were taken."""
        for entry in entries:
            self._leave(entry)
            entry.done.cancel()

    async def some(self) -> bool:
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

    def first(self) -> Lane:
        """The lane of the task that has waited longest; there must be one."""
        return min(
            (lane for lane, line in self._lines.items() if line.waiting),
            key=lambda lane: next(iter(self._lines[lane].waiting)).since,
        )

    def take(self, tokens: int) -> tuple[Lane, list[Waiting]]:
        """The tasks to read next: of one lane, in their order, up to ``tokens`` and one at least.

        Fewer where those would take more than three seconds.
        """
        lane = self.first()
        line = self._lines[lane]
        if line.seconds_per_token:
            tokens = min(tokens, int(_LONGEST_BATCH_S / line.seconds_per_token))
        batch: list[Waiting] = []
        taken = 0
        for entry in list(line.waiting):
            if batch and taken + entry.task.tokens > tokens:
                break
            self._leave(entry)
            batch.append(entry)
            taken += entry.task.tokens
        self._in_hand_until = asyncio.get_running_loop().time() + taken * line.seconds_per_token
        return lane, batch

    def finished(self, lane: Lane, tokens: int, seconds: float) -> None:
        """A batch of ``tokens`` took so long: what waits in its lane is expected to go as fast."""
        line = self._line(lane)
        measured = seconds / max(1, tokens)
        known = line.seconds_per_token
        line.seconds_per_token = measured if not known else known + _NEWEST * (measured - known)
        self._in_hand_until = 0.0

    def _line(self, lane: Lane) -> _Line:
        return self._lines.setdefault(lane, _Line())

    def _leave(self, entry: Waiting) -> None:
        line = self._line(entry.task.lane)
        if entry in line.waiting:
            del line.waiting[entry]
            line.tokens -= entry.task.tokens

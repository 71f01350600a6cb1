"""A simulated replica of the service: what it keeps, how long what it does takes, and how it dies."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Generator, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import simpy

FRESH_S = 1.0  # for so long a book's pointer is not asked for again


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds that things take; of sequences, one is drawn each time. These were measured: docs/scale.md.

    ``overhead_s`` is the way to the answer and back, also where it is known; ``batch_s`` what a batch takes
    beside its questions, ``question_s`` those, ``open_s`` opening a book whose copy is on the disk, and
    ``fetch_s`` bringing it there.
    """

    overhead_s: Sequence[float] = (0.0025,)
    batch_s: float = 0.046
    question_s: Sequence[float] = (0.226, 0.232, 0.236, 0.241, 0.247, 0.25, 0.26, 0.277, 0.324)
    open_s: Sequence[float] = (0.006,)
    fetch_s: Sequence[float] = (0.0586,)


class LastUsed:
    """The things that were used last, at most ``most`` of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, None] = OrderedDict()

    def touch(self, thing: Hashable) -> bool:
        """Use it; whether it was there."""
        there = thing in self._kept
        self._kept[thing] = None
        self._kept.move_to_end(thing)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return there

    def __contains__(self, thing: Hashable) -> bool:
        return thing in self._kept


class Replica:
    """One process of ``storyqa serve`` with the disk beside it."""

    def __init__(
        self,
        env: simpy.Environment,
        times: Times,
        chance: random.Random,
        keeps: tuple[int, int, int],
        batch: int,
    ) -> None:
        self._env = env
        self._times = times
        self._chance = chance
        self._keeps = keeps
        self._batch = batch
        self.disk = LastUsed(keeps[2])
        self.busy_s = 0.0
        self.counts = {"answer_hits": 0, "open_hits": 0, "disk_hits": 0, "fetches": 0, "pointers": 0}
        self.start()

    def start(self) -> None:
        """Begin with an empty memory."""
        answers, books, _ = self._keeps
        self.answers, self.open = LastUsed(answers), LastUsed(books)
        self._pointers: dict[int, float] = {}
        self._opening: dict[int, simpy.Event] = {}
        self._waiting: list[simpy.Event] = []
        self._woken = self._env.event()
        self.down = self._env.event()
        self._env.process(self._work(self.down))

    def die(self) -> None:
        """Lose the memory, and what is being answered."""
        self.down.succeed()

    def warm(self, book: int, question: Hashable) -> None:
        """As if it had been asked, in no time."""
        self.answers.touch((book, question))
        self.open.touch(book)
        self.disk.touch(book)

    def answer(self, book: int, question: Hashable) -> Generator[simpy.Event, Any, bool]:
        """Answer; whether that came about before it died."""
        down = self.down
        yield self._takes(self._drawn(self._times.overhead_s)) | down
        if down.triggered:
            return False
        yield from self._opened(book, down)
        if down.triggered:
            return False
        if (book, question) in self.answers:
            self.answers.touch((book, question))
            self.counts["answer_hits"] += 1
            return True
        done = self._env.event()
        self._waiting.append(done)
        if not self._woken.triggered:
            self._woken.succeed()
        yield done | down
        if not done.triggered:
            return False
        self.answers.touch((book, question))
        return True

    def _opened(self, book: int, down: simpy.Event) -> Generator[simpy.Event, Any, None]:
        if self._env.now - self._pointers.get(book, float("-inf")) > FRESH_S:
            self._pointers[book] = self._env.now
            self.counts["pointers"] += 1
        while book in self._opening:  # by another request, for which this one waits
            yield self._opening[book] | down
            if down.triggered:
                return
        if book in self.open:
            self.counts["open_hits"] += 1
        else:
            here = self._opening[book] = self._env.event()
            there = self.disk.touch(book)
            self.counts["disk_hits" if there else "fetches"] += 1
            took_s = self._drawn(self._times.open_s) + (0.0 if there else self._drawn(self._times.fetch_s))
            yield self._takes(took_s) | down
            if down.triggered:
                return
            del self._opening[book]
            here.succeed()
        self.open.touch(book)
        self.disk.touch(book)

    def _work(self, down: simpy.Event) -> Generator[simpy.Event, Any, None]:
        """The one thread that runs models: what waits is answered together, as much as a batch holds."""
        while not down.triggered:
            if not self._waiting:
                self._woken = self._env.event()
                yield self._woken | down
                continue
            batch, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
            took_s = self._times.batch_s + sum(self._drawn(self._times.question_s) for _ in batch)
            began = self._env.now
            yield self._takes(took_s) | down
            self.busy_s += self._env.now - began
            if not down.triggered:
                for done in batch:
                    done.succeed()

    def _takes(self, seconds: float) -> simpy.Event:
        return self._env.timeout(seconds)

    def _drawn(self, times: Sequence[float]) -> float:
        return times[0] if len(times) == 1 else self._chance.choice(times)

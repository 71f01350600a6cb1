"""One run of a simulated fleet: who asks what and when, where the proxy sends it, and what came of it."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import simpy

from benchmarks.fleet_replica import Replica, Times
from benchmarks.load import percentile
from benchmarks.ring import Ring, chosen

NOTICED_S = 4.0  # after which the proxy knows that a replica is gone, or is there again
_DRAWN = 100_000  # questions at once


@dataclass(frozen=True, slots=True)
class Fleet:
    """What is simulated. ``rate`` is questions a second; with ``clients`` those ask in turn instead.

    The book of rank r by popularity is asked about as often as ``r ** -zipf`` says, and so is each of the
    ``questions`` about it. Caches are a replica's, in answers and books. The first ``warm`` questions
    fill them and take no time. ``mtbf_s`` and ``mttr_s`` are the means of exponential times between failures
    of a replica and until it is ready again; without the first none fails.
    """

    books: int = 10_000
    zipf: float = 1.0
    questions: int = 1000
    replicas: int = 3
    answers: int = 28_000
    open_books: int = 240
    disk_books: int = 970
    batch: int = 8
    rate: float = 1.0
    clients: int = 0
    asked: int = 20_000
    warm: int = 0
    mtbf_s: float | None = None
    mttr_s: float = 60.0
    seed: int = 0


class Order(Protocol):
    """Which replicas are tried for a book."""

    def order(self, book: int) -> Sequence[int]:
        """All of them, the book's own first."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of the questions that were asked after warming; latencies are of those answered, sorted.

    ``asked_again`` were sent to another replica, for theirs was gone; ``lost`` were not answered.
    """

    asked: int
    lost: int
    asked_again: int
    seconds: float
    latencies_s: Sequence[float]
    busy_s: Sequence[float]
    counts: dict[str, int]

    @property
    def answered(self) -> int:
        return len(self.latencies_s)

    @property
    def store_requests(self) -> int:
        """Pointers that were read, and two objects of each book that was fetched."""
        return self.counts["pointers"] + 2 * self.counts["fetches"]

    def summary(self) -> dict[str, Any]:
        """For people: shares of the questions, seconds, and how busy each replica's thread was."""
        opened = sum(self.counts[name] for name in ("open_hits", "disk_hits", "fetches"))
        shares = {name: self.counts[name] / max(1, opened) for name in ("open_hits", "disk_hits", "fetches")}
        return {
            "asked": self.asked,
            "lost": self.lost,
            "asked_again": self.asked_again,
            "seconds": round(self.seconds, 1),
            "answered_per_s": round(self.answered / self.seconds, 3),
            "answer_hits": round(self.counts["answer_hits"] / max(1, self.answered), 4),
            **{name: round(share, 4) for name, share in shares.items()},
            "p50_s": percentile(self.latencies_s, 50),
            "p99_s": percentile(self.latencies_s, 99),
            "busy": [round(busy / self.seconds, 3) for busy in self.busy_s],
            "store_requests": self.store_requests,
        }


def draws(fleet: Fleet, count: int, seed: int) -> list[tuple[int, int]]:
    """``count`` questions: a book and the number of a question about it, the most popular with 0."""
    chance = np.random.default_rng(seed)

    def zipf(many: int) -> list[int]:
        ends = np.cumsum(np.arange(1, many + 1, dtype="f8") ** -fleet.zipf)
        ranks: list[int] = np.searchsorted(ends, chance.random(count) * ends[-1]).tolist()
        return ranks

    return list(zip(zipf(fleet.books), zipf(fleet.questions), strict=True))


def simulate(
    fleet: Fleet,
    times: Times,
    ring: Order | None = None,
    asked: Sequence[tuple[int, int]] | None = None,
    kill: tuple[int, float] | None = None,
    on_answer: Callable[[float], None] = lambda latency_s: None,
) -> Outcome:
    """Run the fleet.

    ``asked`` are questions in place of those drawn; ``kill`` is a replica and when it dies, for good.
    ``on_answer`` is told of each latency, in seconds.
    """
    chance = random.Random(fleet.seed)
    env = simpy.Environment()
    keeps = (fleet.answers, fleet.open_books, fleet.disk_books)
    replicas = [Replica(env, times, chance, keeps, fleet.batch) for _ in range(fleet.replicas)]
    ring = ring or Ring(fleet.replicas, fleet.seed)
    up, noted = set(range(fleet.replicas)), set(range(fleet.replicas))
    serving = [0] * fleet.replicas
    latencies: list[float] = []
    again = [0]
    for book, question in draws(fleet, fleet.warm, fleet.seed + 1):
        replicas[ring.order(book)[0]].warm(book, question)
    coming = list(asked) if asked is not None else draws(fleet, fleet.asked, fleet.seed + 2)

    def ask(book: int, question: int) -> Generator[simpy.Event, Any, None]:
        began = env.now
        order = ring.order(book)
        tried: set[int] = set()
        for _ in range(2):  # once, and the one fallback
            at = chosen(order, noted - tried, serving)
            if at is None:
                return
            again[0] += len(tried)
            tried.add(at)
            if at not in up:
                continue
            serving[at] += 1
            answered = yield env.process(replicas[at].answer(book, question))
            serving[at] -= 1
            if answered:
                latencies.append(env.now - began)
                on_answer(latencies[-1])
                return

    def client(questions: Any) -> Generator[simpy.Event, Any, None]:
        for book, question in questions:
            yield env.process(ask(book, question))

    def poisson() -> Generator[simpy.Event, Any, None]:
        sent = []
        for book, question in coming:
            yield env.timeout(chance.expovariate(fleet.rate))
            sent.append(env.process(ask(book, question)))
        yield env.all_of([one for one in sent if one.is_alive])

    def notice(number: int) -> Generator[simpy.Event, Any, None]:
        yield env.timeout(NOTICED_S)
        (noted.add if number in up else noted.discard)(number)

    def failing(number: int, first_s: float, for_good: bool) -> Generator[simpy.Event, Any, None]:
        yield env.timeout(first_s)
        while True:
            up.discard(number)
            replicas[number].die()
            env.process(notice(number))
            if for_good or fleet.mtbf_s is None:
                return
            yield env.timeout(chance.expovariate(1 / fleet.mttr_s))
            replicas[number].start()
            up.add(number)
            env.process(notice(number))
            yield env.timeout(chance.expovariate(1 / fleet.mtbf_s))

    if kill is not None:
        env.process(failing(*kill, for_good=True))
    for number in range(fleet.replicas if fleet.mtbf_s is not None else 0):
        assert fleet.mtbf_s is not None
        env.process(failing(number, chance.expovariate(1 / fleet.mtbf_s), for_good=False))
    shared = iter(coming)
    askers = [env.process(client(shared)) for _ in range(fleet.clients)] or [env.process(poisson())]
    env.run(until=env.all_of(askers))
    counts = {name: sum(one.counts[name] for one in replicas) for name in replicas[0].counts}
    return Outcome(
        asked=len(coming),
        lost=len(coming) - len(latencies),
        asked_again=again[0],
        seconds=env.now,
        latencies_s=sorted(latencies),
        busy_s=[one.busy_s for one in replicas],
        counts=counts,
    )

"""The simulated fleet: what theory and counting say of it, and that no question is lost with a replica."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from dataclasses import replace

import pytest

pytest.importorskip("simpy", reason="SimPy is not installed: pip install '.[dev]'")

from benchmarks.fleet import Prices, cost_of_1000
from benchmarks.fleet_replica import LastUsed, Times
from benchmarks.fleet_run import Fleet, Outcome, draws, simulate
from benchmarks.ring import FixedRing, Ring, chosen

AT_ONCE = Times(overhead_s=(0.0,), batch_s=0.0, question_s=(0.0,), open_s=(0.0,), fetch_s=(0.0,))
ENDLESS = 10**9
KEEPS_ALL = Fleet(books=300, questions=5, answers=ENDLESS, open_books=ENDLESS, disk_books=ENDLESS, asked=3000)


def mean_and_margin(values: list[float], parts: int = 20) -> tuple[float, float]:
    """The mean, and three standard errors of it: of means of batches, which hardly depend on each other."""
    size = len(values) // parts
    means = [statistics.mean(values[part * size : (part + 1) * size]) for part in range(parts)]
    return statistics.mean(means), 3 * statistics.stdev(means) / math.sqrt(parts)


@pytest.mark.parametrize(("exponential", "load"), [(True, 0.5), (True, 0.8), (False, 0.5), (False, 0.8)])
def test_one_replica_without_caches_is_the_queue_of_the_textbook(exponential: bool, load: float) -> None:
    chance = random.Random(5)
    took = [chance.expovariate(1.0) for _ in range(50_000)] if exponential else [1.0]
    mean_s = statistics.mean(took)
    fleet = Fleet(
        books=1, questions=1, replicas=1, answers=0, batch=1, rate=load / mean_s, asked=40_000, seed=3
    )
    latencies: list[float] = []
    outcome = simulate(fleet, Times((0.0,), 0.0, took, (0.0,), (0.0,)), on_answer=latencies.append)
    squared = 1.0 + (1.0 if exponential else 0.0)  # E[s^2] / E[s]^2
    theory = mean_s * (1 + load * squared / (2 * (1 - load)))  # Pollaczek and Khinchine
    mean, margin = mean_and_margin(latencies)
    assert abs(mean - theory) < margin + 0.01 * theory
    assert sum(outcome.busy_s) / outcome.seconds == pytest.approx(load, rel=0.03)
    assert sorted(latencies) == outcome.latencies_s


@pytest.mark.parametrize("replicas", [1, 4])
def test_caches_without_bounds_miss_each_thing_once_where_one_asks_at_a_time(replicas: int) -> None:
    fleet = replace(KEEPS_ALL, replicas=replicas, clients=1)
    asked = draws(fleet, fleet.asked, seed=7)
    outcome = simulate(fleet, AT_ONCE, asked=asked)
    assert outcome.counts["answer_hits"] == len(asked) - len(set(asked))
    assert outcome.counts["fetches"] == len({book for book, _ in asked})
    assert outcome.counts["disk_hits"] == 0
    assert outcome.lost == outcome.asked_again == 0
    assert len(outcome.latencies_s) == len(asked)


def test_what_was_used_last_stays() -> None:
    kept = LastUsed(2)
    assert [kept.touch(thing) for thing in "abacab"] == [False, False, True, False, True, False]
    assert "c" not in kept
    assert not LastUsed(0).touch("a")


def test_a_seed_is_a_run() -> None:
    fleet = Fleet(books=200, asked=2000, mtbf_s=200.0, rate=3.0, warm=500)
    times = Times(question_s=(0.5, 1.0, 1.5))
    assert simulate(fleet, times) == simulate(fleet, times)
    assert simulate(fleet, times) != simulate(replace(fleet, seed=1), times)


def test_a_replica_that_is_killed_costs_no_question() -> None:
    fleet = Fleet(books=50, replicas=3, asked=1500, rate=2.0, answers=0)
    outcome = simulate(fleet, Times(question_s=(0.5, 1.0)), kill=(1, 300.0))
    assert outcome.lost == 0
    assert outcome.answered == fleet.asked
    assert outcome.asked_again > 0
    assert outcome.busy_s[1] < min(outcome.busy_s[0], outcome.busy_s[2])


def test_failures_cost_memory_and_not_what_lies_on_disks() -> None:
    fleet = Fleet(books=30, replicas=3, asked=3000, rate=1.0, answers=0, seed=2)
    calm = simulate(fleet, Times())
    stormy = simulate(replace(fleet, mtbf_s=300.0, mttr_s=20.0), Times())
    assert calm.counts["disk_hits"] == 0
    assert stormy.counts["disk_hits"] > 0
    assert stormy.asked_again > 0
    assert stormy.lost < 0.01 * fleet.asked  # those whose fallback died, too
    for outcome in (calm, stormy):
        assert outcome.counts["fetches"] <= fleet.books * fleet.replicas


def test_a_book_stays_where_it_is_and_shares_are_even() -> None:
    three, four = Ring(3), Ring(4)
    homes = [three.order(book)[0] for book in range(2000)]
    assert max(Counter(homes).values()) < 1.25 * 2000 / 3
    moved = [four.order(book)[0] for book in range(2000) if four.order(book)[0] != homes[book]]
    assert set(moved) == {3}
    assert len(moved) < 1.25 * 2000 / 4
    assert all(sorted(three.order(book)) == [0, 1, 2] for book in range(100))
    assert FixedRing(3, {5: 1}).order(5) == [1, 2, 0]


@pytest.mark.parametrize(
    ("serving", "up", "wanted"),
    [
        ([0, 0, 0], {0, 1, 2}, 0),
        ([1, 0, 0], {0, 1, 2}, 1),  # two, and half as much again, is one for each
        ([2, 2, 2], {0, 1, 2}, 0),  # eleven slots: three for the first, four for each of the others
        ([3, 2, 1], {0, 1, 2}, 1),
        ([9, 0, 0], {0}, 0),
        ([0, 0, 0], set(), None),
    ],
)
def test_a_replica_with_half_as_much_again_as_its_share_is_passed_over(
    serving: list[int], up: set[int], wanted: int | None
) -> None:
    assert chosen([0, 1, 2], up, serving) == wanted


def test_cost_is_what_the_prices_say() -> None:
    fleet = Fleet(books=1000, replicas=2)
    counts = {"answer_hits": 0, "open_hits": 0, "disk_hits": 0, "fetches": 100, "pointers": 800}
    outcome = Outcome(2000, 0, 0, 3600.0, [1.0] * 2000, [0.0, 0.0], counts)
    cost = cost_of_1000(outcome, fleet, 10**6, Prices(1.0, 10.0, 7.2))
    assert cost == pytest.approx({"replicas": 1.0, "requests": 0.005, "store": 0.005, "all": 1.01})

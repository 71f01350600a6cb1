"""bAbI's task 14: visits at four times, told out of order, and where somebody was before a place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from evaluation.worlds.cast import Cast
from evaluation.worlds.grammar import went
from evaluation.worlds.scene import BETWEEN, QUESTIONS, RECENT
from evaluation.worlds.stories import Asked, Story

_TIMES = ("yesterday", "this morning", "this afternoon", "this evening")


@dataclass(frozen=True, slots=True)
class Visit:
    """Where an actor was at a time, from 0; they were somewhere else at the time before."""

    actor: str
    place: str
    time: int


def time_reasoning(rng: Random, cast: Cast) -> Story:
    """Task 14: five questions, one after every second visit if a recent one gives one, else two later.

    The visits told between two questions are told in another order than they happened, none at its own
    turn. Asked about is one of the last five to happen, and of the same actor's visits to its place the
    latest. The story ends early where nobody has a time left.
    """
    happened: list[Visit] = []
    told: list[Visit] = []
    facts: list[str] = []
    asked: list[Asked] = []
    while len(asked) < QUESTIONS and (more := _visits(happened, cast, rng)):
        happened += more
        recent = [visit for visit in happened[-RECENT:] if visit.time > 0]
        if not recent:
            continue
        new = _out_of_order(happened[len(told) :], rng)
        told += new
        facts += [_fact(visit, rng) for visit in new]
        asked.append(_asked(rng.choice(recent), told))
    return Story(tuple(facts), tuple(asked))


def _visits(happened: Sequence[Visit], cast: Cast, rng: Random) -> list[Visit]:
    """Two more visits, of whoever has a time left; fewer where nobody has."""
    latest = {visit.actor: visit for visit in happened}
    more: list[Visit] = []
    for _ in range(BETWEEN):
        free = [a for a in cast.actors if a not in latest or latest[a].time + 1 < len(_TIMES)]
        if free:
            actor = rng.choice(free)
            last = latest.get(actor)
            place = rng.choice([place for place in cast.places if last is None or place != last.place])
            latest[actor] = Visit(actor, place, 0 if last is None else last.time + 1)
            more.append(latest[actor])
    return more


def _out_of_order(visits: Sequence[Visit], rng: Random) -> list[Visit]:
    """The visits permuted by one cycle, by Sattolo's algorithm."""
    order = list(visits)
    for last in range(len(order) - 1, 0, -1):
        other = rng.randrange(last)
        order[last], order[other] = order[other], order[last]
    return order


def _fact(visit: Visit, rng: Random) -> str:
    when = _TIMES[visit.time]
    if rng.random() < 0.5:
        return went(f"{when.capitalize()} {visit.actor}", visit.place, rng)
    return went(visit.actor, visit.place, rng).replace(".", f" {when}.")


def _asked(visit: Visit, told: Sequence[Visit]) -> Asked:
    by_time = {one.time: number for number, one in enumerate(told) if one.actor == visit.actor}
    latest = max(time for time, number in by_time.items() if told[number].place == visit.place)
    support = (by_time[latest], by_time[latest - 1])
    text = f"Where was {visit.actor} before the {visit.place}?"
    return Asked(text, (told[support[1]].place,), support, len(told))

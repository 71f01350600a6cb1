"""bAbI's tasks of people who move and carry things: 1, 2, 3, 5, 6, 7 and 8.

What is asked about is the last five events, and the answer is followed through all events told before.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import ClassVar

from evaluation.worlds.cast import OBJECTS, Cast
from evaluation.worlds.grammar import OFTEN, SELDOM, sentence
from evaluation.worlds.scene import Question, Scene, is_it, yes_or_no
from evaluation.worlds.world import Event, World

_NUMBERS = ("none", "one", "two", "three")


class _Carrying(Scene[Event]):
    """A world in which people do things at random, every event a fact of one clause."""

    actions: ClassVar[tuple[str, ...]] = ("go", "get", "drop")
    got_there: ClassVar[float] = OFTEN

    def __init__(self, rng: Random, cast: Cast) -> None:
        super().__init__(rng)
        self.world = World(rng, cast.actors, cast.places, OBJECTS if "get" in self.actions else ())

    def go_on(self, avoid: Sequence[str]) -> None:
        event = self.world.happen(self.actions, avoid)
        self.tell(sentence(event, self.rng, self.got_there), event)

    def last_of(self, thing: str) -> int:
        """The number of the last event that moved a thing from hand to hand."""
        return max(number for event, number in self.clauses if event.thing == thing)

    def moves(self, actor: str, after: int = -1, before: int | None = None) -> list[int]:
        """The numbers of the events between two others with which an actor went somewhere."""
        return [
            number
            for event, number in self.clauses[after + 1 : before]
            if event.action == "go" and event.actor == actor
        ]

    def place(self, number: int) -> str:
        """Where the event of this number led to."""
        return self.clauses[number][0].place


class WhereIsActor(_Carrying):
    """Task 1: where is somebody who moved; the last move says it."""

    actions = ("go",)

    def question(self, clause: Event) -> Question | None:
        last = self.moves(clause.actor)[-1]
        return Question(f"Where is {clause.actor}?", (self.place(last),), (last,), (clause.actor,))


class WhereIsThing(_Carrying):
    """Task 2: where is a thing; whoever last got or dropped it, and their move, say it.

    Of a thing that lies somewhere it is the last move before the drop. Of one that is held it is the last
    since the get, and nothing is asked where there is none.
    """

    def question(self, clause: Event) -> Question | None:
        if clause.action == "go":
            return None
        last = self.last_of(clause.thing)
        event = self.clauses[last][0]
        held = event.action == "get"
        moves = self.moves(event.actor, last) if held else self.moves(event.actor, before=last)
        if not moves:
            return None
        concerns = (clause.thing, event.actor) if held else (clause.thing,)
        support = (last, moves[-1])
        return Question(f"Where is the {clause.thing}?", (self.place(moves[-1]),), support, concerns)


class WhereWasThing(_Carrying):
    """Task 3: where was a thing before it was somewhere; two moves of its last holder say it.

    Asked is one of the places to which it was carried since it was got last, and about its last time there.
    """

    got_there = SELDOM

    def question(self, clause: Event) -> Question | None:
        if clause.action == "go":
            return None
        thing, last = clause.thing, self.last_of(clause.thing)
        event = self.clauses[last][0]
        held = event.action == "get"
        if held:
            moves = self.moves(event.actor, last)
        else:
            got = max(number for event, number in self.clauses[:last] if event.thing == thing)
            moves = self.moves(event.actor, got, last)
        if len(moves) < 2:
            return None
        asked = self.place(self.rng.choice(moves[1:]))
        there = max(index for index, move in enumerate(moves) if self.place(move) == asked)
        support = (last, moves[there], moves[there - 1])
        text = f"Where was the {thing} before the {asked}?"
        concerns = (thing, event.actor) if held else (thing,)
        return Question(text, (self.place(support[2]),), support, concerns)


class WhoGaveWhat(_Carrying):
    """Task 5: who gave what to whom, of the last time that a thing was given."""

    actions = (*("go", "get", "drop") * 5, *("give",) * 6)  # a sixth of all facts give, as in the real ones

    def question(self, clause: Event) -> Question | None:
        if clause.action != "give":
            return None
        gifts = [(event, number) for event, number in self.clauses if event.action == "give"]
        event, last = next(gift for gift in reversed(gifts) if gift[0].thing == clause.thing)
        giver, thing, to = event.actor, event.thing, event.to
        what = (f"What did {giver} give to {to}?", thing)
        text, answer = self.rng.choice(
            (
                *(what, what),
                (f"Who received the {thing}?", to),
                (f"Who gave the {thing}?", giver),
                (f"Who did {giver} give the {thing} to?", to),
                (f"Who gave the {thing} to {to}?", giver),
            )
        )
        if answer == thing and any((e.actor, e.to) == (giver, to) for e, n in gifts if n > last):
            return None  # something else was given since
        return Question(text, (answer,), (last,), (thing, giver))


class IsActorThere(_Carrying):
    """Task 6: is somebody in a place."""

    def question(self, clause: Event) -> Question | None:
        if clause.action != "go":
            return None
        last = self.moves(clause.actor)[-1]
        asked, true = is_it(self.place(last), self.world.places, self.rng)
        text = f"Is {clause.actor} in the {asked}?"
        return Question(text, yes_or_no(true), (last,), (clause.actor,))


class HowMany(_Carrying):
    """Task 7: how many things somebody carries; every get, drop and give that names them says it."""

    actions = ("go", "get", "drop", "give")

    def question(self, clause: Event) -> Question | None:
        if clause.action == "go":
            return None
        actor = clause.actor
        held: set[str] = set()
        support = []
        for event, number in self.clauses:
            if event.action == "go" or actor not in (event.actor, event.to):
                continue
            support.append(number)
            if event.to == actor or event.action == "get":
                held.add(event.thing)
            else:
                held.remove(event.thing)
        text = f"How many objects is {actor} carrying?"
        return Question(text, (_NUMBERS[len(held)],), tuple(support), (actor,))


class WhatIsCarried(_Carrying):
    """Task 8: what somebody carries; thing by thing, in the order in which they first got them."""

    def question(self, clause: Event) -> Question | None:
        if clause.action == "go":
            return None
        events: dict[str, list[int]] = {}  # of the actor, by thing
        for event, number in self.clauses:
            if event.actor == clause.actor and event.action != "go":
                events.setdefault(event.thing, []).append(number)
        held = tuple(
            thing for thing, numbers in events.items() if self.clauses[numbers[-1]][0].action == "get"
        )
        support = tuple(number for numbers in events.values() for number in numbers)
        text = f"What is {clause.actor} carrying?"
        return Question(text, held or ("nothing",), support, (clause.actor,))

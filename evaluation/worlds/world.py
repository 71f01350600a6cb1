"""A world of people, places and things, and what can be done in it (Weston et al. 2015, section 4).

Actions have preconditions: nobody goes to where they are, gets what is held or elsewhere, drops or gives
what they do not hold, gives to somebody elsewhere, or is set the mood that they are in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random


@dataclass(frozen=True, slots=True)
class Event:
    """What an actor did, or how they were ``set``.

    They ``go`` to a place, ``get`` or ``drop`` a thing, ``give`` it ``to`` another, or are ``set`` a mood.
    """

    action: str
    actor: str
    place: str = ""
    thing: str = ""
    to: str = ""
    mood: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """Everybody and everything that it moves."""
        return tuple(filter(None, (self.actor, self.thing, self.to)))


class Impossible(ValueError):
    """An action whose precondition does not hold."""


class World:
    """Where everybody and everything is: drawn at first, changed by actions alone."""

    def __init__(
        self, rng: Random, actors: Sequence[str], places: Sequence[str], things: Sequence[str] = ()
    ) -> None:
        self.actors = tuple(actors)
        self.places = tuple(places)
        self._rng = rng
        self.at = {one: rng.choice(self.places) for one in (*actors, *things)}
        self.holders: dict[str, str | None] = dict.fromkeys(things)
        self.moods: dict[str, str] = {}

    def do(self, event: Event) -> Event:
        """Let it happen; raises ``Impossible`` where it cannot."""
        actor, thing = event.actor, event.thing
        if event.action == "go":
            self._demand(self.at[actor] != event.place, event)
            self.at[actor] = event.place
        elif event.action == "get":
            self._demand(thing in self.in_reach(actor), event)
            self.holders[thing] = actor
        elif event.action == "drop":
            self._demand(self.holders[thing] == actor, event)
            self.holders[thing], self.at[thing] = None, self.at[actor]
        elif event.action == "set":
            self._demand(self.moods.get(actor) != event.mood, event)
            self.moods[actor] = event.mood
        else:
            self._demand(self.holders[thing] == actor, event)
            self._demand(event.to != actor and self.at[event.to] == self.at[actor], event)
            self.holders[thing] = event.to
        return event

    def _demand(self, holds: bool, event: Event) -> None:
        if not holds:
            raise Impossible(f"{event} cannot happen")

    def in_reach(self, actor: str) -> list[str]:
        """The things that lie where the actor is."""
        lying = (thing for thing, holder in self.holders.items() if holder is None)
        return [thing for thing in lying if self.at[thing] == self.at[actor]]

    def held_by(self, actor: str) -> list[str]:
        """The things that the actor holds."""
        return [thing for thing, holder in self.holders.items() if holder == actor]

    def happen(self, actions: Sequence[str], avoid: Sequence[str] = ()) -> Event:
        """Let something happen that moves nobody and nothing of ``avoid``.

        An action and an actor are drawn until the one can do the other, a place being drawn of all; whoever
        can give something gives, if that is the action. Somebody must be free to go somewhere.
        """
        while True:
            event = self._draw(self._rng.choice(actions))
            if event is not None and not any(name in avoid for name in event.names):
                return self.do(event)

    def _draw(self, action: str) -> Event | None:
        """An event that can happen, or None where the draw was of one that cannot."""
        if action == "give":
            gifts = self._gifts()
            return self._rng.choice(gifts) if gifts else None
        actor = self._rng.choice(self.actors)
        if action == "go":
            place = self._rng.choice(self.places)
            return Event("go", actor, place=place) if place != self.at[actor] else None
        things = self.in_reach(actor) if action == "get" else self.held_by(actor)
        return Event(action, actor, thing=self._rng.choice(things)) if things else None

    def _gifts(self) -> list[Event]:
        return [
            Event("give", holder, thing=thing, to=other)
            for thing, holder in self.holders.items()
            if holder is not None
            for other in self.actors
            if other != holder and self.at[other] == self.at[holder]
        ]

"""How events are put into words: a verb has synonyms, all equally likely (Weston et al. 2015, section 4)."""

from __future__ import annotations

from random import Random

from evaluation.worlds.world import Event

_VERBS = {
    "go": ("went to", "went back to", "moved to", "journeyed to", "travelled to"),
    "get": ("got", "took", "grabbed", "picked up"),
    "drop": ("dropped", "discarded", "left", "put down"),
    "give": ("gave", "handed", "passed"),
}
_AFTERWARDS = ("After that", "Afterwards", "Then", "Following that")
ABSENT = ("is no longer in", "is not in")
OFTEN = 1.0
SELDOM = 0.2
"""The shares of gets and drops that are said to happen ``there``."""


def verb(action: str, rng: Random) -> str:
    """One of the action's synonyms."""
    return rng.choice(_VERBS[action])


def sentence(event: Event, rng: Random, got_there: float = OFTEN) -> str:
    """An event as a fact; ``got_there`` is how often a get is said to happen ``there``."""
    subject = f"{event.actor} {verb(event.action, rng)} the"
    if event.action == "go":
        return f"{subject} {event.place}."
    if event.action == "give":
        return f"{subject} {event.thing} to {event.to}."
    there = rng.random() < (got_there if event.action == "get" else SELDOM)
    return f"{subject} {event.thing}{' there' if there else ''}."


def went(who: str, place: str, rng: Random) -> str:
    """That somebody, ``Mary`` or ``Mary and John``, went to a place."""
    return f"{who} {verb('go', rng)} the {place}."


def went_on(pronoun: str, place: str, rng: Random) -> str:
    """That whoever was spoken of then went to a place."""
    return f"{rng.choice(_AFTERWARDS)} {pronoun} {verb('go', rng)} the {place}."

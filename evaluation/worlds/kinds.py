"""bAbI's tasks of what follows from somebody's kind or mood: 15, 16 and 20."""

from __future__ import annotations

from collections import Counter
from random import Random

from evaluation.worlds.cast import Cast
from evaluation.worlds.grammar import sentence
from evaluation.worlds.stories import Asked, Story
from evaluation.worlds.world import Event, World

_FEARED = {"mouse": "mice", "sheep": "sheep", "wolf": "wolves", "cat": "cats"}  # and many of them
_FEARS_ASKED = 4
_ANIMALS = ("swan", "lion", "frog", "rhino")
_COLOURS = ("green", "white", "gray", "yellow")
_MOODS = {
    "hungry": ("kitchen", "apple"),
    "thirsty": ("kitchen", "milk"),
    "bored": ("garden", "football"),
    "tired": ("bedroom", "pajamas"),
}
_OUTSIDE = "outside"


def deduction(rng: Random, cast: Cast) -> Story:
    """Task 15: everybody is of a kind, every kind fears another; four times, what does somebody fear?

    A kind's fear is told before somebody is of that kind, which makes what was told early more common.
    """
    fears: dict[str, tuple[str, int]] = {}  # and the number of the fact
    kinds: dict[str, tuple[str, int]] = {}
    facts: list[str] = []
    while len(facts) < len(_FEARED) + len(cast.actors):
        one, kind = rng.choice((*_FEARED, *cast.actors)), rng.choice(list(_FEARED))
        if one in cast.actors:
            if one not in kinds and kind in fears:
                kinds[one] = kind, len(facts)
                facts.append(f"{one} is a {kind}.")
        elif one not in fears:
            feared = rng.choice([other for other in _FEARED if other != one])
            fears[one] = feared, len(facts)
            facts.append(f"{_FEARED[one].capitalize()} are afraid of {_FEARED[feared]}.")
    asked = []
    for actor in rng.choices(cast.actors, k=_FEARS_ASKED):
        kind, is_a = kinds[actor]
        feared, afraid = fears[kind]
        text = f"What is {actor.lower()} afraid of?"
        asked.append(Asked(text, (feared,), (is_a, afraid), len(facts)))
    return Story(tuple(facts), tuple(asked))


def induction(rng: Random, cast: Cast) -> Story:
    """Task 16: everybody's kind is told, and the colour of all but one, which is that of their kind.

    A kind keeps the colour that one of it has, until another is told to be of it; then it is drawn anew, and
    whose kind was told last decides. As in the publishers' files nobody is asked about who shares a kind
    with just two others.
    """
    while True:
        kind_of = {actor: rng.choice(_ANIMALS) for actor in cast.actors}
        asked = rng.choice(cast.actors)
        mates = Counter(kind_of.values())[kind_of[asked]] - 1
        if mates not in (0, 2):
            break
    kinds: dict[str, int] = {}  # the number of the fact, of each actor
    colours: dict[str, int] = {}
    colour_of: dict[str, str] = {}
    of_kind: dict[str, str] = {}  # the colour that a kind has until another is told to be of it
    facts: list[str] = []
    for actor in _twice_each(cast.actors, asked, rng):
        kind = kind_of[actor]
        if actor not in kinds:
            kinds[actor] = len(facts)
            of_kind.pop(kind, None)
            facts.append(f"{actor} is a {kind}.")
        else:
            colours[actor] = len(facts)
            colour_of[actor] = of_kind.setdefault(kind, rng.choice(_COLOURS))
            facts.append(f"{actor} is {colour_of[actor]}.")
    mate = max((one for one in colours if kind_of[one] == kind_of[asked]), key=lambda one: kinds[one])
    support = (kinds[asked], kinds[mate], colours[mate])
    answer = colour_of[mate]
    return Story(tuple(facts), (Asked(f"What color is {asked}?", (answer,), support, len(facts)),))


def _twice_each(actors: tuple[str, ...], last: str, rng: Random) -> list[str]:
    """Every actor twice in random order, but the ``last`` one once: their second turn would have ended it."""
    while True:
        turns = dict.fromkeys(actors, 2)
        order = []
        while turns:
            actor = rng.choice(list(turns))
            order.append(actor)
            turns[actor] -= 1
            if not turns[actor]:
                del turns[actor]
        if order[-1] == last:
            return order[:-1]


def motivations(rng: Random, cast: Cast) -> Story:
    """Task 20: who is in a mood goes where something helps, and gets it while there is one.

    After every fact a question: where will they go, or why did they do it? The story ends when nobody has
    anything left to do.
    """
    world = World(rng, cast.actors, (_OUTSIDE,), [thing for _, thing in _MOODS.values()])
    world.at.update({thing: place for place, thing in _MOODS.values()})
    moods: dict[str, int] = {}  # the number of the fact
    facts: list[str] = []
    asked: list[Asked] = []
    while free := [event for actor in cast.actors if (event := _next(actor, world, rng)) is not None]:
        event = world.do(rng.choice(free))
        actor, mood = event.actor, world.moods[event.actor]
        name, place = actor.lower(), _MOODS[mood][0]
        if event.action == "set":
            moods[actor] = len(facts)
            facts.append(f"{actor} is {mood}.")
            text, answer = f"Where will {name} go?", place
        else:
            facts.append(sentence(event, rng))
            what = f"go to the {place}" if event.action == "go" else f"get the {event.thing}"
            text, answer = f"Why did {name} {what}?", mood
        asked.append(Asked(text, (answer,), (moods[actor],), len(facts)))
    return Story(tuple(facts), tuple(asked))


def _next(actor: str, world: World, rng: Random) -> Event | None:
    """What an actor does next: has a mood, goes to where something helps, and gets it."""
    if actor not in world.moods:
        return Event("set", actor, mood=rng.choice(list(_MOODS)))
    place, thing = _MOODS[world.moods[actor]]
    if world.at[actor] != place:
        return Event("go", actor, place=place)
    return Event("get", actor, thing=thing) if thing in world.in_reach(actor) else None

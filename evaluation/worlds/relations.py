"""bAbI's tasks of how things lie to one another, or fit into one another: 4, 17, 18 and 19.

In 4, 17 and 19 the world is a grid. A fact joins two neighbours: a place is drawn, then one of those that
it is joined with, until every pair was told once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from random import Random

from evaluation.worlds.cast import Cast
from evaluation.worlds.scene import QUESTIONS, RECENT, is_it, yes_or_no
from evaluation.worlds.stories import Asked, Story

Cell = tuple[int, int]  # to the east and to the north
_COMPASS = {"north": (0, 1), "south": (0, -1), "east": (1, 0), "west": (-1, 0)}
_SIDES = {"above": (0, 1), "below": (0, -1), "to the right of": (1, 0), "to the left of": (-1, 0)}
_SHAPES = (
    *("red square", "blue square", "yellow square"),
    *("pink rectangle", "red sphere", "triangle"),
)
_SHAPE_QUESTIONS = 8
_LARGE = ("box", "chest", "suitcase", "container")
_SMALL = ("chocolate", "box of chocolates")
_SIZES_TOLD = 5  # facts before questions are asked


def _beside(cell: Cell, step: Cell) -> Cell:
    return cell[0] + step[0], cell[1] + step[1]


def _back(step: Cell) -> Cell:
    return -step[0], -step[1]


def _step(at: Mapping[str, Cell], one: str, other: str) -> Cell:
    """How to go from the ``other`` to the ``one``."""
    return at[one][0] - at[other][0], at[one][1] - at[other][1]


def _told_pairs(joined: Sequence[tuple[str, str]], rng: Random) -> list[tuple[str, str]]:
    """The pairs in the order of telling, whichever was drawn first before the other."""
    neighbours: dict[str, list[str]] = {}
    for one, other in joined:
        neighbours.setdefault(one, []).append(other)
        neighbours.setdefault(other, []).append(one)
    names = list(neighbours)
    told: list[tuple[str, str]] = []
    while len(told) < len(joined):
        one = rng.choice(names)
        pair = one, rng.choice(neighbours[one])
        if pair not in told and pair[::-1] not in told:
            told.append(pair)
    return told


def _named(step: Cell, directions: Mapping[str, Cell]) -> str:
    return next(name for name, one in directions.items() if one == step)


def _neighbour_fact(at: Mapping[str, Cell], one: str, other: str) -> str:
    return f"The {one} is {_named(_step(at, one, other), _COMPASS)} of the {other}."


def two_argument_relations(rng: Random, cast: Cast) -> Story:
    """Task 4: three places on a line; what is the fact's subject, asked by its object in either order."""
    step = rng.choice(list(_COMPASS.values()))
    middle, one, other = rng.sample(cast.places, 3)
    at = {middle: (0, 0), one: step, other: _back(step)}
    told = _told_pairs([(middle, one), (middle, other)], rng)
    number = rng.randrange(len(told))
    answer, known = told[number]
    if rng.random() < 0.5:
        text = f"What is {_named(_step(at, answer, known), _COMPASS)} of the {known}?"
    else:
        text = f"What is the {known} {_named(_step(at, known, answer), _COMPASS)} of?"
    facts = tuple(_neighbour_fact(at, *pair) for pair in told)
    return Story(facts, (Asked(text, (answer,), (number,), len(facts)),))


def positional_reasoning(rng: Random, cast: Cast) -> Story:
    """Task 17: a shape has others at two of its sides; eight times, is one of these on a side of the other?

    Every second statement asked about holds. The support begins at the shape that is asked about first.
    """
    middle, *ends = rng.sample(_SHAPES, 3)
    at = {middle: (0, 0), **dict(zip(ends, rng.sample(list(_SIDES.values()), 2), strict=True))}
    told = [pair[::-1] for pair in _told_pairs([(middle, end) for end in ends], rng)]
    facts = tuple(f"The {one} is {_named(_step(at, one, other), _SIDES)} the {other}." for one, other in told)
    asked = []
    for _ in range(_SHAPE_QUESTIONS):
        first, second = rng.sample(ends, 2)
        (east, north) = _step(at, first, second)
        holding = [name for name, (x, y) in _SIDES.items() if x * east + y * north > 0]
        side, true = is_it(rng.choice(holding), list(_SIDES), rng)
        while not true and side in holding:  # the other of two that hold
            side, _ = is_it(side, list(_SIDES), rng)
        begin = next(number for number, pair in enumerate(told) if first in pair)
        text = f"Is the {first} {side} the {second}?"
        asked.append(Asked(text, yes_or_no(true), (begin, 1 - begin), len(facts)))
    return Story(facts, tuple(asked))


def size_reasoning(rng: Random, cast: Cast) -> Story:
    """Task 18: five facts, then five questions about two things with one between them in size.

    As long as none of the last five facts gives one, five more are told. The support begins at the thing
    into which the other is asked to fit.
    """
    order = (*_SMALL, *rng.sample(_LARGE, len(_LARGE)))
    pairs = list(combinations(order, 2))
    told: list[tuple[str, str]] = []
    facts: list[str] = []
    asked: list[Asked] = []
    while not asked:
        for small, large in rng.choices(pairs, k=_SIZES_TOLD):
            told.append((small, large))
            if rng.random() < 0.5:
                facts.append(f"The {small} fits inside the {large}.")
            else:
                facts.append(f"The {large} is bigger than the {small}.")
        chains = _chains(told)
        if chains:
            asked = [_size_question(told, *rng.choice(chains), rng) for _ in range(QUESTIONS)]
    return Story(tuple(facts), tuple(asked))


def _chains(told: Sequence[tuple[str, str]]) -> list[tuple[int, int]]:
    """Recent facts, and the first other fact about either of their things where it goes on from there."""
    chains = []
    for begin in range(max(0, len(told) - RECENT), len(told)):
        small, large = told[begin]
        for thing in told[begin]:
            then = next((n for n, pair in enumerate(told) if n != begin and thing in pair), None)
            if then is not None and (told[then][0] == large or told[then][1] == small):
                chains.append((begin, then))
    return chains


def _size_question(told: Sequence[tuple[str, str]], begin: int, then: int, rng: Random) -> Asked:
    (small, large), (smaller, larger) = told[begin], told[then]
    outer, inner, true = (small, larger, False) if large == smaller else (large, smaller, True)
    if rng.random() < 0.5:
        text = f"Does the {inner} fit in the {outer}?"
    else:
        text = f"Is the {outer} bigger than the {inner}?"
    return Asked(text, yes_or_no(true), (begin, then), len(told))


def path_finding(rng: Random, cast: Cast) -> Story:
    """Task 19: a path of two steps, never back, and the other places each beside one on the path."""
    start, middle, end, *others = rng.sample(cast.places, len(cast.places))
    steps = list(_COMPASS.values())
    onward = rng.choice(steps)
    turn = rng.choice([step for step in steps if step != _back(onward)])
    at = {start: (0, 0), middle: onward, end: _beside(onward, turn)}
    joined = [(start, middle), (middle, end)]
    for other in others:
        free = [
            (place, cell)
            for place in (start, middle, end)
            for cell in (_beside(at[place], step) for step in steps)
            if cell not in at.values()
        ]
        place, at[other] = rng.choice(free)
        joined.append((place, other))
    told = _told_pairs(joined, rng)
    support = tuple(
        next(number for number, pair in enumerate(told) if pair in ((one, other), (other, one)))
        for one, other in joined[:2]
    )
    answers = tuple(_named(step, _COMPASS)[0] for step in (onward, turn))
    facts = tuple(_neighbour_fact(at, *pair) for pair in told)
    text = f"How do you go from the {start} to the {end}?"
    return Story(facts, (Asked(text, answers, support, len(facts)),))

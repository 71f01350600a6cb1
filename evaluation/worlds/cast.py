"""Who and what there is in bAbI's worlds, task by task, and how many of them a world is given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from text.errors import StoryQAError

_WOMEN = ("Mary", "Sandra", "Julie", "Gertrude", "Winona", "Emily", "Jessica", "Lily")
_MEN = (
    *("John", "Daniel", "Fred", "Bill", "Jeff", "Bernhard", "Brian"),
    *("Julius", "Greg", "Sumit", "Yann", "Jason", "Antoine"),
)
_ROOMS = ("bedroom", "kitchen", "garden", "hallway", "bathroom", "office")
_TOWN = ("bedroom", "kitchen", "office", "park", "school", "cinema")
OBJECTS = ("apple", "football", "milk")

_FAMILY = ("Mary", "John", "Daniel", "Sandra")
_FRIENDS = ("Fred", "Bill", "Julie", "Mary")
_ACTORS = {
    **dict.fromkeys((1, 2, 3, 6, 7, 8, 9, 11, 12, 13), _FAMILY),
    5: ("Fred", "Bill", "Jeff", "Mary"),
    **dict.fromkeys((10, 14), _FRIENDS),
    15: ("Gertrude", "Winona", "Emily", "Jessica"),
    16: ("Lily", "Bernhard", "Brian", "Julius", "Greg"),
    20: ("Sumit", "Yann", "Jason", "Antoine"),
}
_PLACES = {
    **dict.fromkeys((*range(1, 10), 11, 12, 13, 19), _ROOMS),
    **dict.fromkeys((10, 14), _TOWN),
}
_PAIRS = (12, 13)  # two actors go together
_FEWEST_PLACES = 3  # so that whoever is to move has somewhere to go
_HELD_BACK = (1, 2, 3, *range(5, 14))  # told as it happens, so that more can happen before a question

OPTIONS = {"actors": tuple(sorted(_ACTORS)), "places": tuple(sorted(_PLACES)), "distance": _HELD_BACK}
"""The tasks that each option of a simulation can change."""


def pronoun(actor: str) -> str:
    """``he`` or ``she``."""
    return "she" if actor in _WOMEN else "he"


@dataclass(frozen=True, slots=True)
class Cast:
    """The names that a world is made of, and how many facts its questions are held back for."""

    actors: tuple[str, ...]
    places: tuple[str, ...]
    distance: int = 0


def cast(task: int, actors: int | None, places: int | None, distance: int | None) -> Cast:
    """The cast of a task, by default the publishers'; more names are those of the other tasks.

    Raises ``StoryQAError`` for what the task does not have, and for more than there are names or fewer than
    its questions need.
    """
    for option, wanted in (("actors", actors), ("places", places), ("distance", distance)):
        if wanted is not None and task not in OPTIONS[option]:
            raise StoryQAError(
                f"--{option} cannot change task {task}; it can change tasks {listed(OPTIONS[option])}"
            )
    held_back = distance or 0
    if held_back < 0:
        raise StoryQAError(f"--distance is {held_back}; wanted 0 or more facts")
    fewest = (2 if task in (5, 16, *_PAIRS) else 1) + (held_back > 0 and task != 5)
    return Cast(
        _named("actors", task, _ACTORS.get(task, ()), (*_WOMEN, *_MEN), actors, fewest),
        _named("places", task, _PLACES.get(task, ()), (*_ROOMS, *_TOWN), places, _FEWEST_PLACES),
        held_back,
    )


def _named(
    what: str, task: int, own: tuple[str, ...], every: Iterable[str], wanted: int | None, fewest: int
) -> tuple[str, ...]:
    if wanted is None:
        return own
    names = tuple(dict.fromkeys((*own, *every)))
    if not fewest <= wanted <= len(names):
        raise StoryQAError(f"--{what} is {wanted}; task {task} can have {fewest} to {len(names)} {what}")
    return names[:wanted]


def listed(tasks: Iterable[int]) -> str:
    """``"1-3, 5"`` for 1, 2, 3 and 5; they must be in order."""
    runs: list[list[int]] = []
    for task in tasks:
        if runs and task == runs[-1][-1] + 1:
            runs[-1].append(task)
        else:
            runs.append([task])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)

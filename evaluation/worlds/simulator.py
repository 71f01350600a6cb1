"""Stories of the twenty bAbI tasks, made anew from a seed (Weston et al. 2015, section 4).

Facts are told of a simulated world; answers and their supporting facts follow from what was told. What is
drawn how often was counted in the publishers' training files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from random import Random
from typing import Any

from evaluation.worlds import carrying, kinds, relations, visits, whereabouts
from evaluation.worlds.cast import Cast, cast
from evaluation.worlds.scene import Scene
from evaluation.worlds.stories import TASKS, Story
from text.errors import StoryQAError

_SCENES: dict[int, Callable[[Random, Cast], Scene[Any]]] = {
    1: carrying.WhereIsActor,
    2: carrying.WhereIsThing,
    3: carrying.WhereWasThing,
    5: carrying.WhoGaveWhat,
    6: carrying.IsActorThere,
    7: carrying.HowMany,
    8: carrying.WhatIsCarried,
    9: whereabouts.Negation,
    10: whereabouts.Indefinite,
    11: whereabouts.Coreference,
    12: whereabouts.Conjunction,
    13: whereabouts.CompoundCoreference,
}
_TOLD_AT_ONCE: dict[int, Callable[[Random, Cast], Story]] = {
    4: relations.two_argument_relations,
    14: visits.time_reasoning,
    15: kinds.deduction,
    16: kinds.induction,
    17: relations.positional_reasoning,
    18: relations.size_reasoning,
    19: relations.path_finding,
    20: kinds.motivations,
}
_PATIENCE = 1000  # stories that are all known already before no more are looked for


class TooFewStories(StoryQAError):
    """A task has not as many different stories as were wanted."""


def simulate(
    task: int,
    questions: int,
    seed: int,
    *,
    actors: int | None = None,
    places: int | None = None,
    distance: int | None = None,
    split: str = "train",
    unlike: Collection[Story] = (),
) -> list[Story]:
    """Stories of a task with so many questions in all, the last one ending after the last of them.

    Equal arguments give equal stories; other splits of a seed are drawn anew. ``actors`` and ``places`` are
    how many names there are, in place of the publishers'; ``distance`` how many facts at least are told
    after the last supporting fact and before the question. No story is one of ``unlike``. Raises
    ``StoryQAError`` for what the task does not have, and ``TooFewStories``.
    """
    if task not in TASKS:
        raise StoryQAError(f"there is no task {task}; choose from {TASKS[0]} to {TASKS[-1]}")
    if questions < 1:
        raise StoryQAError(f"{questions} questions are wanted; ask for 1 or more")
    world = cast(task, actors, places, distance)
    found: list[Story] = []
    left = questions
    known = 0  # in a row
    for story in _stories(task, Random(f"bAbI {task} {split} {seed}"), world):
        ended = _up_to(story, left)
        if ended in unlike:
            known += 1
            if known == _PATIENCE:
                raise TooFewStories(
                    f"task {task} has too few different stories for this: {questions - left:,} of "
                    f"{questions:,} questions were made; ask for fewer, or for more actors or places"
                )
            continue
        known = 0
        found.append(ended)
        left -= len(ended.asked)
        if not left:
            break
    return found


def train_and_test(
    task: int,
    questions: int,
    seed: int,
    *,
    actors: int | None = None,
    places: int | None = None,
    distance: int | None = None,
) -> dict[str, list[Story]]:
    """So many questions of a task to ``train`` on and as many to ``test``, in different stories.

    Raises as ``simulate``; ``TooFewStories`` where the test cannot be as large without a story of the other.
    """
    train = simulate(task, questions, seed, actors=actors, places=places, distance=distance)
    test = simulate(
        task,
        questions,
        seed,
        actors=actors,
        places=places,
        distance=distance,
        split="test",
        unlike=frozenset(train),
    )
    return {"train": train, "test": test}


def _stories(task: int, rng: Random, world: Cast) -> Iterator[Story]:
    while True:
        if task in _SCENES:
            yield _SCENES[task](rng, world).play(world.distance)
        else:
            yield _TOLD_AT_ONCE[task](rng, world)


def _up_to(story: Story, questions: int) -> Story:
    """The story up to its last question of so many at most."""
    asked = story.asked[:questions]
    return Story(story.facts[: asked[-1].after], asked)

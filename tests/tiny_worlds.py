"""Stories of facts, of our own making, small enough to be learnt by heart; and how a system learns them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

from evaluation.worlds.stories import Asked, Story
from readers import open_reader
from readers.reading import Answer, Reader, Reading
from text.registry import resolve
from training.objectives.babi_systems import BABI_SYSTEMS, BabiRun

_PEOPLE = ("Orla", "Pim", "Wenna")
_PLACES = ("mill", "harbour", "orchard")


def walks(count: int, seed: int = 1) -> list[Story]:
    """People walk from place to place; after every second fact somebody is asked for."""
    rng = random.Random(seed)
    stories = []
    for _ in range(count):
        facts: list[str] = []
        asked: list[Asked] = []
        last: dict[str, tuple[str, int]] = {}
        for number in range(4):
            who, where = rng.choice(_PEOPLE), rng.choice(_PLACES)
            last[who] = where, number
            facts.append(f"{who} {rng.choice(('walked', 'rode'))} to the {where}.")
            if number % 2:
                who, (where, support) = rng.choice(sorted(last.items()))
                asked.append(Asked(f"Where is {who}?", (where,), (support,), number + 1))
        stories.append(Story(tuple(facts), tuple(asked)))
    return stories


def learnt(system: str, stories: Sequence[Story], out: Path, epochs: int | None = None) -> Reader:
    """The reader that ``system`` trains on the stories, opened where it was written."""
    run = BabiRun({1: stories}, (), out, "tales", 1, epochs)
    path: Path = resolve("system", system, BABI_SYSTEMS)(run)
    assert path == out / f"{system}.safetensors"
    return open_reader(f"{system}:{out}")


def asked_of(stories: Sequence[Story]) -> list[Reading]:
    """Every question of the stories, with the facts told before it."""
    return [Reading(one.text, story.facts[: one.after]) for story in stories for one in story.asked]


def right(reader: Reader, stories: Sequence[Story]) -> float:
    """The share of the questions that it answers as the stories do."""
    wanted = [",".join(one.answers) for story in stories for one in story.asked]
    given: list[list[Answer]] = reader.read(asked_of(stories))
    texts = [one[0].text if one else "" for one in given]
    return sum(map(str.__eq__, wanted, texts)) / len(wanted)

"""Which texts of the training data are held out: models, weights and thresholds are chosen on them."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Collection
from functools import lru_cache
from importlib.resources import files

FAIRYTALEQA_SHARE = 0.1
NARRATIVEQA_SHARE = 0.2
NOVELS_SHARE = 0.15
EVERYDAY_SHARE = 1 / 6
HELD_OUT = "held out"  # the part of a split that these are
HELD_OUT_HELP = "Only what training holds out: to choose by, not to report."
HELD_OUT_NOTE = "held-out stories of the training data: for choosing, not for reporting"
TRAINED_ON_NOTE = "the default models were trained on this split: for them these are no clean figures"
_SEED = 13


def held_out(stories: Collection[str], share: float) -> frozenset[str]:
    """Those of the stories that are on the list ``held_out.toml``.

    Where none of them is - another data set in the layout of one of ours - the held-out ``share`` of them,
    drawn by a fixed seed from their sorted names; a smaller share is then a part of a larger one.
    """
    listed = held_out_list() & set(stories)
    if listed:
        return listed
    names = sorted(stories)
    random.Random(_SEED).shuffle(names)
    return frozenset(names[: round(share * len(names))])


@lru_cache
def held_out_list() -> frozenset[str]:
    """The names on the list, of all data sets: a fairy tale is not called as a document of NarrativeQA is."""
    lists = tomllib.loads((files(__package__) / "held_out.toml").read_text("utf-8"))
    return frozenset(name for names in lists.values() for name in names)

"""Which stories of the training data are held out: models, weights and thresholds are chosen on them."""

from __future__ import annotations

import random
from collections.abc import Collection

FAIRYTALEQA_SHARE = 0.1
NARRATIVEQA_SHARE = 0.2
HELD_OUT = "held out"  # the part of a split that these stories are
HELD_OUT_HELP = "Only the stories that training holds out: to choose by, not to report."
HELD_OUT_NOTE = "held-out stories of the training data: for choosing, not for reporting"
TRAINED_ON_NOTE = "the default models were trained on this split: for them these are no clean figures"
_SEED = 13


def held_out(stories: Collection[str], share: float) -> frozenset[str]:
    """The held-out ``share`` of the stories, drawn by a fixed seed from their sorted names.

    A smaller share is a part of a larger one. The first twentieth of FairytaleQA train has been
    held out ever since the first reader was trained, the rest of its tenth since the second.
    """
    names = sorted(stories)
    random.Random(_SEED).shuffle(names)
    return frozenset(names[: round(share * len(names))])

"""WikiReading's instances to learn from, and those of the train split that are held out for choosing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from evaluation.wikireading.instances import Instance, read_instances
from training.corpora.corpus import NoTrainingData, fingerprint_of

SOURCES = {
    "wikireading": "WikiReading train, or a set made like it (Wikipedia, CC BY-SA; Wikidata, CC0)",
}
HELD_OUT = 20  # one document in so many, by a hash of its key


@dataclass(frozen=True, slots=True)
class PropertyCorpus:
    """The instances of the train split: those that are learnt, and those that weights are chosen by."""

    train: tuple[Instance, ...]
    held_out: tuple[Instance, ...]

    def describe(self) -> dict[str, tuple[int, int]]:
        """As ``Corpus.describe``: documents and instances that are learnt."""
        return {"wikireading": (len({one.key for one in self.train}), len(self.train))}

    def fingerprint(self) -> str:
        """As ``Corpus.fingerprint``."""
        instances = (*self.train, *self.held_out)
        return fingerprint_of(part for one in instances for part in (one.key, one.property))

    def documents(self) -> dict[str, str]:
        """The texts that are learnt, by key, each once."""
        return {one.key: one.document for one in self.train}


def load(folders: Sequence[Path], count: int | None) -> PropertyCorpus:
    """The first ``count`` instances of the train split of the one folder, None for all.

    Raises NoTrainingData for several folders or too few instances, and ``DataError``.
    """
    if len(folders) != 1:
        raise NoTrainingData(f"{len(folders)} folders of data; wanted one, with WikiReading")
    found = tuple(islice(read_instances(folders[0], "train"), count))
    held_out = tuple(one for one in found if _is_held_out(one.key))
    train = tuple(one for one in found if not _is_held_out(one.key))
    if not train:
        raise NoTrainingData(f"{folders[0]}: {len(found)} instances in the train split; wanted more")
    return PropertyCorpus(train, held_out)


def _is_held_out(key: str) -> bool:
    return int(hashlib.sha256(key.encode()).hexdigest(), 16) % HELD_OUT == 0

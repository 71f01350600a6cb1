"""The systems that ``storyqa train babi`` can train: a line each, and what they are given.

A new one is one record: ``where`` leads to ``learn(run) -> Path``, which fits a model to the stories of
``run`` and writes its file into ``run.out``, where the reader of that name opens it. It goes on from a run
that was stopped there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.worlds.stories import Story
from text.registry import Spec, by_name, check_name


@dataclass(frozen=True, slots=True)
class BabiRun:
    """What one model learns from: ``stories`` by task, of several tasks where it is one model for them.

    ``options`` are those of the system (``("am", "ng")``), in the table's order. ``trained_on`` says on what,
    for the model's file.
    """

    stories: Mapping[int, Sequence[Story]]
    options: tuple[str, ...]
    out: Path
    trained_on: str
    seed: int
    epochs: int | None = None

    @property
    def fingerprint(self) -> str:
        """As ``Corpus.fingerprint``."""
        return hashlib.sha256(repr(self.stories).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class BabiSystem(Spec):
    """One line of ``BABI_SYSTEMS``: ``name`` is the reader's, ``options`` what may follow its @."""

    options: tuple[str, ...] = ()


_HERE = "training.objectives"
_WESTON = "Weston et al. 2015"

BABI_SYSTEMS: dict[str, BabiSystem] = by_name(
    BabiSystem("babi-ngram", f"{_HERE}.babi_ngram:learn", "n-grams of facts, a classifier", _WESTON, "5"),
    BabiSystem("babi-lstm", f"{_HERE}.babi_lstm:learn", "an LSTM over the story", _WESTON, "5"),
    BabiSystem("babi-svm", f"{_HERE}.babi_svm:learn", "a structured SVM over triples of facts", _WESTON, "5"),
    BabiSystem(
        "memnn",
        f"{_HERE}.memnn:learn",
        "a memory network that finds facts one after another",
        _WESTON,
        "appendix A",
        options=("am", "ng", "nl", "multilinear", "multitask"),
    ),
)
MULTITASK = "multitask"  # the option of a system that is one model for all tasks


def system_of(text: str) -> tuple[BabiSystem, tuple[str, ...]]:
    """The line of the table, and the options in its order, of a system such as ``memnn@am,ng``.

    Raises ``UnknownName`` for a system or an option that is not there.
    """
    name, _, written = text.partition("@")
    check_name("system", name, BABI_SYSTEMS)
    system = BABI_SYSTEMS[name]
    given = [option for option in written.split(",") if option]
    for option in given:
        check_name(f"option of {name}", option, system.options)
    return system, tuple(option for option in system.options if option in given)

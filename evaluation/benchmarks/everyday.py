"""Recipes, manuals, minutes and other kinds of text, all our own writing: to learn and to choose by."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark
from evaluation.benchmarks.holdout import (
    EVERYDAY_SHARE,
    HELD_OUT,
    HELD_OUT_HELP,
    HELD_OUT_NOTE,
    TRAINED_ON_NOTE,
)
from evaluation.benchmarks.holdout import held_out as held_out_kinds
from evaluation.benchmarks.squad import load as load_squad

FILE = "everyday.json"
FOLDER = Path(str(files(__package__) / "everyday"))


def load(held_out: Annotated[bool, HELD_OUT_HELP] = False) -> Benchmark:
    """The questions about texts of 48 kinds; each answer is a span of the text given.

    They come with storyqa, in SQuAD's layout. ``held_out`` keeps the kinds that models are chosen on.
    """
    every = load_squad(FOLDER / FILE)
    apart = held_out_kinds({one.kind for one in every.questions if one.kind}, EVERYDAY_SHARE)
    return replace(
        every,
        name="everyday",
        split="own",
        setting="texts",
        questions=tuple(one for one in every.questions if not held_out or one.kind in apart),
        part=HELD_OUT if held_out else None,
        notes=(HELD_OUT_NOTE,) if held_out else (TRAINED_ON_NOTE,),
    )

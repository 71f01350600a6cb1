"""Texts unlike articles and stories, as SQuADShifts has some (Miller et al. 2020), all our own writing."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark
from evaluation.benchmarks.files import choose
from evaluation.benchmarks.squad import load as load_squad

SETTINGS = ("all", "news", "reviews", "forum", "letters")


def load(setting: Annotated[str, f"{', '.join(SETTINGS)}."] = SETTINGS[0]) -> Benchmark:
    """The questions about texts of one domain, or of all; each answer is a span of the paragraph given.

    They come with storyqa, in SQuAD's layout, and no model was trained on them.
    """
    choose("setting", setting, SETTINGS, "the set of other domains")
    every = load_squad(Path(str(files(__package__) / "domains.json")))
    questions = tuple(one for one in every.questions if setting in (SETTINGS[0], one.kind))
    return replace(every, name="domains", split="own", setting=setting, questions=questions)

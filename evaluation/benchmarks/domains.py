"""Texts unlike articles and stories, as SQuADShifts has some (Miller et al. 2020), all our own writing."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark
from evaluation.benchmarks.files import choose
from evaluation.benchmarks.squad import asked_of

SETTINGS = ("all", "news", "reviews", "forum", "letters")


def load(setting: Annotated[str, f"{', '.join(SETTINGS)}."] = SETTINGS[0]) -> Benchmark:
    """The questions about texts of one domain, or of all; each answer is a span of the paragraph given.

    They come with storyqa: no model was trained on them, and nothing chosen by them.
    """
    choose("setting", setting, SETTINGS, "the set of other domains")
    asked = asked_of(Path(str(files(__package__) / "domains.json")))
    return Benchmark(
        name="domains",
        split="own",
        setting=setting,
        questions=tuple(one for one in asked.questions if setting in (SETTINGS[0], one.kind)),
        books=asked.books,
        titles=asked.titles,
        ranked=False,
    )

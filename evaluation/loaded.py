"""The questions of a published table: those of each setting, or why there are none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.benchmark import Benchmark, sample
from evaluation.benchmarks.files import DataError
from evaluation.run import Progress

Loaded = Mapping[str, Benchmark | DataError]


def load_settings(
    benchmark: str,
    settings: Iterable[str],
    data: Path,
    split: str,
    limit: int | None,
    seed: int,
    cache: Path | None,
    progress: Progress,
) -> Loaded:
    """The benchmark in each of the ``settings``; its loader is given what it takes of the rest."""
    load = BENCHMARKS[benchmark].load
    takes = signature(load).parameters
    # Some draw what they make or read themselves: of a stream, what is left out is not kept.
    given: dict[str, Any] = {"limit": limit, "seed": seed, "cache": cache}
    options = {name: value for name, value in given.items() if name in takes}
    loaded: dict[str, Benchmark | DataError] = {}
    for setting in dict.fromkeys(settings):
        progress(f"loading {setting}", 0, 1)
        try:
            loaded[setting] = load(data, split=split, setting=setting, **options)
        except DataError as error:
            loaded[setting] = error
        progress(f"loading {setting}", 1, 1)
    return loaded


def bounds_of(loaded: Loaded, limit: int | None, seed: int) -> dict[str, float]:
    """What the best answers to the questions drawn are worth, by name, where the benchmark says so."""
    found: dict[str, float] = {}
    for one in loaded.values():
        if isinstance(one, Benchmark) and one.bounds is not None:
            found |= one.bounds(sample(one.questions, limit, seed))
    return found

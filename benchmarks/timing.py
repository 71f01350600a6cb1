"""Contenders timed in turns, A B A B, so that whatever else the machine does falls on all of them alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Given = TypeVar("Given")
Got = TypeVar("Got")

_REST_S = 0.02  # between turns: threads of the one before may still be spinning


@dataclass(frozen=True, slots=True)
class Timing:
    """The seconds of every call, in order."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def quartiles(self) -> tuple[float, float]:
        """The middle half of the calls lies between them."""
        if len(self.seconds) < 2:
            return self.seconds[0], self.seconds[0]
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return low, high

    def summary(self) -> dict[str, float | int]:
        """For the results file, in milliseconds."""
        low, high = self.quartiles
        return {
            "median_ms": 1000 * self.median,
            "low_ms": 1000 * low,
            "high_ms": 1000 * high,
            "calls": len(self.seconds),
        }


# What one call took in seconds, and what it returned.
Call = Callable[[Given], tuple[float, Got]]


def timed(function: Callable[[Given], Got]) -> Call[Given, Got]:
    """``function`` as a contender in this process."""

    def call(given: Given) -> tuple[float, Got]:
        began = time.perf_counter()
        got = function(given)
        return time.perf_counter() - began, got

    return call


@dataclass(frozen=True, slots=True)
class Race(Generic[Got]):
    """What all contenders took, and what they returned, by name."""

    timings: dict[str, Timing]
    results: dict[str, list[Got]]


def race(
    contenders: Mapping[str, Call[Given, Got]],
    turns: Sequence[Sequence[Given]],
    warm_up: Sequence[Given],
) -> Race[Got]:
    """Every contender on the same inputs: in each turn, one contender after the other does all of the turn.

    ``warm_up`` is done first and not counted. Fast calls want turns of many inputs, slow ones of one.
    """
    for call in contenders.values():
        for given in warm_up:
            call(given)
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    results: dict[str, list[Got]] = {name: [] for name in contenders}
    for turn in turns:
        for name, call in contenders.items():
            time.sleep(_REST_S)
            for given in turn:
                took, got = call(given)
                seconds[name].append(took)
                results[name].append(got)
    return Race({name: Timing(tuple(took)) for name, took in seconds.items()}, results)


def in_turns(inputs: Sequence[Given], size: int) -> list[Sequence[Given]]:
    """``inputs`` cut into turns of ``size``."""
    return [inputs[i : i + size] for i in range(0, len(inputs), size)]

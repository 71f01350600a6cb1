"""How long the steps of one batch took."""

from __future__ import annotations

import time

STEPS = ("search", "rerank", "read", "cite")


class Laps:
    """A stopwatch: ``end`` says which step has just ended, and the next one begins."""

    def __init__(self) -> None:
        self._began = self._lap = time.perf_counter()
        self._seconds: dict[str, float] = {}

    def end(self, step: str) -> None:
        """``step`` took from the end of the one before it until now."""
        now = time.perf_counter()
        self._seconds[step] = now - self._lap
        self._lap = now

    def timings_ms(self) -> dict[str, float]:
        """The steps that have ended, in milliseconds, and their ``total``."""
        seconds = self._seconds | {"total": self._lap - self._began}
        return {step: round(1000 * s, 3) for step, s in seconds.items()}

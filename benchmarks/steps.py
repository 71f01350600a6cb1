"""Wall time by step of answering, told by the files of the functions that run."""

from __future__ import annotations

import sys
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
SEARCH, WINDOWS, EMBEDDINGS = "search", "tokenising, windows", "embeddings"
GRAPH, HEAD, SPANS = "calls of OpenVINO", "head, batches", "choosing spans"
SCORING, WRITING = "decoder, scoring", "decoder, writing"
OTHER, OBSERVING = "the rest", "observing"
# The steps of files, folders and functions. What is called from elsewhere counts to the step of who calls it.
STEPS = {
    "answering/finding.py": SEARCH,
    "retrieval": SEARCH,
    "encoders/windows.py": WINDOWS,
    "encoders/openvino_layers.py": EMBEDDINGS,
    "encoders/openvino_layers.py:Compiled.__call__": GRAPH,
    "encoders/batches.py": HEAD,
    "encoders/cross_encoder.py": HEAD,
    "readers/default/auto.py": SPANS,
    "readers/default/span.py": SPANS,
    "readers/default/answer_selector.py": SPANS,
    "readers/default/generate.py:GenerateReader.rank": SCORING,
    "readers/default/generate.py:GenerateReader.read": WRITING,
    "benchmarks": OBSERVING,
}
# Whatever these call is of one step: a retriever's encoder, the decoder's graphs.
WHOLE = ("retrieval", "readers/default/openvino_decoding.py")


class StepClock:
    """Seconds by step of what this thread does in a ``with`` block; each moment counts to one step.

    ``now`` is the step that runs, ``outer`` the one that it interrupts.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.now = OTHER
        self._outer: list[tuple[FrameType, str, bool]] = []
        self._whole = False
        self._since = 0.0

    def __enter__(self) -> StepClock:
        self._since = time.perf_counter()
        sys.setprofile(self._event)
        return self

    def __exit__(self, *error: object) -> None:
        sys.setprofile(None)
        self._turn(OTHER)

    @property
    def outer(self) -> str:
        return self._outer[-1][1] if self._outer else OTHER

    def _event(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            if self._whole:
                return
            step, whole = step_of(frame.f_code.co_filename, frame.f_code.co_qualname)
            if whole or step not in (None, self.now):
                self._outer.append((frame, self.now, self._whole))
                self._whole = whole
                self._turn(step or self.now)
        elif event == "return" and self._outer and self._outer[-1][0] is frame:
            _, step, self._whole = self._outer.pop()
            self._turn(step)

    def _turn(self, step: str) -> None:
        now = time.perf_counter()
        self.seconds[self.now] += now - self._since
        self._since, self.now = now, step


@cache
def step_of(file: str, function: str) -> tuple[str | None, bool]:
    """The step of a function of a file, None for its caller's, and whether all that it calls is of it."""
    path = Path(file)
    if not path.is_relative_to(ROOT):
        return None, False
    place = path.relative_to(ROOT).as_posix()
    folder = place.partition("/")[0]
    steps = (STEPS[one] for one in (f"{place}:{function}", place, folder) if one in STEPS)
    return next(steps, None), place in WHOLE or folder in WHOLE

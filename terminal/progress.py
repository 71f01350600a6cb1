"""Progress bars for work that has proved to be long, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_S = 2.0


class ProgressBars:
    """A bar per step of some work, in the order they begin, on standard error.

    They appear once the work has taken longer than two seconds, and only where standard error is a
    terminal. Use it as a context, so that the terminal is left as it was; calling it moves a bar on.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._steps: dict[str, tuple[int, int]] = {}
        self._shown: Progress | None = None
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> ProgressBars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()

    def __call__(self, step: str, done: int, total: int) -> None:
        """``step`` has come as far as ``done`` of ``total``."""
        self._steps[step] = done, total
        self._show()

    def remove(self, step: str) -> None:
        """Take away the bar of ``step``, if it has one."""
        self._steps.pop(step, None)
        if self._shown is not None and step in self._bars:
            self._shown.remove_task(self._bars.pop(step))

    def say(self, line: str) -> None:
        """Print a line on standard output, above the bars."""
        if self._shown is None or not sys.stdout.isatty():
            print(line, flush=True)
        else:
            self._shown.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _show(self) -> None:
        if self._shown is None:
            if not sys.stderr.isatty() or time.monotonic() - self._began <= _PATIENCE_S:
                return
            self._shown = _bars()
            self._shown.start()
        for step, (done, total) in self._steps.items():
            if step not in self._bars:
                self._bars[step] = self._shown.add_task(step, total=total)
            self._shown.update(self._bars[step], completed=done, total=total)


def _bars() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)

"""Progress bars for work that has proved to be long, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_S = 2.0


class Bars:
    """A bar for the whole and one for each part in hand, on standard error.

    They appear once the work has taken longer than two seconds, and only where standard error is
    a terminal. Use it as a context, so that the terminal is left as it was.
    """

    def __init__(self, title: str, total: int) -> None:
        self._title = title
        self._total = total
        self._finished = 0
        self._began = time.monotonic()
        self._shown: Progress | None = None
        self._whole: TaskID | None = None
        self._parts: dict[str, TaskID] = {}

    def __enter__(self) -> Bars:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown.stop()

    def part(self, name: str, done: int, total: int) -> None:
        """``name`` has come as far as ``done`` of ``total``."""
        bars = self._bars()
        if bars is not None:
            if name not in self._parts:
                self._parts[name] = bars.add_task(name, total=total)
            bars.update(self._parts[name], completed=done)

    def finish(self, name: str) -> None:
        """``name`` is done; its bar goes and the whole moves on by one."""
        self._finished += 1
        bars = self._bars()
        if bars is not None and self._whole is not None:
            if name in self._parts:
                bars.remove_task(self._parts.pop(name))
            bars.update(self._whole, completed=self._finished)

    def say(self, line: str) -> None:
        """Print a line on standard output, above the bars."""
        if self._shown is None or not sys.stdout.isatty():
            print(line, flush=True)
        else:
            self._shown.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _bars(self) -> Progress | None:
        if self._shown is None and sys.stderr.isatty() and time.monotonic() - self._began > _PATIENCE_S:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            self._shown = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=Console(stderr=True),
                transient=True,
            )
            self._whole = self._shown.add_task(self._title, total=self._total)
            self._shown.start()
        return self._shown

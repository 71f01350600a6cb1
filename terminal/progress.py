"""Progress bars for work that has proved to be long, on a terminal and nowhere else."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

_PATIENCE_S = 2.0


class ProgressBars:
    """A bar per step of some work, in the order they begin, on standard error.

    They appear once the work has taken longer than two seconds, whatever it does then, and only where
    standard error is a terminal; before the first step a bar without an end says what the work is,
    ``beginning``. Use it as a context, so that the terminal is left as it was; calling it moves a bar on.
    """

    def __init__(self, beginning: str = "loading") -> None:
        self._beginning = beginning
        self._steps: dict[str, tuple[int, int | None]] = {beginning: (0, None)}
        self._shown: Progress | None = None
        self._bars: dict[str, TaskID] = {}
        self._lock = threading.RLock()
        self._timer = threading.Timer(_PATIENCE_S, self._appear)
        self._timer.daemon = True

    def __enter__(self) -> ProgressBars:
        if sys.stderr.isatty():
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Take the bars away for good, from any thread."""
        with self._lock:
            self._timer.cancel()
            if self._shown is not None:
                self._shown.stop()

    def __call__(self, step: str, done: int, total: int) -> None:
        """``step`` has come as far as ``done`` of ``total``."""
        with self._lock:
            if step != self._beginning:
                self.remove(self._beginning)
            self._steps[step] = done, total
            self._update()

    def remove(self, step: str) -> None:
        """Take away the bar of ``step``, if it has one."""
        with self._lock:
            self._steps.pop(step, None)
            if self._shown is not None and step in self._bars:
                self._shown.remove_task(self._bars.pop(step))

    def say(self, line: str) -> None:
        """Print a line on standard output, above the bars."""
        with self._lock:
            if self._shown is None or not sys.stdout.isatty():
                print(line, flush=True)
            else:
                self._shown.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def _appear(self) -> None:
        with self._lock:
            if not self._timer.finished.is_set():  # it is, from the moment that the work has ended
                self._shown = _bars()
                self._shown.start()
                self._update()

    def _update(self) -> None:
        if self._shown is None:
            return
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

"""How far a run is, on a terminal."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from evaluation.run import Tell


class ProgressBars:
    """One bar per step, in the order they begin; silent where the console is no terminal."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)

    def __enter__(self) -> Tell:
        self._progress.start()
        bars = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in bars:
                bars[what] = self._progress.add_task(what)
            self._progress.update(bars[what], completed=done, total=total)

        return tell

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

"""What has been read so far to fit a selector, in the folder of its run, which goes on with it."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from readers.default.answer_selector import Signals
from training.selection import ScoredCandidates
from training.trainer import Paused, RunExists


class KeptCandidates:
    """Scored candidates, a line of a file for each batch of them, and the indexes that they were found in.

    ``scored`` are those so far, ``seconds`` what they and the indexes took.
    """

    def __init__(
        self,
        selector: Path,
        depends: Mapping[str, object],
        resume: bool = False,
        until: float | None = None,
    ) -> None:
        """Those of the fit that leaves ``selector``, which depends on the data, the models and so on.

        It pauses where the time ``until`` has passed, as ``time.monotonic`` tells it. Raises RunExists where
        something is kept and ``resume`` does not say to go on, or that of another fit.
        """
        self._path, self._until = selector.with_suffix(".read.jsonl"), until
        self.books = selector.with_suffix(".books")
        self.scored: list[ScoredCandidates] = []
        self.seconds = 0.0
        wanted = json.dumps(depends)
        lines = [wanted]
        if self._path.is_file():
            if not resume:
                out = self._path.parent
                raise RunExists(
                    f"{out} holds a run already; give --resume to go on with it, or another --out"
                )
            lines = _whole(self._path.read_text(encoding="utf-8").splitlines()) or [wanted]
            if lines[0] != wanted:
                raise RunExists(
                    f"{self._path} was read with {lines[0]}; give the same options or another --out"
                )
        self._path.parent.mkdir(parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        new.replace(self._path)  # all or nothing, whenever the process is killed
        for line in lines[1:]:
            self._take(line)
        self._began = time.monotonic() - self.seconds

    def add(self, scored: Sequence[ScoredCandidates] = (), last: bool = False) -> None:
        """Keep a batch of candidates, or of none the time that an index took.

        Raises Paused where the time is up, unless they are the ``last``.
        """
        row = {"seconds": round(time.monotonic() - self._began, 1), "scored": [asdict(one) for one in scored]}
        line = json.dumps(row, default=float)  # numbers of NumPy
        with self._path.open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")
        self._take(line)
        if not last and self._until is not None and time.monotonic() >= self._until:
            raise Paused(f"{self._path} is not finished; go on with --resume")

    def _take(self, line: str) -> None:
        """Take what a line tells, so that a fit has the very numbers of one that was stopped."""
        row = json.loads(line)
        self.scored += [_candidates(one) for one in row["scored"]]
        self.seconds = row["seconds"]

    def discard(self) -> None:
        """Remove all that is kept: the fit is done."""
        self._path.unlink()
        shutil.rmtree(self.books, ignore_errors=True)


def _whole(lines: Sequence[str]) -> list[str]:
    """The lines before the first that is no JSON, as the half one of a killed process."""
    found: list[str] = []
    for line in lines:
        try:
            json.loads(line)
        except ValueError:
            break
        found.append(line)
    return found


def _candidates(row: Mapping[str, Any]) -> ScoredCandidates:
    signals = tuple(Signals(**one) for one in row["signals"])
    return ScoredCandidates(row["story"], row["where"], row["question"], signals, tuple(row["worth"]))

"""What every command of ``storyqa train`` is given, and what it gives back."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from evaluation.metrics.overlap import require_extra
from terminal.progress import ProgressBars
from text.errors import Stopped
from training.corpora.corpus import Corpus, NoTrainingData
from training.corpora.loading import load_corpus, load_official_corpus
from training.learning_curve import plot_training
from training.trainer import RunExists, Trainable, Trainer

log = logging.getLogger(__name__)


def is_new(out: Path) -> bool:
    """Whether nothing has been left in ``out``, or it is not there."""
    return not out.is_dir() or not any(out.iterdir())


def tell_beginning(out: Path) -> None:
    """Say that a run that was to go on begins, since ``out`` holds nothing of one."""
    log.warning("%s holds no run to go on with, so this one begins", out)


class Outcome(Protocol):
    """What a command leaves, told to machines and to people."""

    def describe(self) -> dict[str, object]:
        """For machines."""
        ...

    def lines(self) -> Iterator[str]:
        """For people."""
        ...


@dataclass(frozen=True, slots=True)
class Invocation:
    """The folders of data, the folder to leave everything in, and the command line as a card tells it.

    ``cache`` is where what takes long to make of data is kept, None the user's cache. ``share`` of the
    documents are used, and a run ends when ``until`` has passed, a time as ``time.monotonic`` tells it.
    """

    data: Sequence[Path]
    out: Path
    command: str
    resume: bool = False
    cache: Path | None = None
    share: float = 1.0
    until: float | None = None

    def corpus(self) -> Corpus:
        """See ``load_corpus``; raises MissingExtra where the held-out scores could not be computed."""
        require_extra()  # the held-out scores need it, an hour from now
        return load_corpus(self.data).part(self.share)

    def official_corpus(self, stories: bool) -> Corpus:
        """See ``load_official_corpus``; raises MissingExtra as ``corpus``."""
        require_extra()
        return load_official_corpus(self.data, stories)

    def train(
        self, task: Trainable, validations: int = 4, workers: int = 0, within: float | None = None
    ) -> Trainer[Trainable]:
        """Train to the end, ``workers`` processes making its batches, and draw the curve.

        With ``within`` the end is after so many minutes of training. Raises NoTrainingData where the options
        leave nothing to learn, RunExists for a folder with another run, and Paused where the time is up.
        """
        if not task.chunks:
            found = ", ".join(
                f"{kind} ({works:,} works, {questions:,} questions)"
                for kind, (works, questions) in task.data.items()
            )
            raise NoTrainingData(
                f"{', '.join(map(str, self.data))}: the options leave nothing to learn of {found}; wanted "
                "passes over some of it, or a larger --count: see the command's --help"
            )
        trainer = Trainer(task, self.out, workers, None if within is None else 60 * within)
        if self.resume:
            if not trainer.resume() and not is_new(self.out):  # of a new folder the command has told
                tell_beginning(self.out)
        elif trainer.checkpoint.exists():
            raise RunExists(
                f"{self.out} holds a run already; give --resume to go on with it, or another --out"
            )
        try:
            with ProgressBars() as tell:
                trainer.train(
                    lambda done, total: tell("training", done, total),
                    validations=validations,
                    until=self.until,
                )
        except KeyboardInterrupt:
            if trainer.checkpoint.exists():
                raise Stopped("the same command with --resume goes on from the last checkpoint") from None
            raise
        plot_training(self.out / "log.jsonl", self.out / "curve.png")
        return trainer

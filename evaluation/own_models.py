"""Where models of a published table are, that were trained by a user or here, and how to train others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from math import prod
from pathlib import Path

from evaluation.published.figures import Ours, Published


def own_weights(models: Sequence[Path], ours: Ours) -> Path | None:
    """The first of the folders, and of those in them, that has the row's model; None where none has.

    For an ensemble the one that has several folders with such models, and none of its own; where the row has
    a model for each kind of question, the one that has folders of these.
    """
    for folder in (one for given in models for one in (given, *sorted(filter(Path.is_dir, given.iterdir())))):
        alone = (folder / ours.weights).is_file()
        members = len(list(folder.glob(f"*/{ours.weights}")))
        several = members > 0 if ours.per_kind else members > 1 and not alone
        if several if ours.per_kind or ours.ensemble else alone:
            return folder
    return None


def is_shipped(ours: Ours) -> bool:
    """Whether the row's model comes with storyqa."""
    alone = not ours.ensemble and not ours.per_kind
    return alone and (files("readers.weights") / ours.weights).is_file()


def count_numbers(path: Path) -> int:
    """How many numbers a file of safetensors holds; they are not read."""
    from safetensors import safe_open

    with safe_open(path, "np") as file:
        return sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118, it is no dict


@dataclass(frozen=True, slots=True)
class OwnModels:
    """The folders of models that a reproduction may use: those ``given``, then what it trained itself."""

    published: Published
    data: Path
    given: tuple[Path, ...]
    trained: Path

    def folder(self, ours: Ours, questions: int | None = None) -> Path | None:
        """Where the row's model is, that learnt from so many ``questions`` a kind; None for nowhere."""
        made = self.trained / _slug(ours, questions)
        if (made / ours.weights).is_file() or any(made.glob(f"*/{ours.weights}")):
            return made
        return own_weights(self.given, ours) if questions is None else None

    def parameters(self, ours: Ours) -> int | None:
        """How many numbers the row's model consists of; None where it has none, or several."""
        folder = self.folder(ours)
        path = files("readers.weights") if folder is None else folder
        with as_file(path / ours.weights) as weights:
            return count_numbers(weights) if ours.trained and weights.is_file() else None

    def command(self, ours: Ours, out: str) -> list[str]:
        """The words that train the row's model into the folder ``out``."""
        benchmark = self.published.benchmark
        system = (
            [ours.trained_as] if self.published.own_commands else [benchmark, "--system", ours.trained_as]
        )
        return ["train", *system, "--data", str(self.data), "--out", out]

    def commands(self, ours: Ours, kinds: Sequence[str], workers: int) -> list[list[str]]:
        """Those that train what the row lacks for these ``kinds`` of questions, and keep what is there."""
        if self.folder(ours) is not None and self.folder(ours) != self.trained / _slug(ours, None):
            return []
        found = []
        for questions in (*ours.sizes[:-1], None):
            words = self.command(ours, str(self.trained / _slug(ours, questions)))
            words += ["--task", ",".join(kinds), "--workers", str(workers), "--resume"]
            found.append([*words, "--questions", str(questions)] if questions else words)
        return found


def _slug(ours: Ours, questions: int | None) -> str:
    name = ours.weights.rpartition(".")[0]
    return f"{name}-{questions}" if questions else name

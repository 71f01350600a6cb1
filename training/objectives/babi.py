"""``storyqa train babi``: any system of ``BABI_SYSTEMS``, a model a task, several at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated

import typer

from evaluation.worlds.stories import Story, file_of, read_stories, task_numbers
from terminal.progress import ProgressBars
from text.registry import import_object
from training.corpora.corpus import NoTrainingData
from training.export import Provenance
from training.invocation import Invocation, Outcome
from training.objectives.babi_systems import BABI_SYSTEMS, MULTITASK, BabiRun, system_of
from training.objectives.options import Seed
from training.trainer import RunExists

System = Annotated[
    str,
    typer.Option(
        help=f"{', '.join(BABI_SYSTEMS)}; memnn with any of its options, as in memnn@am,ng,nl, or "
        "memnn@multitask, one model for all tasks."
    ),
]
Questions = Annotated[
    int | None, typer.Option(min=1, help="Of each task the first so many questions.", show_default=False)
]
Epochs = Annotated[int | None, typer.Option(min=1, help="Passes over the data.", show_default=False)]
Tasks = Annotated[str, typer.Option("--task", help="The tasks, as in 1-20 or 1,3,7-9.")]
Workers = Annotated[int, typer.Option(min=1, help="Models trained at a time, each in a process.")]

_DONE = "done.json"


@dataclass(frozen=True, slots=True)
class BabiSettings:
    """What a model depends on, beside its data; None is what the system has by itself."""

    system: System = "memnn@am,ng,nl"
    seed: Seed = 13
    questions: Questions = None
    epochs: Epochs = None


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a command left in a folder: their files, and the seconds that each took."""

    out: Path
    weights: tuple[Path, ...]
    seconds: tuple[float, ...]

    def describe(self) -> dict[str, object]:
        """For machines."""
        return {"weights": [str(path) for path in self.weights], "seconds": self.seconds}

    def lines(self) -> Iterator[str]:
        """For people."""
        size = sum(path.stat().st_size for path in self.weights)
        models = "1 model" if len(self.weights) == 1 else f"{len(self.weights)} models"
        yield f"{self.weights[0].name} in {self.out}: {models}, {size:,} bytes, {sum(self.seconds):.0f} s"


def train(run: Invocation, settings: BabiSettings, *, task: Tasks = "1-20", workers: Workers = 1) -> Outcome:
    """Train on the train split: a model a task in OUT/qaN, or with ``multitask`` one model in OUT.

    With ``--resume`` models that are there are kept. Raises ``RunExists`` where they were trained otherwise,
    or without ``--resume``, and the loader's ``DataError``.
    """
    system, options = system_of(settings.system)
    if len(run.data) != 1:
        raise NoTrainingData(f"{len(run.data)} folders of data; wanted one, with bAbI's files")
    stories = {
        one: first_questions(read_stories(file_of(run.data[0], one, "train")), settings.questions)
        for one in task_numbers(task)
    }
    together = MULTITASK in options
    parts = [stories] if together else [{one: of_one} for one, of_one in stories.items()]
    runs = [
        BabiRun(
            part,
            options,
            run.out if together else run.out / f"qa{min(part)}",
            f"bAbI train, {_described(part)}",
            settings.seed,
            settings.epochs,
        )
        for part in parts
    ]
    kept = [_kept(one, settings) for one in runs]
    if any(kept) and not run.resume:
        raise RunExists(f"{run.out} holds models already; give --resume to keep them, or another --out")
    missing = [number for number, one in enumerate(kept) if one is None]
    with ProgressBars() as tell:
        for done, (number, made) in enumerate(_learn([(n, runs[n]) for n in missing], system.where, workers)):
            kept[number] = made
            (runs[number].out / _DONE).write_text(json.dumps([_record(runs[number], settings), *made]) + "\n")
            tell("training", done + 1, len(missing))
    found = [one for one in kept if one is not None]
    weights = tuple(one.out / name for one, (name, _) in zip(runs, found, strict=True))
    if together:
        _write_card(weights[0], runs[0], run.command, settings, found[0][1])
    return Models(run.out, weights, tuple(seconds for _, seconds in found))


def _learn(
    runs: Sequence[tuple[int, BabiRun]], where: str, workers: int
) -> Iterator[tuple[int, tuple[str, float]]]:
    """Per run its number, and the name of its weights with the seconds that it took, as they are done."""
    if workers == 1 or len(runs) < 2:
        for number, one in runs:
            yield number, _learn_one(where, one)
        return
    # spawn: a copy of a process that has threads may hang.
    with ProcessPoolExecutor(workers, get_context("spawn"), _one_thread) as pool:
        futures = {pool.submit(_learn_one, where, one): number for number, one in runs}
        for future in as_completed(futures):
            yield futures[future], future.result()


def _learn_one(where: str, run: BabiRun) -> tuple[str, float]:
    began = time.monotonic()
    run.out.mkdir(parents=True, exist_ok=True)
    path: Path = import_object(where)(run)
    return path.name, round(time.monotonic() - began, 1)


def _one_thread() -> None:
    """Processes that each take all cores wait for one another."""
    import torch

    torch.set_num_threads(1)


def _kept(run: BabiRun, settings: BabiSettings) -> tuple[str, float] | None:
    """What a command before left of the run, None where it left nothing; raises ``RunExists`` for another."""
    try:
        record, name, seconds = json.loads((run.out / _DONE).read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        record, name, seconds = None, "", 0.0
    if record != _record(run, settings) or not (run.out / name).is_file():
        raise RunExists(f"{run.out} holds a model that was trained otherwise; name another --out")
    return name, seconds


def _record(run: BabiRun, settings: BabiSettings) -> list[object]:
    """What a model was trained with, and on."""
    system = settings.system.partition("@")[0]
    return [system, list(run.options), run.seed, run.epochs, run.fingerprint]


def _described(stories: Mapping[int, Sequence[Story]]) -> str:
    tasks = f"task {min(stories)}" if len(stories) == 1 else f"{len(stories)} tasks"
    questions = sum(len(story.asked) for of_one in stories.values() for story in of_one)
    return f"{tasks} ({questions:,} questions of {sum(map(len, stories.values())):,} stories)"


def _write_card(weights: Path, run: BabiRun, command: str, settings: BabiSettings, seconds: float) -> None:
    made = Provenance({}, run.seed, command, json.dumps(asdict(settings)), f"{seconds / 60:.0f} minutes", {})
    weights.with_suffix(".md").write_text(
        f"""# {weights.name}

A memory network, {", ".join(run.options)}. Weston et al. 2015, appendix A.

- **Data**: {run.trained_on}, with their supporting facts (CC BY 3.0, Facebook). No test split was used,
  and nothing was held out or chosen.
- **Licence**: Apache-2.0
{made.closing_lines(weights)}
""",
        encoding="utf-8",
    )


def first_questions(stories: Sequence[Story], questions: int | None) -> Sequence[Story]:
    """The first of the stories, that have so many questions together; all of them for None."""
    if questions is None:
        return stories
    kept = []
    for story in stories:
        if questions <= 0:
            break
        kept.append(replace(story, asked=story.asked[:questions]))
        questions -= len(story.asked)
    return kept

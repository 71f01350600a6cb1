"""The whole recipe of the shipped models in order: each step a command of ``storyqa train``, gone on with."""

from __future__ import annotations

import json
import logging
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from encoders.backbone import LANGUAGE_MODELS
from encoders.cross_encoder import WEIGHTS as ENCODER_WEIGHTS
from encoders.device import pick_device
from encoders.errors import ModelError
from encoders.sizes import weights_folder
from readers.default.decoder_weights import WEIGHTS as DECODER_WEIGHTS
from text.registry import import_object
from training.invocation import Invocation
from training.trainer import Paused, RunExists

log = logging.getLogger(__name__)

DONE = "done.json"  # what a finished step reports, in its folder


@dataclass(frozen=True, slots=True)
class Step:
    """One step: what trains, its settings, and which earlier steps' folders its options are given.

    ``train`` and ``settings_class`` are those of an objective, which the table of objectives has, too.
    ``on_gpu`` are settings that differ there: a card wants larger batches, and has time for more passes.
    ``shipped`` are options that are given a folder with the default reader's weights that come with storyqa,
    ``together`` such as are given one with the weights of several steps.
    ``beside`` names a language model that not everybody has: without it the step is left out.
    """

    name: str
    train: str
    settings_class: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    on_gpu: Mapping[str, Any] = field(default_factory=dict)
    folders: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    shipped: Sequence[str] = ()
    together: Mapping[str, Sequence[str]] = field(default_factory=dict)
    beside: str | None = None

    @property
    def obstacle(self) -> str | None:
        """Why the step is left out here, if it is."""
        if self.beside is None or LANGUAGE_MODELS[self.beside].is_installed:
            return None
        return f"{self.beside} is not installed; {LANGUAGE_MODELS[self.beside].remedy}"

    def options(self, cuda: bool) -> dict[str, Any]:
        """The settings on a machine with or without a card."""
        return {**self.settings, **(self.on_gpu if cuda else {})}


_HERE = "training.objectives"
_READING = f"{_HERE}.cross_encoder:train"
_RETRIEVING = (f"{_HERE}.bi_encoder:train", f"{_HERE}.bi_encoder:BiEncoderSettings")
_RANGES = f"{_HERE}.activation_ranges:train"
_FEELINGS = f"{_HERE}.feelings:train"
_SELECTOR = f"{_HERE}.answer_selector:train"
_SETTINGS = f"{_HERE}.cross_encoder_settings"
BATCHES = {"batch_tokens": 48_000, "chunk": 512}
# After five passes over the stories others were read worse; the mean of two runs reads better than either
# (``encoders/weights/large/span.md``).
LARGE_ON_GPU = {
    **BATCHES,
    "fairytales": 3,
    "summaries": 3,
    "stories": 2,
    "mctest": 2,
    "novels": 2,
    "everyday": 2,
    "articles": 90_000,
    "rate": 6e-4,
}
# Either reads about as well as what both began with, and their mean better
# (``encoders/weights/span.md``, the eleventh and the twelfth run).
STUDENTS = ((21, 1.6e-4, 0.15), (22, 1.2e-4, 0.3))  # seed, rate on a card, share in other words
STUDENT_ON_GPU = {**BATCHES, "batch_tokens": 16_000, "fairytales": 2, "mctest": 2, "articles": 76_000}
# The student's relevance is the reranker's, and the selector's second half the calibration: neither is a
# step of its own.
STEPS = (
    *(
        Step(
            f"large-{seed}",
            _READING,
            f"{_SETTINGS}:LargeSettings",
            {"seed": seed, "novels": 1, "everyday": 1},
            on_gpu=LARGE_ON_GPU,
        )
        for seed in (13, 14)
    ),
    Step("large", f"{_HERE}.averaging:train", folders={"start": ("large-13", "large-14")}),
    *(
        Step(
            f"student-{seed}",
            _READING,
            f"{_SETTINGS}:CrossEncoderSettings",
            {
                "seed": seed,
                "fairytales": 3,
                "summaries": 3,
                "mctest": 3,
                "novels": 2,
                "everyday": 3,
                "articles": 15_000,
                "unlabelled": 0.2,
                "reworded": reworded,
            },
            on_gpu={**STUDENT_ON_GPU, "rate": rate},
            folders={"teacher": "large"},
            shipped=("start",),
        )
        for seed, rate, reworded in STUDENTS
    ),
    Step(
        "student",
        f"{_HERE}.averaging:train",
        folders={"start": tuple(f"student-{seed}" for seed, _, _ in STUDENTS)},
    ),
    Step(
        "retriever-large",
        *_RETRIEVING,
        {"backbone": "mpnet", "rank": 8, "rate": 2e-4, "passes": 3, "articles": 60, "novels": 1},
    ),
    Step("retriever-large-ranges", _RANGES, folders={"start": "retriever-large"}),
    Step(
        "retriever",
        *_RETRIEVING,
        {"passes": 6, "articles": 120, "novels": 1},
        folders={"teacher": "retriever-large"},
    ),
    Step("retriever-ranges", _RANGES, folders={"start": "retriever"}),
    Step(
        "generator",
        _READING,
        f"{_SETTINGS}:GenerateSettings",
        on_gpu=BATCHES,
        folders={"start": "student"},
    ),
    Step("ranges", _RANGES, folders={"start": "generator"}),
    Step("feelings", _FEELINGS, folders={"start": "generator"}),
    Step("selector", _SELECTOR, together={"start": ("generator", "feelings")}),
    Step(
        "bridge",
        _READING,
        f"{_SETTINGS}:GenerateSettings",
        {"bridge": True, "examples": 4_000},
        on_gpu={**BATCHES, "examples": None},
        folders={"start": "large"},
    ),
    Step("large-ranges", _RANGES, folders={"start": "bridge"}),
    Step("large-feelings", _FEELINGS, folders={"start": "bridge"}),
    Step("large-selector", _SELECTOR, together={"start": ("bridge", "large-feelings")}),
    # Last: it is a reader that has to be asked for, and nothing else waits for it.
    Step(
        "writer",
        f"{_HERE}.writer:train",
        f"{_HERE}.writer:WriterSettings",
        # A card's memory holds the states of so many tokens in all of thirty layers.
        on_gpu={
            "batch_tokens": 16_000,
            "chunk": 512,
            "fairytales": 3,
            "summaries": 3,
            "stories": 1,
            "mctest": 2,
            "articles": 40_000,
            "rate": 3e-4,
        },
        beside="smollm2",
    ),
    Step(
        "writer-selector",
        _SELECTOR,
        settings={"writer": True, "questions": 150},
        together={"start": ("generator", "ranges", "feelings", "writer")},
        beside="smollm2",
    ),
)


# Whose files belong together, by their folder in the run's: the small readers, the large one, the retrievers.
TOGETHER = {
    ".": ("generator", "ranges", "feelings", "selector", "writer", "writer-selector"),
    "large-reader": ("bridge", "large-ranges", "large-feelings", "large-selector"),
    "retriever": ("retriever-ranges",),
    "retriever-large": ("retriever-large-ranges",),
}


@dataclass(frozen=True, slots=True)
class Followed:
    """What each step reported, in order, and the name of the one that time ended in, if one did.

    ``left_out`` says of steps that were not taken why.
    """

    steps: Mapping[str, Mapping[str, Any]]
    paused: str | None
    left_out: Mapping[str, str]

    def describe(self) -> dict[str, object]:
        """For machines."""
        return {"steps": dict(self.steps), "paused_in": self.paused, "left_out": dict(self.left_out)}

    def lines(self) -> Iterator[str]:
        """For people."""
        for name, report in self.steps.items():
            scores = report.get("held_out") or {}
            told = ", ".join(f"{score} {value:.3f}" for score, value in scores.items())
            yield f"{name}: {' '.join(report['weights'])} {told}".rstrip()
        for name, why in self.left_out.items():
            yield f"{name} was left out: {why}"
        if self.paused is not None:
            yield f"{self.paused} is not finished; go on with --resume"


Share = Annotated[
    float, typer.Option(min=0.001, max=1, help="Of the documents of each data set, this share: a rehearsal.")
]
Minutes = Annotated[
    float | None, typer.Option(min=0, help="Stop in good order after so many minutes; --resume goes on.")
]


def train(run: Invocation, *, share: Share = 1.0, minutes: Minutes = None) -> Followed:
    """See ``storyqa train recipe``. However little time there is, a step or a piece of one is taken."""
    until = None if minutes is None else time.monotonic() + 60 * minutes
    run = replace(run, share=share, until=until)
    _begin(run)
    left_out = {step.name: why for step in STEPS if (why := step.obstacle) is not None}
    for name, why in left_out.items():
        log.warning("the step %s will be left out: %s", name, why)
    found: dict[str, Mapping[str, Any]] = {}
    taken = False
    for step in (step for step in STEPS if step.name not in left_out):
        done = run.out / step.name / DONE
        if not done.is_file():
            if taken and until is not None and time.monotonic() >= until:
                return Followed(found, step.name, left_out)
            try:
                report = follow(step, run, found)
            except Paused:
                return Followed(found, step.name, left_out)
            taken = True
            done.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
        found[step.name] = json.loads(done.read_text(encoding="utf-8"))
    for folder, names in TOGETHER.items():
        _gather(run.out, {name: found[name] for name in names if name in found}, run.out / folder)
    return Followed(found, None, left_out)


def follow(step: Step, run: Invocation, found: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """Take one step, in its folder of the run's, and return its report. Raises Paused where time is up.

    ``found`` are the reports of the steps before it.
    """
    given: dict[str, Any] = {
        option: run.out / named if isinstance(named, str) else [run.out / name for name in named]
        for option, named in step.folders.items()
    }
    given |= dict.fromkeys(step.shipped, _shipped(run.out / "shipped"))
    given |= {
        option: _gather(run.out, {name: found[name] for name in names}, run.out / step.name / option)
        for option, names in step.together.items()
    }
    options = step.options(pick_device().type == "cuda")
    settings = []
    if step.settings_class is None:
        given |= options
    else:
        settings.append(import_object(step.settings_class)(**options))
    outcome = import_object(step.train)(
        replace(run, out=run.out / step.name, resume=True), *settings, **given
    )
    report: Mapping[str, Any] = outcome.describe()
    return report


def _gather(out: Path, reports: Mapping[str, Mapping[str, Any]], folder: Path) -> Path:
    """The folder, with the weights that finished steps report and what lies beside them.

    They lie in the steps' folders in ``out``, wherever that was when they were reported. Raises ModelError
    where one is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, report in reports.items():
        for weights in (out / name / Path(path).name for path in report["weights"]):
            if not weights.is_file():
                raise ModelError(f"{weights} is missing; delete {weights.parent} to take the step again")
            for file in weights.parent.glob(f"{weights.stem}.*"):
                shutil.copyfile(file, folder / file.name)
    return folder


def _shipped(folder: Path) -> Path:
    """The folder, with the weights of the encoder and of the decoder that come with storyqa."""
    folder.mkdir(parents=True, exist_ok=True)
    for package, name in (("encoders.weights", ENCODER_WEIGHTS), ("readers.weights", DECODER_WEIGHTS)):
        shutil.copyfile(weights_folder(package, None) / name, folder / name)
    return folder


def _begin(run: Invocation) -> None:
    """Write down what the recipe depends on; raises RunExists where the folder holds another run."""
    known = run.out / "recipe.json"
    depends = json.dumps({"share": run.share, "steps": [asdict(step) for step in STEPS]}, indent=1)
    if known.is_file() and not run.resume:
        raise RunExists(f"{run.out} holds a run already; give --resume to go on with it, or another --out")
    if known.is_file() and known.read_text(encoding="utf-8") != depends:
        raise RunExists(f"{known} tells of another share or of other steps; give another --out")
    run.out.mkdir(parents=True, exist_ok=True)
    known.write_text(depends, encoding="utf-8")

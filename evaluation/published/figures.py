"""What papers printed, and which system of ours each row is: a TOML file a data set, checked here."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from evaluation.metrics.metric import Metric, metrics_named
from readers.baselines.array_file import SUFFIX
from text.errors import StoryQAError
from text.registry import UnknownName

MEAN = "mean"
BOUND = "bound"


class BadPublishedTable(StoryQAError):
    """A file of published figures that does not say what it has to."""


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ours(_Record):
    """What a row is with our systems.

    ``reader`` is a full name in which ``{vectors}`` stands for the file of word vectors, and "" where the
    answers are people's (the second reference against the first). ``setting`` is the benchmark's. ``trained``
    says that the reader's model is one of the paper's, trained by us or by the user. ``measured_by``
    are the columns measured, by default those that the paper has figures for. ``system`` is what
    ``storyqa train`` is told, where it is not the reader's name, and ``ensemble`` says that several of its
    models are asked together. ``per_kind`` says that there is a model for each kind of question, in folders
    ``qaKIND``. ``sizes`` are numbers of training questions, the last of them all that there are; the row says
    how many it takes to be right in 95 % of the answers. ``bound`` names that of the benchmark's bounds which
    holds for the system. ``unmeasured`` is why the row cannot be measured at
    all.
    """

    reader: str
    setting: str
    retriever: str | None = None
    k: int = 5
    trained: bool = False
    measured_by: tuple[str, ...] = ()
    system: str | None = None
    ensemble: bool = False
    per_kind: bool = False
    sizes: tuple[int, ...] = ()
    bound: str | None = None
    unmeasured: str | None = None

    @property
    def trained_as(self) -> str:
        """The system that was trained, as ``storyqa train`` has it."""
        return self.system or self.reader

    @property
    def weights(self) -> str:
        """The file of the trained model, such as ``memn2n-self.safetensors``."""
        return re.sub("[@,]", "-", self.trained_as) + SUFFIX


class Row(_Record):
    """One system: ``figures[split][column]`` as printed, percentages or, for MRR, a fraction.

    ``parameters`` is how many the paper's model has, as printed.
    """

    system: str
    parameters: str | None = None
    figures: dict[str, dict[str, float]]
    ours: Ours | None = None

    @property
    def slug(self) -> str:
        """A folder's name for it."""
        return re.sub(r"[^a-z0-9]+", "-", self.system.lower()).strip("-")

    def printed(self, split: str) -> dict[str, float]:
        """The figures of the split by metric's name."""
        return self.figures.get(split, {})

    @property
    def measured_by(self) -> tuple[str, ...]:
        """The columns that our system is measured by."""
        if self.ours is not None and self.ours.measured_by:
            return self.ours.measured_by
        return tuple(dict.fromkeys(name for figures in self.figures.values() for name in figures))


class Table(_Record):
    """One table: its rows stand beside our figures on ``splits`` of the benchmark in ``settings``.

    ``number`` is the paper's, where ``storyqa reproduce`` can print the table. Its columns are metrics; or,
    all measured by ``metric`` and printed with ``decimals`` places, kinds of questions where ``by`` is kind,
    and their texts where it is question. Of these a column named as the metric is of all questions, and one
    named bound of what no such system can exceed; ``asked`` is how many questions of a column the paper
    has. ``counted_by`` names the metric that counts a column where it is not the column's own, and ``also``
    one to be measured beside a column. ``beside`` is a setting of questions made by us, on which the systems
    are measured whether or not the paper's are there. ``mean`` adds a column to kinds of questions, the mean
    of theirs, and ``train`` says that models which nobody has are trained when the table is reproduced.
    ``measured_on`` is the split that is measured where none is asked for, if not the paper's first. ``note``
    is what to know where the table stands beside an evaluation.
    """

    number: int | None = None
    source: str
    settings: tuple[str, ...]
    splits: tuple[str, ...]
    columns: tuple[str, ...]
    by: Literal["metric", "kind", "question"] = "metric"
    metric: str = "accuracy"
    decimals: int | None = None
    asked: dict[str, int] = Field(default_factory=dict)
    measured_on: str | None = None
    beside: str | None = None
    mean: bool = False
    train: bool = False
    counted_by: dict[str, str] = Field(default_factory=dict)
    also: dict[str, str] = Field(default_factory=dict)
    note: str | None = None
    rows: tuple[Row, ...]

    @property
    def measures(self) -> tuple[Metric, ...]:
        """What each column is measured and printed by, named as the column."""
        if self.by == "metric":
            return metrics_named(self.columns)
        [metric] = metrics_named([self.metric])
        kinds = (*self.columns, MEAN) if self.mean else self.columns
        decimals = metric.decimals if self.decimals is None else self.decimals
        return tuple(
            replace(metric, name=kind, label=metric.label if kind == metric.name else kind, decimals=decimals)
            for kind in kinds
        )

    @model_validator(mode="after")
    def _of_known_metrics(self) -> Table:
        columns = self.columns if self.by == "metric" else ()
        try:
            metrics_named([*columns, self.metric, *self.counted_by, *self.counted_by.values()])
            metrics_named([*self.also, *self.also.values()])
        except UnknownName as error:
            raise ValueError(str(error)) from None
        return self

    @model_validator(mode="after")
    def _consistent(self) -> Table:
        for row in self.rows:
            columns = {*row.measured_by, *(name for of_split in row.figures.values() for name in of_split)}
            for what, names, wanted in (
                ("split", set(row.figures), self.splits),
                ("column", columns, (*self.columns, MEAN) if self.mean else self.columns),
            ):
                if unknown := sorted(names - set(wanted)):
                    raise ValueError(
                        f"row {row.system!r} has {what} {', '.join(unknown)}; "
                        f"the table has {', '.join(wanted)}"
                    )
            if self.number is not None and row.ours is None:
                raise ValueError(
                    f"row {row.system!r} of table {self.number} does not say which of ours it is"
                )
        return self


class Size(_Record):
    """How many stories and questions a split was published with."""

    stories: int
    questions: int


class Note(_Record):
    """What to know of the reproduced rows in ``settings``, or of every table where there are none."""

    text: str
    settings: tuple[str, ...] = ()


class Published(_Record):
    """What was published on one data set; ``title`` is how it is written.

    ``own_commands`` says that each system is trained by a command of its own name, and not of the data set's.
    ``splits`` are the sizes of its splits, ``kinds`` those of questions of a kind that are a data set apart.
    """

    benchmark: str
    title: str
    own_commands: bool = False
    splits: dict[str, Size] = Field(default_factory=dict)
    kinds: dict[str, dict[str, Size]] = Field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    notes: tuple[Note, ...] = ()

    @property
    def numbered(self) -> dict[int, Table]:
        """The tables that can be reproduced, by the paper's number."""
        return {table.number: table for table in self.tables if table.number is not None}

    def size(self, split: str, kinds: Collection[str | None]) -> Size | None:
        """That of the split with questions of these kinds, as published; None where it was not said."""
        [kind] = kinds if len(kinds) == 1 else [None]
        return self.kinds.get(kind or "", self.splits).get(split)

    def beside(self, split: str, setting: str) -> Table | None:
        """The table whose rows are on the same questions in the same setting."""
        fitting = (
            one
            for one in self.tables
            if setting in one.settings and split in one.splits and one.by == "metric"
        )
        return next(fitting, None)


def parse(text: str, name: str) -> Published:
    """The content of the file called ``name``; raises ``BadPublishedTable`` that says where it is wrong."""
    try:
        return Published.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise BadPublishedTable(f"{name} is not TOML: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        said = first["msg"].removeprefix("Value error, ")
        raise BadPublishedTable(f"{name}: {where}: {said}") from None


@lru_cache(maxsize=1)
def _paths() -> dict[str, Traversable]:
    found = sorted(files("evaluation.published").iterdir(), key=lambda path: path.name)
    return {path.name.removesuffix(".toml"): path for path in found if path.name.endswith(".toml")}


def published_names() -> tuple[str, ...]:
    """The names of all files, which are those of the benchmarks."""
    return tuple(_paths())


@lru_cache(maxsize=16)
def published(name: str) -> Published | None:
    """What was published on the benchmark of that name; None where nothing is kept of it."""
    path = _paths().get(name)
    return None if path is None else parse(path.read_text("utf-8"), path.name)


def reproducible() -> tuple[str, ...]:
    """The names of the files that have numbered tables."""
    return tuple(name for name in _paths() if (one := published(name)) is not None and one.numbered)


def rows_beside(benchmark: str, split: str, setting: str) -> Table | None:
    """The published table on the same questions in the same setting, if there is one."""
    found = published(benchmark)
    return None if found is None else found.beside(split, setting)

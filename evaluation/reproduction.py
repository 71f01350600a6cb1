"""A published table measured again: row by row, each on the same questions, resumable."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from inspect import signature
from pathlib import Path
from typing import Any

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.benchmark import Benchmark, sample
from evaluation.benchmarks.files import DataError
from evaluation.metrics import meteor
from evaluation.published.figures import Ours, Published, Row, Table
from evaluation.row_scores import read_result, row_scores, second_annotator
from evaluation.run import Options, Progress, evaluate
from text.errors import StoryQAError

RESULT = "row.json"


@dataclass(frozen=True, slots=True)
class Measured:
    """A row with our figures beside the paper's, as fractions; ``command`` makes them.

    ``missing`` says what the row wants before it, or all of it, can be measured, None where it was.
    ``trained_on`` says on what the reader was trained, where it is one of the paper's models. ``scores`` are
    those of the row's columns, each as the table has it counted, and of the metrics that the table wants
    besides; there are none where nothing was measured. ``notes`` are those of the questions.
    """

    row: Row
    ours: Ours
    command: str
    missing: str | None = None
    trained_on: str | None = None
    questions: int = 0
    stories: int = 0
    scores: dict[str, float | None] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float] | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Figures:
    """What was measured of a row on the questions of one setting."""

    questions: int
    stories: int
    trained_on: str | None
    notes: tuple[str, ...]
    scores: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What is reproduced, on which data: the table numbered ``number`` of what was ``published``.

    ``vectors`` is a file in GloVe's format, for readers that need one; ``models`` are folders where ``storyqa
    train`` left models of the paper, to be measured in place of those that are shipped. ``reader_settings``
    are by the reader's kind what it is opened with. ``cache`` keeps questions that are made of books.
    """

    published: Published
    number: int
    data: Path
    out: Path
    store: Path
    split: str
    vectors: Path | None = None
    models: tuple[Path, ...] = ()
    limit: int | None = None
    seed: int = 0
    force: bool = False
    cache: Path | None = None
    reader_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def table(self) -> Table:
        """The table that is reproduced."""
        return self.published.numbered[self.number]

    def rows(self, wanted: Sequence[str] = ()) -> tuple[Row, ...]:
        """The table's rows, or those whose name holds one of ``wanted``; raises ``StoryQAError`` for none."""
        rows = self.table.rows
        found = tuple(
            row for row in rows if not wanted or any(one.lower() in row.system.lower() for one in wanted)
        )
        if not found:
            names = "; ".join(row.system for row in rows)
            raise StoryQAError(f"table {self.number} has no row like {', '.join(wanted)!r}; it has: {names}")
        return found

    def measure(self, rows: Sequence[Row], progress: Progress) -> Iterator[Measured]:
        """Each row with our figures; what ``out`` has from before, with the same settings, is kept.

        Raises ``DataError`` where there is nothing that the table could be measured on.
        """
        loaded = self._load_all(rows, progress)
        for row in rows:
            assert row.ours is not None  # as in every row of a numbered table
            yield self._measure_row(row, row.ours, loaded, progress)

    def _load_all(self, rows: Sequence[Row], progress: Progress) -> dict[str, Benchmark | DataError]:
        """The questions of each setting that is wanted, or why there are none."""
        spec = BENCHMARKS[self.published.benchmark]
        wanted = [
            row.ours.setting for row in rows if row.ours is not None and self._missing(row.ours) is None
        ]
        loaded: dict[str, Benchmark | DataError] = {}
        for setting in dict.fromkeys(filter(None, (spec.settings[0], *wanted, self.table.beside))):
            progress(f"loading {setting}", 0, 1)
            try:
                kept = {"cache": self.cache} if "cache" in signature(spec.load).parameters else {}
                loaded[setting] = spec.load(self.data, split=self.split, setting=setting, **kept)
            except DataError as error:
                loaded[setting] = error
            progress(f"loading {setting}", 1, 1)
        first = loaded[spec.settings[0]]
        beside = self.table.beside and loaded[self.table.beside]
        if isinstance(first, DataError) and (beside is None or isinstance(beside, DataError)):
            raise first
        return loaded

    def _measure_row(
        self, row: Row, ours: Ours, loaded: Mapping[str, Benchmark | DataError], progress: Progress
    ) -> Measured:
        name = self.table.beside
        missing = self._missing(ours)
        if missing is not None:
            return Measured(row, ours, self._command(row, ours, ours.setting), missing)
        benchmark, beside = loaded[ours.setting], loaded.get(name or "")
        wants = str(benchmark) if isinstance(benchmark, DataError) else None
        found = []
        if isinstance(benchmark, Benchmark):
            if name is not None and benchmark.notes:
                wants = "; ".join(benchmark.notes)
            found.append(self._measure(row, ours, benchmark, self.out / row.slug, progress))
        if isinstance(beside, Benchmark):
            folder = self.out / f"{row.slug}-{name}"
            found.append(self._measure(row, ours, beside, folder, progress))
        if name is not None and wants is not None:
            wants = f"needs the official data: {wants}"
        setting = ours.setting if isinstance(benchmark, Benchmark) else name or ours.setting
        return _together(Measured(row, ours, self._command(row, ours, setting), wants), found)

    def _missing(self, ours: Ours) -> str | None:
        """What the row wants before it can be measured, whatever the data."""
        if ours.unmeasured is not None:
            return f"not measured: {ours.unmeasured}"
        if "{vectors}" in ours.reader and self.vectors is None:
            return "no word vectors: name a file in GloVe's format with --vectors"
        if ours.trained and own_weights(self.models, ours) is None and not self._shipped(ours):
            several = ", several times, each into a folder of its own in one" if ours.ensemble else ""
            words = ["storyqa", "train", self.published.benchmark, "--system", ours.trained_as]
            words += ["--data", str(self.data), "--out", "DIR"]
            return f"train it: {shlex.join(words)}{several}; then give --models DIR"
        return None

    def _shipped(self, ours: Ours) -> bool:
        return not ours.ensemble and (files("readers.weights") / ours.weights).is_file()

    def _reader(self, ours: Ours) -> str:
        """The reader's full name."""
        if ours.trained and (folder := own_weights(self.models, ours)) is not None:
            kind, at, options = ours.reader.partition("@")
            return f"{kind}:{folder}{at}{options}"
        return ours.reader.replace("{vectors}", str(self.vectors)) if self.vectors else ours.reader

    def _command(self, row: Row, ours: Ours, setting: str) -> str:
        """What measures the row by itself."""
        name = self.published.benchmark
        data = ["--data", str(self.data), "--split", self.split]
        if not ours.reader:
            called = re.findall(r"\w+", row.system.lower())[0]
            words = ["storyqa", "reproduce", name, "--table", str(self.number), "--row", called, *data]
        else:
            words = ["storyqa", "evaluate", name, *data, "--setting", setting]
            words += ["--reader", self._reader(ours)]
            if ours.retriever:
                words += ["--retriever", ours.retriever, "-k", str(ours.k)]
        if self.limit is not None:
            words += ["--limit", str(self.limit), "--seed", str(self.seed)]
        return shlex.join(words)

    def _measure(
        self, row: Row, ours: Ours, benchmark: Benchmark, folder: Path, progress: Progress
    ) -> _Figures:
        """The row's figures on the questions of one setting, which ``folder`` keeps."""
        trained_on = None
        if ours.reader:
            options = Options(
                retriever=ours.retriever or "tfidf",
                reader=self._reader(ours),
                k=ours.k,
                limit=self.limit,
                seed=self.seed,
                reader_settings=self.reader_settings,
            )
            settings, predictions = evaluate(
                benchmark,
                options,
                folder,
                self.store,
                self.force,
                lambda what, done, total: progress(f"{row.system}: {what}", done, total),
            )
            if ours.trained:
                trained_on = options.open_reader().trained_on
        else:
            questions = sample(benchmark.questions, self.limit, self.seed)
            settings = {"human": benchmark.fingerprint(), "limit": self.limit, "seed": self.seed}
            predictions = [
                second_annotator(question, benchmark.metrics)
                for question in questions
                if len(question.answers) > 1
            ]
        settings = {**settings, "meteor": meteor.java() is not None}
        kept = read_result(folder / RESULT, settings)
        if kept is None:
            progress(f"{row.system}: scoring", 0, 1)
            kept = row_scores(predictions, self.seed, row, self.table)
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"settings": settings, **kept}, indent=1, ensure_ascii=False)
            (folder / RESULT).write_text(text + "\n", encoding="utf-8")
            progress(f"{row.system}: scoring", 1, 1)
        stories = len({one.story for one in predictions})
        return _Figures(len(predictions), stories, trained_on, benchmark.notes, **kept)


def own_weights(models: Sequence[Path], ours: Ours) -> Path | None:
    """The first of the folders, and of those in them, that has the row's model; None where none has.

    For an ensemble the one that has several folders with such models, and none of its own.
    """
    for folder in (one for given in models for one in (given, *sorted(filter(Path.is_dir, given.iterdir())))):
        alone = (folder / ours.weights).is_file()
        several = len(list(folder.glob(f"*/{ours.weights}"))) > 1
        if (several and not alone) if ours.ensemble else alone:
            return folder
    return None


def _together(base: Measured, found: Sequence[_Figures]) -> Measured:
    """The row with the figures of all its settings."""
    for one in found:
        base = replace(
            base,
            questions=base.questions + one.questions,
            stories=base.stories + one.stories,
            trained_on=one.trained_on,
            scores={**base.scores, **one.scores},
            intervals={**base.intervals, **one.intervals},
            notes=tuple(dict.fromkeys((*base.notes, *one.notes))),
        )
    return base

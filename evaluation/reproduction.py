"""A published table measured again: row by row, each on the same questions, resumable."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.benchmark import Benchmark, kinds_of, sample
from evaluation.benchmarks.files import DataError
from evaluation.loaded import Loaded, bounds_of, load_settings
from evaluation.measured import Figures, Measured, together
from evaluation.metrics import meteor
from evaluation.own_models import OwnModels, is_shipped
from evaluation.published.figures import BOUND, Ours, Published, Row, Table
from evaluation.row_scores import mean_of_kinds, read_result, row_scores, second_annotator
from evaluation.run import Progress, evaluate
from evaluation.run_options import Options
from indexing.store_protocol import Store
from text.errors import StoryQAError
from text.output_files import make_folder

RESULT = "row.json"
ENOUGH = 0.95  # of the answers, for what a model needs so many questions for (Weston et al. 2015, table 3)


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
    store: Store
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

    @property
    def printed_split(self) -> str | None:
        """The paper's split whose figures stand beside ours: the one measured, where the paper has it."""
        if self.split in self.table.splits:
            return self.split
        return self.table.splits[0] if self.split == self.table.measured_on else None

    def rows(self, wanted: Sequence[str] = ()) -> tuple[Row, ...]:
        """The table's rows, or those whose name holds one of ``wanted``; raises ``StoryQAError`` for none."""
        rows = self.table.rows
        systems = {row.system for row in rows}
        found = tuple(
            row
            for row in rows
            if not wanted
            or row.system in wanted
            or any(one.lower() in row.system.lower() for one in wanted if one not in systems)
        )
        if not found:
            names = "; ".join(row.system for row in rows)
            raise StoryQAError(f"table {self.number} has no row like {', '.join(wanted)!r}; it has: {names}")
        return found

    @property
    def own(self) -> OwnModels:
        """The models that are measured in place of those that are shipped."""
        return OwnModels(self.published, self.data, self.models, self.out / "models")

    def training(self, rows: Sequence[Row], loaded: Loaded, workers: int) -> Iterator[list[str]]:
        """The commands of storyqa that train what the rows lack, where the table says so."""
        kinds = self._kinds(loaded)
        for row in rows:
            ours = row.ours
            if self.table.train and ours is not None and ours.trained and not is_shipped(ours):
                yield from self.own.commands(ours, kinds, workers)

    def _kinds(self, loaded: Loaded) -> list[str]:
        """The columns of which there are questions."""
        asked = {
            kind
            for one in loaded.values()
            if isinstance(one, Benchmark)
            for question in one.questions
            for kind in kinds_of(question.kind)
        }
        return [kind for kind in self.table.columns if kind in asked]

    def measure(self, rows: Sequence[Row], loaded: Loaded, progress: Progress) -> Iterator[Measured]:
        """Each row with our figures; what ``out`` has from before, with the same settings, is kept."""
        for row in rows:
            assert row.ours is not None  # as in every row of a numbered table
            yield self._measure_row(row, row.ours, loaded, progress)

    def load(self, rows: Sequence[Row], progress: Progress) -> Loaded:
        """The questions of each setting that is wanted, or why there are none.

        Raises ``DataError`` where there is nothing that the table could be measured on.
        """
        spec = BENCHMARKS[self.published.benchmark]
        wanted = [
            row.ours.setting for row in rows if row.ours is not None and self._missing(row.ours) is None
        ]
        settings = filter(None, (spec.settings[0], *wanted, self.table.beside))
        name, draw = self.published.benchmark, (self.limit, self.seed)
        loaded = load_settings(name, settings, self.data, self.split, *draw, self.cache, progress)
        first = loaded[spec.settings[0]]
        beside = self.table.beside and loaded[self.table.beside]
        if isinstance(first, DataError) and (beside is None or isinstance(beside, DataError)):
            raise first
        return loaded

    def bounds(self, loaded: Loaded) -> dict[str, float]:
        """What the best answers to the questions are worth, by name, where the benchmark says so."""
        return bounds_of(loaded, self.limit, self.seed)

    def _measure_row(self, row: Row, ours: Ours, loaded: Loaded, progress: Progress) -> Measured:
        name = self.table.beside
        missing = self._missing(ours)
        if missing is not None:
            return Measured(row, ours, self._command(row, ours, ours.setting), missing)
        if ours.per_kind:
            return self._measure_kinds(row, ours, loaded, progress)
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
        measured = together(Measured(row, ours, self._command(row, ours, setting), wants), found)
        if row.parameters is not None:
            measured = replace(measured, parameters=self.own.parameters(ours))
        bound = self.bounds({ours.setting: benchmark}).get(ours.bound or "")
        if bound is not None and BOUND in self.table.columns:
            measured = replace(measured, scores=measured.scores | {BOUND: bound})
        return replace(measured, scores=measured.scores | mean_of_kinds(measured.scores, self.table))

    def _measure_kinds(self, row: Row, ours: Ours, loaded: Loaded, progress: Progress) -> Measured:
        """A row that has a model for each kind of question; of ``sizes``, one for each of these, too."""
        benchmark = loaded[ours.setting]
        assert isinstance(benchmark, Benchmark)  # or the table could not be measured at all
        found = []
        for kind in self._kinds(loaded):
            of_kind = tuple(question for question in benchmark.questions if question.kind == kind)
            part = replace(benchmark, setting=kind, questions=of_kind)
            for size in (*ours.sizes[:-1], None):
                folder = self.out / row.slug / (f"{kind}-{size}" if size else kind)
                one = self._measure(row, ours, part, folder, progress, size)
                enough = (one.scores[kind] or 0.0) >= ENOUGH
                if enough:
                    break
            if ours.sizes:
                questions = (size or ours.sizes[-1]) if enough else None
                one = replace(one, scores={kind: questions}, intervals={})
            found.append(one)
        measured = together(Measured(row, ours, self._command(row, ours, ours.setting)), found)
        # A mean of accuracies, and not of numbers of questions.
        mean = {} if ours.sizes else mean_of_kinds(measured.scores, self.table)
        return replace(measured, scores=measured.scores | mean)

    def _missing(self, ours: Ours) -> str | None:
        """What the row wants before it can be measured, whatever the data."""
        if ours.unmeasured is not None:
            return f"not measured: {ours.unmeasured}"
        if "{vectors}" in ours.reader and self.vectors is None:
            return "no word vectors: name a file in GloVe's format with --vectors"
        if ours.trained and self.own.folder(ours) is None and not is_shipped(ours):
            several = ", several times, each into a folder of its own in one" if ours.ensemble else ""
            command = shlex.join(["storyqa", *self.own.command(ours, "DIR")])
            return f"train it: {command}{several}; then give --models DIR"
        return None

    def _reader(self, ours: Ours, part: str | None = None, size: int | None = None) -> str:
        """The reader's full name; of one that has a model for each kind of question that of ``part``."""
        if ours.trained and (folder := self.own.folder(ours, size)) is not None:
            kind, at, options = ours.reader.partition("@")
            return f"{kind}:{folder / f'qa{part}' if ours.per_kind else folder}{at}{options}"
        return ours.reader.replace("{vectors}", str(self.vectors)) if self.vectors else ours.reader

    def _command(self, row: Row, ours: Ours, setting: str) -> str:
        """What measures the row by itself."""
        name = self.published.benchmark
        data = ["--data", str(self.data), "--split", self.split]
        if not ours.reader or ours.per_kind:
            called = row.system if ours.per_kind else re.findall(r"\w+", row.system.lower())[0]
            words = ["storyqa", "reproduce", name, "--table", str(self.number), "--row", called, *data]
        else:
            words = ["storyqa", "evaluate", name, *data, "--setting", setting]
            words += ["--reader", self._reader(ours)]
            if ours.retriever:
                words += ["--retriever", ours.retriever, "-k", str(ours.k)]
        if self.limit is not None:
            words += ["--limit", str(self.limit)]
        if self.seed != 0:
            words += ["--seed", str(self.seed)]
        return shlex.join(words)

    def _measure(
        self,
        row: Row,
        ours: Ours,
        benchmark: Benchmark,
        folder: Path,
        progress: Progress,
        size: int | None = None,
    ) -> Figures:
        """The row's figures on the questions of one setting, which ``folder`` keeps."""
        trained_on = None
        if ours.reader:
            options = Options(
                retriever=ours.retriever or "tfidf",
                reader=self._reader(ours, benchmark.setting, size),
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
            if not predictions:
                raise DataError(f"{self.data}: no question has two answers, as {row.system} is measured by")
        settings = {**settings, "table": self.table.number, "meteor": meteor.java() is not None}
        kept = read_result(folder / RESULT, settings)
        if kept is None:
            progress(f"{row.system}: scoring", 0, 1)
            kept = row_scores(predictions, self.seed, row, self.table)
            make_folder(folder)
            text = json.dumps({"settings": settings, **kept}, indent=1, ensure_ascii=False)
            (folder / RESULT).write_text(text + "\n", encoding="utf-8")
            progress(f"{row.system}: scoring", 1, 1)
        stories = len({one.story for one in predictions})
        return Figures(len(predictions), stories, trained_on, benchmark.notes, **kept)

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
from evaluation.benchmarks.benchmark import Benchmark, Question, sample
from evaluation.benchmarks.files import DataError
from evaluation.metrics import meteor
from evaluation.metrics.metric import metrics_named
from evaluation.metrics.scoring import count, score
from evaluation.predictions import Prediction
from evaluation.published.figures import Ours, Published, Row, Table
from evaluation.run import Options, Progress, answer_scores, evaluate
from readers.neural.checkpoint import SUFFIX
from text.errors import StoryQAError

RESULT = "row.json"


@dataclass(frozen=True, slots=True)
class Measured:
    """A row with our figures beside the paper's, as fractions; ``command`` makes them.

    ``missing`` says what the row wants before it can be measured, None where it was. ``trained_on`` says
    on what the reader was trained, where it is one of the paper's models. ``scores`` are those of the
    row's columns, each as the table has it counted, and of the metrics that the table wants besides.
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


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What is reproduced, on which data: the table numbered ``number`` of what was ``published``.

    ``vectors`` is a file in GloVe's format, for readers that need one; ``models`` are folders where ``storyqa
    train`` left models of the paper, to be measured in place of those that are shipped. ``reader_settings``
    are by the reader's kind what it is opened with.
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
        """Each row with our figures; what ``out`` has from before, with the same settings, is kept."""
        spec = BENCHMARKS[self.published.benchmark]
        loaded = {spec.settings[0]: spec.load(self.data, split=self.split)}
        for row in rows:
            assert row.ours is not None  # as in every row of a numbered table
            base = Measured(row, row.ours, self._command(row, row.ours))
            missing = self._missing(row.ours)
            setting = row.ours.setting
            if missing is None:
                try:
                    if setting not in loaded:
                        progress(f"loading {setting}", 0, 1)
                        loaded[setting] = spec.load(self.data, split=self.split, setting=setting)
                        progress(f"loading {setting}", 1, 1)
                except DataError as error:
                    missing = str(error)
            if missing is not None:
                yield replace(base, missing=missing)
            else:
                yield self._measure(base, loaded[setting], progress)

    def _missing(self, ours: Ours) -> str | None:
        """What the row wants before it can be measured."""
        if "{vectors}" in ours.reader and self.vectors is None:
            return "no word vectors: name a file in GloVe's format with --vectors"
        return None

    def _reader(self, ours: Ours) -> str:
        """The reader's full name."""
        if ours.trained:
            own = (one for one in self.models if (one / f"{ours.reader}{SUFFIX}").is_file())
            return next((f"{ours.reader}:{one}" for one in own), ours.reader)
        return ours.reader.replace("{vectors}", str(self.vectors)) if self.vectors else ours.reader

    def _command(self, row: Row, ours: Ours) -> str:
        """What measures the row by itself."""
        name = self.published.benchmark
        data = ["--data", str(self.data), "--split", self.split]
        if not ours.reader:
            called = re.findall(r"\w+", row.system.lower())[0]
            words = ["storyqa", "reproduce", name, "--table", str(self.number), "--row", called, *data]
        else:
            words = ["storyqa", "evaluate", name, *data, "--setting", ours.setting]
            words += ["--reader", self._reader(ours)]
            if ours.retriever:
                words += ["--retriever", ours.retriever, "-k", str(ours.k)]
        if self.limit is not None:
            words += ["--limit", str(self.limit), "--seed", str(self.seed)]
        return shlex.join(words)

    def _measure(self, base: Measured, benchmark: Benchmark, progress: Progress) -> Measured:
        row, ours, folder = base.row, base.ours, self.out / base.row.slug
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
                _second_annotator(question, benchmark.metrics)
                for question in questions
                if len(question.answers) > 1
            ]
        settings = {**settings, "meteor": meteor.java() is not None}
        kept = _read(folder / RESULT, settings)
        if kept is None:
            progress(f"{row.system}: scoring", 0, 1)
            kept = _scores(predictions, self.seed, row, self.table)
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"settings": settings, **kept}, indent=1, ensure_ascii=False)
            (folder / RESULT).write_text(text + "\n", encoding="utf-8")
            progress(f"{row.system}: scoring", 1, 1)
        stories = len({one.story for one in predictions})
        return replace(base, questions=len(predictions), stories=stories, trained_on=trained_on, **kept)


def _scores(predictions: Sequence[Prediction], seed: int, row: Row, table: Table) -> dict[str, Any]:
    """The scores that the row is measured by, and their intervals, by the name of the column."""
    by_column = {name: table.counted_by.get(name, name) for name in row.measured_by}
    by_column |= {name: name for column, name in table.also.items() if column in by_column}
    metrics = metrics_named(list(by_column.values()))
    found = score(count(predictions, metrics), metrics, [one.story for one in predictions], seed)
    return {
        "scores": {column: found.values[name] for column, name in by_column.items()},
        "intervals": {column: found.intervals[name] for column, name in by_column.items()},
    }


def _read(path: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    """What was measured before, if it was measured with the same settings."""
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if kept.pop("settings", None) != json.loads(json.dumps(settings)):
        return None
    return {"scores": kept["scores"], "intervals": kept["intervals"]}


def _second_annotator(question: Question, metrics: Sequence[str]) -> Prediction:
    """The second answer scored against the first: how well people do."""
    first, second = question.answers[:2]
    return Prediction(
        id=question.id,
        story=question.story,
        kind=None,
        question=question.text,
        references=(first,),
        prediction=second,
        confidence=1.0,
        book=question.book,
        start=None,
        end=None,
        evidence_right=None,
        passages=(),
        gold_read=None,
        first_gold=None,
        reciprocal_rank=None,
        scores=answer_scores(second, [first], metrics),
    )

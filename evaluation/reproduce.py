"""A table of the NarrativeQA paper measured again: row by row, each on the same questions, resumable."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from evaluation.benchmarks import narrativeqa
from evaluation.benchmarks.benchmark import Benchmark, Question, sample
from evaluation.benchmarks.files import DataError
from evaluation.metrics import meteor
from evaluation.metrics.overlap import exact_match, rouge_l, token_f1
from evaluation.metrics.scoring import Bootstrap, meteor_rows, score
from evaluation.predictions import Prediction
from evaluation.published.paper_systems import COLUMNS, TABLE_SETTINGS, TABLES, Row
from evaluation.published.papers import PaperRow, paper_rows
from evaluation.run import Options, Tell, evaluate
from evaluation.systems import named_reader
from readers.neural.checkpoint import SUFFIX
from text.errors import StoryQAError

BEST_F = "rouge_l_best_f"
RESULT = "row.json"


@dataclass(frozen=True, slots=True)
class Measured:
    """A row with our figures beside the paper's, as fractions; ``command`` makes them.

    ``missing`` says what the row wants before it can be measured, None where it was. ``trained_on`` says
    on what the reader was trained, where it is one of the paper's models. ``scores`` has
    METEOR as the paper sums it, and ``rouge_l_best_f``: ROUGE-L as the best F over the references, where
    the scorer takes the best precision and the best recall apart.
    """

    row: Row
    paper: PaperRow | None
    command: str
    missing: str | None = None
    trained_on: str | None = None
    questions: int = 0
    stories: int = 0
    scores: dict[str, float | None] = field(default_factory=dict)
    intervals: dict[str, tuple[float, float] | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """What is reproduced, on which data.

    ``vectors`` is a file in GloVe's format, for the cosine rows; ``models`` are folders where ``storyqa
    train`` left models of the paper, to be measured in place of those that are shipped.
    """

    table: int
    data: Path
    out: Path
    store: Path
    split: str = "valid"
    vectors: Path | None = None
    models: tuple[Path, ...] = ()
    limit: int | None = None
    seed: int = 0
    force: bool = False

    def rows(self, wanted: Sequence[str] = ()) -> tuple[Row, ...]:
        """The table's rows, or those whose name holds one of ``wanted``; raises ``StoryQAError`` for none."""
        rows = TABLES[self.table]
        found = tuple(
            row for row in rows if not wanted or any(one.lower() in row.system.lower() for one in wanted)
        )
        if not found:
            names = "; ".join(row.system for row in rows)
            raise StoryQAError(f"table {self.table} has no row like {', '.join(wanted)!r}; it has: {names}")
        return found

    def measure(self, rows: Sequence[Row], tell: Tell) -> Iterator[Measured]:
        """Each row with our figures; what ``out`` has from before, with the same settings, is kept."""
        papers = {
            one.system: one for one in paper_rows("narrativeqa", self.split, TABLE_SETTINGS[self.table])
        }
        loaded = {"summaries": narrativeqa.load(self.data, self.split)}
        for row in rows:
            base = Measured(row, papers.get(row.system), self._command(row))
            missing = self._missing(row)
            if missing is None:
                try:
                    if row.setting not in loaded:
                        tell(f"loading {row.setting}", 0, 1)
                        loaded[row.setting] = narrativeqa.load(self.data, self.split, row.setting)
                        tell(f"loading {row.setting}", 1, 1)
                except DataError as error:
                    missing = str(error)
            if missing is not None:
                yield replace(base, missing=missing)
            else:
                yield self._measure(base, loaded[row.setting], tell)

    def _missing(self, row: Row) -> str | None:
        """What the row wants before it can be measured."""
        if "{vectors}" in row.reader and self.vectors is None:
            return "no word vectors: name a file in GloVe's format with --vectors"
        return None

    def _reader(self, row: Row) -> str:
        """The reader's full name."""
        if row.trained:
            own = (one for one in self.models if (one / f"{row.reader}{SUFFIX}").is_file())
            return next((f"{row.reader}:{one}" for one in own), row.reader)
        return row.reader if self.vectors is None else row.reader.format(vectors=self.vectors)

    def _command(self, row: Row) -> str:
        data = ["--data", str(self.data), "--split", self.split]
        if not row.reader:
            words = [
                "storyqa",
                "reproduce",
                "narrativeqa",
                "--table",
                str(self.table),
                "--row",
                "human",
                *data,
            ]
        else:
            words = ["storyqa", "evaluate", "narrativeqa", *data, "--setting", row.setting]
            words += ["--reader", self._reader(row)]
            if row.retriever:
                words += ["--retriever", row.retriever, "-k", str(row.k)]
        if self.limit is not None:
            words += ["--limit", str(self.limit), "--seed", str(self.seed)]
        return shlex.join(words)

    def _measure(self, base: Measured, benchmark: Benchmark, tell: Tell) -> Measured:
        row, folder = base.row, self.out / base.row.slug
        if row.reader:
            options = Options(row.retriever or "tfidf", self._reader(row), row.k, self.limit, self.seed)
            settings, predictions = evaluate(
                benchmark,
                options,
                folder,
                self.store,
                self.force,
                lambda what, done, total: tell(f"{row.system}: {what}", done, total),
            )
        else:
            questions = sample(benchmark.questions, self.limit, self.seed)
            settings = {"human": benchmark.fingerprint(), "limit": self.limit, "seed": self.seed}
            predictions = [_human(question) for question in questions if len(question.answers) > 1]
        settings = {**settings, "meteor": meteor.java() is not None}
        kept = _read(folder / RESULT, settings)
        if kept is None:
            tell(f"{row.system}: scoring", 0, 1)
            kept = _scores(predictions, self.seed, row)
            folder.mkdir(parents=True, exist_ok=True)
            text = json.dumps({"settings": settings, **kept}, indent=1, ensure_ascii=False)
            (folder / RESULT).write_text(text + "\n", encoding="utf-8")
            tell(f"{row.system}: scoring", 1, 1)
        stories = len({one.story for one in predictions})
        on = named_reader(self._reader(row)).trained_on if row.reader else None
        return replace(base, questions=len(predictions), stories=stories, trained_on=on, **kept)


def _scores(predictions: Sequence[Prediction], seed: int, row: Row) -> dict[str, Any]:
    """The scores that the row is measured by, and their intervals."""
    import numpy as np

    found = score(predictions, seed, meteor_rows(predictions) if "meteor" in row.only else None)
    names = {name: "meteor_paper" if name == "meteor" else name for name in row.only}
    scores = {name: found.values[source] for name, source in names.items()}
    intervals = {name: found.intervals[source] for name, source in names.items()}
    if "rouge_l" in row.only:
        best = [max(rouge_l(one.prediction, [to]) for to in one.references) for one in predictions]
        bootstrap = Bootstrap([one.story for one in predictions], seed)
        scores[BEST_F], intervals[BEST_F] = bootstrap.score(
            np.array([(value, 1.0) for value in best]), lambda sums: sums[..., 0] / sums[..., 1]
        )
    return {"scores": scores, "intervals": intervals}


def _read(path: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    """What was measured before, if it was measured with the same settings."""
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if kept.pop("settings", None) != json.loads(json.dumps(settings)):
        return None
    return {"scores": kept["scores"], "intervals": kept["intervals"]}


def _human(question: Question) -> Prediction:
    """The second answer scored against the first, as the paper does."""
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
        rouge_l=rouge_l(second, [first]),
        f1=token_f1(second, [first]),
        exact_match=exact_match(second, [first]),
    )


def as_json_object(reproduction: Reproduction, measured: Sequence[Measured]) -> dict[str, Any]:
    """The table for machines; fractions, the paper's too."""
    return {
        "table": reproduction.table,
        "split": reproduction.split,
        "rows": [
            {
                "system": one.row.system,
                "status": "missing" if one.missing else "measured",
                "missing": one.missing,
                "command": one.command,
                "reader": one.row.reader or None,
                "trained_on": one.trained_on,
                "questions": one.questions,
                "stories": one.stories,
                "paper": None if one.paper is None else _of_paper(one.paper),
                "scores": one.scores,
                "intervals": one.intervals,
            }
            for one in measured
        ],
    }


def _of_paper(paper: PaperRow) -> dict[str, float | None]:
    figures = asdict(paper)
    return {
        name: figures[name] if name == "mrr" or figures[name] is None else round(figures[name] / 100, 6)
        for name in COLUMNS
    }

"""The figures of one row of a published table, from the answers of our system."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evaluation.benchmarks.benchmark import Question, kinds_of
from evaluation.metrics.metric import metrics_named
from evaluation.metrics.scoring import count, score
from evaluation.predictions import Prediction
from evaluation.published.figures import MEAN, Row, Table
from evaluation.run import answer_scores


def row_scores(predictions: Sequence[Prediction], seed: int, row: Row, table: Table) -> dict[str, Any]:
    """The scores that the row is measured by, and their intervals, by the name of the column."""
    if table.by != "metric":
        return _scores_by_part(predictions, seed, table)
    by_column = {name: table.counted_by.get(name, name) for name in row.measured_by}
    by_column |= {name: name for column, name in table.also.items() if column in by_column}
    metrics = metrics_named(list(by_column.values()))
    found = score(count(predictions, metrics), metrics, [one.story for one in predictions], seed)
    return {
        "scores": {column: found.values[name] for column, name in by_column.items()},
        "intervals": {column: found.intervals[name] for column, name in by_column.items()},
        "asked": {},
    }


def _scores_by_part(predictions: Sequence[Prediction], seed: int, table: Table) -> dict[str, Any]:
    """Those of each part of the questions that is a column and was asked, and how many these are."""
    kept: dict[str, Any] = {"scores": {}, "intervals": {}, "asked": {}}
    metrics = metrics_named([table.metric])
    for column in table.columns:
        members = [one for one in predictions if _is_in(one, column, table)]
        if members:
            found = score(count(members, metrics), metrics, [one.story for one in members], seed)
            kept["scores"][column] = found.values[table.metric]
            kept["intervals"][column] = found.intervals[table.metric]
            kept["asked"][column] = len(members)
    return kept


def _is_in(one: Prediction, column: str, table: Table) -> bool:
    of_column = (one.question,) if table.by == "question" else kinds_of(one.kind)
    return column == table.metric or column in of_column


def mean_of_kinds(scores: Mapping[str, float | None], table: Table) -> dict[str, float | None]:
    """The column of the mean, where the table has one and every kind of question was measured."""
    values = [scores.get(kind) for kind in table.columns]
    known = [value for value in values if value is not None]
    return {MEAN: sum(known) / len(known)} if table.mean and len(known) == len(values) else {}


def read_result(path: Path, settings: dict[str, Any]) -> dict[str, Any] | None:
    """What was measured before, if it was measured with the same settings."""
    try:
        kept = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    if kept.pop("settings", None) != json.loads(json.dumps(settings)):
        return None
    return {"scores": kept["scores"], "intervals": kept["intervals"], "asked": kept.get("asked", {})}


def second_annotator(question: Question, metrics: Sequence[str]) -> Prediction:
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

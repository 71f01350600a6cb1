"""Fits the judge on held-out stories: what an answer is worth, and how likely the best one is right."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from encoders.cross_encoder import CrossEncoder
from evaluation.benchmarks.holdout import held_out
from evaluation.metrics.overlap import rouge_l
from readers.default.answer_selector import WEIGHTS, AnswerSelector, Logistic, Signals, choose
from readers.default.auto import AutoReader
from readers.reading import Reading
from training.context_sampling import everything
from training.corpora.corpus import FAIRYTALES, STORIES, SUMMARIES, Asked, Library, Work

SECTIONS = "sections"
MOST = 300  # questions of each kind
RIGHT = 0.5  # ROUGE-L from which an answer counts as right
# The first weights of the cross-encoder were trained on the others of the held-out tenth.
UNSEEN_SHARE = 0.05
CANDIDATES = 10  # passages that BM25 finds, of which the most relevant are read
READ = 5
FOLDS = 5
STRENGTH = 1.0  # inverse of the L2 penalty

_SETTINGS = {FAIRYTALES: (SECTIONS, STORIES), SUMMARIES: (SUMMARIES,), STORIES: (STORIES,)}


@dataclass(frozen=True, slots=True)
class Judged:
    """A held-out question, its candidates' signals, and the ROUGE-L that each has."""

    story: str
    where: str
    question: str
    signals: tuple[Signals, ...]
    worth: tuple[float, ...]


def judged_questions(
    reader: AutoReader, library: Library, on_progress: Callable[[int, int], None] | None = None
) -> list[Judged]:
    """The candidates for held-out questions that no model was trained on, scored.

    At most ``MOST`` questions of each kind, always the same ones. Fairy tales are read twice, their
    sections alone and passages found in the story; summaries are read whole, and of full stories the
    passages found.
    """
    names = {work.name for work in (*library.train, *library.held_out) if work.kind == FAIRYTALES}
    unseen = held_out(names, UNSEEN_SHARE)
    asked: list[tuple[str, Work, Asked]] = []
    for kind, settings in (
        (FAIRYTALES, (SECTIONS, STORIES)),
        (SUMMARIES, (SUMMARIES,)),
        (STORIES, (STORIES,)),
    ):
        works = [
            work
            for work in library.held_out
            if work.kind == kind and (kind != FAIRYTALES or work.name in unseen)
        ]
        every = list(everything(works))
        every = random.Random(0).sample(every, min(MOST, len(every)))
        asked += [(where, work, one) for where in settings for work, one in every]
    judged = []
    for first in range(0, len(asked), 16):
        part = asked[first : first + 16]
        readings = [_reading(where, work, one, reader.encoder) for where, work, one in part]
        for (where, work, one), (answers, signals) in zip(part, reader.candidates(readings), strict=True):
            worth = tuple(rouge_l(answer.text, one.answers) for answer in answers)
            judged.append(Judged(work.name, where, one.question, tuple(signals), worth))
        if on_progress is not None:
            on_progress(first + len(part), len(asked))
    return judged


def _reading(where: str, work: Work, one: Asked, encoder: CrossEncoder) -> Reading:
    if where == SECTIONS:
        return Reading(one.question, tuple(work.text[start:end] for start, end in one.gold))
    if where == SUMMARIES:
        return Reading(one.question, (work.text,))
    return Reading(one.question, most_relevant(work, one.question, encoder))


def most_relevant(work: Work, question: str, encoder: CrossEncoder) -> tuple[str, ...]:
    """The passages of a work to read for a question, in story order."""
    best = np.argsort(-work.sparse.bm25(question), kind="stable")[:CANDIDATES].tolist()
    [encoded] = encoder.encode([(question, [work.texts[number] for number in best])])
    relevance = {number: one.relevance for number, one in zip(best, encoded, strict=True)}
    chosen = sorted(best, key=lambda number: -relevance[number])[:READ]
    return tuple(work.texts[number] for number in sorted(chosen))


def fit_logistic(features: Sequence[Mapping[str, float]], chances: Sequence[float]) -> Logistic:
    """A logistic model of labels in [0, 1]: a row counts as right by its label, as wrong by the rest."""
    names = sorted({name for one in features for name in one})
    rows = np.array([[one.get(name, 0.0) for name in names] for one in features])
    scale = rows.std(0) + 1e-9
    labels = np.repeat([1, 0], len(rows))
    weights = np.concatenate([chances, 1 - np.asarray(chances)])
    model = LogisticRegression(C=STRENGTH, max_iter=2000)
    model.fit(np.concatenate([rows, rows]) / scale, labels, weights)
    return Logistic(
        float(model.intercept_[0]), {n: float(w) for n, w in zip(names, model.coef_[0] / scale, strict=True)}
    )


def fit_judge(judged: Sequence[Judged]) -> AnswerSelector:
    """Worth from the first answer of each reader, and rightness from the one that worth chooses."""
    judged = [one for one in judged if one.signals]
    features = [[signals.features(one.question) for signals in one.signals] for one in judged]
    firsts = [_firsts(one) for one in judged]
    worth = fit_logistic(
        [rows[i] for rows, mine in zip(features, firsts, strict=True) for i in mine],
        [one.worth[i] for one, mine in zip(judged, firsts, strict=True) for i in mine],
    )
    best = [_chosen(one, rows, worth) for one, rows in zip(judged, features, strict=True)]
    right = fit_logistic(
        [rows[i] for rows, i in zip(features, best, strict=True)],
        [float(one.worth[i] >= RIGHT) for one, i in zip(judged, best, strict=True)],
    )
    return AnswerSelector(worth, right)


def _firsts(one: Judged) -> list[int]:
    written = [signals.written for signals in one.signals]
    return [written.index(kind) for kind in (False, True) if kind in written]


def _chosen(one: Judged, rows: Sequence[Mapping[str, float]], worth: Logistic) -> int:
    return choose([worth(row) for row in rows], [signals.written for signals in one.signals])


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the judge makes of one kind of question: mean ROUGE-L of its choices and of others'."""

    questions: int
    judged: float
    spans: float
    written: float
    best_possible: float
    confidence: float
    right: float


def cross_validated(judged: Sequence[Judged]) -> dict[str, Verdict]:
    """Per kind of question what judges fitted on other stories choose."""
    stories = sorted({one.story for one in judged})
    found: dict[str, list[tuple[float, ...]]] = {}
    for fold in range(FOLDS):
        apart = set(stories[fold::FOLDS])
        judge = fit_judge([one for one in judged if one.story not in apart])
        for one in judged:
            if one.story in apart and one.signals:
                rows = [signals.features(one.question) for signals in one.signals]
                chosen = _chosen(one, rows, judge.worth)
                found.setdefault(one.where, []).append(
                    (
                        one.worth[chosen],
                        _first(one, written=False),
                        _first(one, written=True),
                        max(one.worth),
                        judge.right(rows[chosen]),
                        float(one.worth[chosen] >= RIGHT),
                    )
                )
    return {
        where: Verdict(len(rows), *(float(value) for value in np.mean(rows, axis=0)))
        for where, rows in found.items()
    }


def _first(one: Judged, written: bool) -> float:
    """The ROUGE-L of the best candidate of one reader, as that reader orders them."""
    return next((worth for worth, s in zip(one.worth, one.signals, strict=True) if s.written == written), 0.0)


def write_judge(judged: Sequence[Judged], out: Path, command: str) -> Path:
    """Fit on all of ``judged`` and write the judge beside how it fares on stories it was not fitted on."""
    judge = fit_judge(judged)
    verdicts = {where: asdict(verdict) for where, verdict in cross_validated(judged).items()}
    out.mkdir(parents=True, exist_ok=True)
    path = out / WEIGHTS
    stored = {
        "command": command,
        "cross_validated": verdicts,
        "judges": {"auto": {name: asdict(getattr(judge, name)) for name in ("worth", "right")}},
    }
    path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return path

"""Fits the answer selector on held-out stories: what answers are worth, and how likely the best is right."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]

from encoders.cross_encoder import CrossEncoder
from evaluation.metrics.overlap import rouge_l
from readers.default.answer_selector import WEIGHTS, AnswerSelector, Logistic, Signals, choose
from readers.default.auto import AutoReader
from readers.reading import Reading
from terminal.progress import ProgressBars
from training.corpora.corpus import Corpus, Document, LabelledQuestion, NoTrainingData, iter_questions
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.narrativeqa import STORIES, SUMMARIES
from training.invocation import Invocation

SECTIONS = "sections"
MOST = 300  # questions of each kind
RIGHT = 0.5  # ROUGE-L from which an answer counts as right
CANDIDATES = 10  # passages that BM25 finds, of which the most relevant are read
READ = 5
FOLDS = 5
STRENGTH = 1.0  # inverse of the L2 penalty

# What is read for a question about each kind of document.
_READ_AS = {FAIRYTALES: (SECTIONS, STORIES), SUMMARIES: (SUMMARIES,), STORIES: (STORIES,)}


@dataclass(frozen=True, slots=True)
class ScoredCandidates:
    """A held-out question, its candidates' signals, and the ROUGE-L that each has.

    ``where`` says what was read: the sections, a summary, or passages found in a story.
    """

    story: str
    where: str
    question: str
    signals: tuple[Signals, ...]
    worth: tuple[float, ...]


def score_candidates(
    reader: AutoReader, corpus: Corpus, on_progress: Callable[[int, int], None] | None = None
) -> list[ScoredCandidates]:
    """The candidates for held-out questions that no model was trained on, scored.

    At most ``MOST`` questions of each kind, always the same ones. Fairy tales are read twice, their
    sections alone and passages found in the story; summaries are read whole, and of full stories the
    passages found.
    """
    questions = _held_out_questions(corpus)
    scored = []
    for first in range(0, len(questions), 16):
        part = questions[first : first + 16]
        readings = [_reading(where, document, question, reader.encoder) for where, document, question in part]
        for (where, document, question), (answers, signals) in zip(
            part, reader.candidates(readings), strict=True
        ):
            worth = tuple(rouge_l(answer.text, question.answers) for answer in answers)
            scored.append(ScoredCandidates(document.name, where, question.text, tuple(signals), worth))
        if on_progress is not None:
            on_progress(first + len(part), len(questions))
    return scored


def _held_out_questions(corpus: Corpus) -> list[tuple[str, Document, LabelledQuestion]]:
    """What is read for each question, the document and the question."""
    found: list[tuple[str, Document, LabelledQuestion]] = []
    for kind, readings in _READ_AS.items():
        every = list(iter_questions([document for document in corpus.held_out if document.kind == kind]))
        every = random.Random(0).sample(every, min(MOST, len(every)))
        found += [(where, document, question) for where in readings for document, question in every]
    return found


def _reading(where: str, document: Document, question: LabelledQuestion, encoder: CrossEncoder) -> Reading:
    if where == SECTIONS:
        return Reading(question.text, tuple(document.text[start:end] for start, end in question.gold))
    if where == SUMMARIES:
        return Reading(question.text, (document.text,))
    return Reading(question.text, most_relevant(document, question.text, encoder))


def most_relevant(document: Document, question: str, encoder: CrossEncoder) -> tuple[str, ...]:
    """The passages of a document to read for a question, in story order."""
    best = np.argsort(-document.sparse.bm25(question), kind="stable")[:CANDIDATES].tolist()
    [encoded] = encoder.encode([(question, [document.texts[number] for number in best])])
    relevance = {number: one.relevance for number, one in zip(best, encoded, strict=True)}
    chosen = sorted(best, key=lambda number: -relevance[number])[:READ]
    return tuple(document.texts[number] for number in sorted(chosen))


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


def fit_selector(scored: Sequence[ScoredCandidates]) -> AnswerSelector:
    """Worth from the first answer of each reader, and rightness from the one that worth chooses."""
    scored = [one for one in scored if one.signals]
    features = [[signals.features(one.question) for signals in one.signals] for one in scored]
    firsts = [_firsts(one) for one in scored]
    worth = fit_logistic(
        [rows[i] for rows, mine in zip(features, firsts, strict=True) for i in mine],
        [one.worth[i] for one, mine in zip(scored, firsts, strict=True) for i in mine],
    )
    best = [_chosen(one, rows, worth) for one, rows in zip(scored, features, strict=True)]
    right = fit_logistic(
        [rows[i] for rows, i in zip(features, best, strict=True)],
        [float(one.worth[i] >= RIGHT) for one, i in zip(scored, best, strict=True)],
    )
    return AnswerSelector(worth, right)


def _firsts(one: ScoredCandidates) -> list[int]:
    written = [signals.written for signals in one.signals]
    return [written.index(kind) for kind in (False, True) if kind in written]


def _chosen(one: ScoredCandidates, rows: Sequence[Mapping[str, float]], worth: Logistic) -> int:
    return choose([worth(row) for row in rows], [signals.written for signals in one.signals])


@dataclass(frozen=True, slots=True)
class SelectionScores:
    """How a selector fares on one kind of question: mean ROUGE-L of its choices and of others'."""

    questions: int
    judged: float
    spans: float
    written: float
    best_possible: float
    confidence: float
    right: float


def cross_validate(scored: Sequence[ScoredCandidates]) -> dict[str, SelectionScores]:
    """Per kind of question what selectors fitted on other stories choose."""
    stories = sorted({one.story for one in scored})
    found: dict[str, list[tuple[float, ...]]] = {}
    for fold in range(FOLDS):
        apart = set(stories[fold::FOLDS])
        others = [one for one in scored if one.story not in apart]
        if not others or not apart:
            continue
        judge = fit_selector(others)
        for one in scored:
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
        where: SelectionScores(len(rows), *(float(value) for value in np.mean(rows, axis=0)))
        for where, rows in found.items()
    }


def _first(one: ScoredCandidates, written: bool) -> float:
    """The ROUGE-L of the best candidate of one reader, as that reader orders them."""
    return next((worth for worth, s in zip(one.worth, one.signals, strict=True) if s.written == written), 0.0)


@dataclass(frozen=True, slots=True)
class FittedSelector:
    """The file of the fitted selector, and how selectors fare on stories that they were not fitted on."""

    path: Path
    scores: Mapping[str, SelectionScores]

    def describe(self) -> dict[str, object]:
        """For machines."""
        return {"weights": [str(self.path)], "cross_validated": _as_dicts(self.scores)}

    def lines(self) -> Iterator[str]:
        """For people."""
        for where, scores in self.scores.items():
            yield f"{where} {asdict(scores)}"


def write_selector(scored: Sequence[ScoredCandidates], out: Path, command: str) -> FittedSelector:
    """Fit on all of ``scored`` and write the selector beside how it fares on other stories."""
    selector = fit_selector(scored)
    fitted = FittedSelector(out / WEIGHTS, cross_validate(scored))
    out.mkdir(parents=True, exist_ok=True)
    stored = {
        "command": command,
        "cross_validated": _as_dicts(fitted.scores),
        "judges": {"auto": {name: asdict(getattr(selector, name)) for name in ("worth", "right")}},
    }
    fitted.path.write_text(json.dumps(stored, indent=1) + "\n", encoding="utf-8")
    return fitted


def _as_dicts(scores: Mapping[str, SelectionScores]) -> dict[str, dict[str, float]]:
    return {where: asdict(one) for where, one in scores.items()}


def train(
    run: Invocation,
    *,
    start: Annotated[
        Path, typer.Option(exists=True, file_okay=False, help="The folder of the readers' weights.")
    ],
) -> FittedSelector:
    """See ``storyqa train judge``."""
    corpus = run.corpus()
    if not _held_out_questions(corpus):
        raise NoTrainingData(
            f"{', '.join(map(str, run.data))}: no story is held out, and the selector is fitted on those; "
            "wanted all of FairytaleQA train or NarrativeQA"
        )
    reader = AutoReader.without_selector(str(start))
    with ProgressBars() as tell:
        scored = score_candidates(reader, corpus, lambda done, total: tell("reading", done, total))
    return write_selector(scored, run.out, run.command)

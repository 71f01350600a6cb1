"""Fits the answer selector on held-out stories: what answers are worth, which are right, when to write."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from encoders.cross_encoder import CrossEncoder
from evaluation.metrics.overlap import rouge_l
from readers.default.answer_selector import WEIGHTS
from readers.default.auto import AutoReader
from readers.reading import Reading
from terminal.progress import ProgressBars
from training.corpora.corpus import Corpus, Document, LabelledQuestion, NoTrainingData, iter_questions
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.narrativeqa import STORIES, SUMMARIES
from training.invocation import Invocation
from training.selection import (
    ScoredCandidates,
    SelectionScores,
    cheapest,
    fit_selector,
    judge_apart,
    score_selection,
)

SECTIONS = "sections"
MOST = 300  # questions of each kind, unless a run wants others
CANDIDATES = 10  # passages that BM25 finds, of which the most relevant are read
READ = 5

# What is read for a question about each kind of document.
_READ_AS = {FAIRYTALES: (SECTIONS, STORIES), SUMMARIES: (SUMMARIES,), STORIES: (STORIES,)}


def score_candidates(
    reader: AutoReader,
    corpus: Corpus,
    on_progress: Callable[[int, int], None] | None = None,
    most: int = MOST,
) -> list[ScoredCandidates]:
    """The candidates for held-out questions that no model was trained on, scored.

    At most ``most`` questions of each kind, always the same ones. Fairy tales are read twice, their
    sections alone and passages found in the story; summaries are read whole, and of full stories the
    passages found.
    """
    questions = _held_out_questions(corpus, most)
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


def _held_out_questions(corpus: Corpus, most: int) -> list[tuple[str, Document, LabelledQuestion]]:
    """What is read for each question, the document and the question."""
    found: list[tuple[str, Document, LabelledQuestion]] = []
    for kind, readings in _READ_AS.items():
        every = list(iter_questions([document for document in corpus.held_out if document.kind == kind]))
        every = random.Random(0).sample(every, min(most, len(every)))
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
    judged = judge_apart(scored)
    writes_from = cheapest(judged)
    selector = fit_selector(scored, writes_from)
    fitted = FittedSelector(out / WEIGHTS, score_selection(judged, writes_from))
    out.mkdir(parents=True, exist_ok=True)
    stored = {
        "command": command,
        "cross_validated": _as_dicts(fitted.scores),
        "judges": {"auto": asdict(selector)},
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
    questions: Annotated[
        int, typer.Option(min=1, help="At most so many of fairy tales, of summaries, of stories.")
    ] = MOST,
) -> FittedSelector:
    """See ``storyqa train judge``."""
    corpus = run.corpus()
    if not _held_out_questions(corpus, questions):
        raise NoTrainingData(
            f"{', '.join(map(str, run.data))}: no story is held out, and the selector is fitted on those; "
            "wanted all of FairytaleQA train or NarrativeQA"
        )
    reader = AutoReader.without_selector(str(start))
    with ProgressBars() as tell:
        scored = score_candidates(reader, corpus, lambda done, total: tell("reading", done, total), questions)
    return write_selector(scored, run.out, run.command)

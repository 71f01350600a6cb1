"""Fits the answer selector: what answers are worth, which are right, and when to write.

On stories that are held out, and on articles.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from evaluation.metrics.overlap import rouge_l
from indexing.build import build_book
from indexing.manifest import BuildSettings
from indexing.store import IndexStore
from readers.default.auto import AutoReader, AutoWriteReader
from readers.reading import Reading
from retrieval.rerank import RerankRetriever
from terminal.progress import ProgressBars
from training.corpora.corpus import Corpus, Document, LabelledQuestion, NoTrainingData, iter_questions
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.narrativeqa import STORIES, SUMMARIES
from training.corpora.novels import NOVELS
from training.corpora.squad import ARTICLES
from training.invocation import Invocation
from training.searched_books import Tell, book_of, books_to_search
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
READ = 5  # passages of a book, at most

# What is read for a question about each kind of document.
_READ_AS = {
    FAIRYTALES: (SECTIONS, STORIES),
    SUMMARIES: (SUMMARIES,),
    STORIES: (STORIES,),
    NOVELS: (NOVELS,),
    ARTICLES: (ARTICLES,),
}


def score_candidates(
    reader: AutoReader, corpus: Corpus, tell: Tell, most: int = MOST
) -> list[ScoredCandidates]:
    """The candidates for questions that no model was trained on, scored, but for those about articles.

    At most ``most`` questions of each kind, always the same ones. Fairy tales are read twice, their
    sections alone and passages found in one book of them all; summaries are read whole, of full
    stories and novels the passages found, and of articles the paragraph. ``tell(step, done, of)`` is told
    how far it is.
    """
    questions = _questions_to_read(corpus, most)
    books = books_to_search([document for where, document, _ in questions if where in (STORIES, NOVELS)])
    scored = []
    with TemporaryDirectory() as folder:
        store = IndexStore(folder)
        retrievers: dict[str, RerankRetriever] = {}
        for done, book in enumerate(books, 1):
            build_book(book, BuildSettings(), store)
            retrievers[book.id] = RerankRetriever(store.open(book.id), encoder=reader.encoder)
            tell("indexing", done, len(books))
        for first in range(0, len(questions), 16):
            part = questions[first : first + 16]
            readings = [_reading(where, document, question, retrievers) for where, document, question in part]
            for (where, document, question), (answers, signals) in zip(
                part, reader.candidates(readings), strict=True
            ):
                # What is said where a novel does not answer is worth nothing.
                wanted = question.answers
                worth = tuple(rouge_l(answer.text, wanted) if wanted else 0.0 for answer in answers)
                scored.append(ScoredCandidates(document.name, where, question.text, tuple(signals), worth))
            tell("reading", first + len(part), len(questions))
    return scored


def _questions_to_read(corpus: Corpus, most: int) -> list[tuple[str, Document, LabelledQuestion]]:
    """What is read for each question, the document and the question; none where no story is held out."""
    if not corpus.held_out:
        return []
    # No article is held out, for there are so many that few are known by heart: .793 of 600 answers about
    # those trained on were right, and .806 about others.
    documents = [*corpus.held_out, *corpus.of(ARTICLES)]
    found: list[tuple[str, Document, LabelledQuestion]] = []
    for kind, readings in _READ_AS.items():
        every = list(iter_questions([document for document in documents if document.kind == kind]))
        every = random.Random(0).sample(every, min(most, len(every)))
        found += [(where, document, question) for where in readings for document, question in every]
    return found


def _reading(
    where: str,
    document: Document,
    question: LabelledQuestion,
    retrievers: Mapping[str, RerankRetriever],
) -> Reading:
    if where == SECTIONS:
        return Reading(question.text, tuple(document.text[start:end] for start, end in question.gold))
    if where == SUMMARIES:
        return Reading(question.text, (document.text,))
    if where == ARTICLES:
        [paragraph] = document.answering(question)
        return Reading(question.text, (document.texts[paragraph],))
    return found_reading(retrievers[book_of(document)], question.text)


def found_reading(retriever: RerankRetriever, question: str) -> Reading:
    """What is read of a book by default: of the best passages those near the best, in story order."""
    [hits] = retriever.search([question], READ)
    near = sorted((hit for hit in hits if hit.is_near), key=lambda hit: hit.passage.start)
    texts = tuple(retriever.text_of(hit) for hit in near)
    return Reading(question, texts, encoded=tuple(hit.encoded for hit in near))


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


def write_selector(scored: Sequence[ScoredCandidates], path: Path, command: str) -> FittedSelector:
    """Fit on all of ``scored`` and write the selector beside how it fares on other stories."""
    judged = judge_apart(scored)
    writes_from = cheapest(judged)
    selector = fit_selector(scored, writes_from)
    fitted = FittedSelector(path, score_selection(judged, writes_from))
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = {
        "command": command,
        "cross_validated": _as_dicts(fitted.scores),
        "judge": asdict(selector),
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
        int,
        typer.Option(
            min=1, help="At most so many of fairy tales, of summaries, of stories, of novels, of articles."
        ),
    ] = MOST,
    writer: Annotated[
        bool,
        typer.Option("--writer", help="Of the reader auto-write, whose writer is a small language model."),
    ] = False,
) -> FittedSelector:
    """See ``storyqa train judge``."""
    corpus = run.corpus()
    if not _questions_to_read(corpus, questions):
        raise NoTrainingData(
            f"{', '.join(map(str, run.data))}: no story is held out, and the selector is fitted on those; "
            "wanted all of FairytaleQA train or NarrativeQA"
        )
    kind = AutoWriteReader if writer else AutoReader
    reader = kind.without_selector(str(start))
    with ProgressBars() as tell:
        scored = score_candidates(reader, corpus, tell, questions)
    return write_selector(scored, run.out / kind.selected_by, run.command)

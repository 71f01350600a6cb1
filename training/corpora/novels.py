"""Whole novels and natural questions about them, our own (``evaluation.benchmarks.novels``)."""

from __future__ import annotations

import logging
from pathlib import Path

from evaluation.benchmarks.novels import AnotherEdition, texts_in
from indexing.passages import split
from training.corpora.corpus import Document, LabelledQuestion

NOVELS = "novels"
SOURCES = {NOVELS: "natural questions of storyqa's own about novels of Project Gutenberg (public domain)"}

log = logging.getLogger(__name__)


def is_in(folder: Path) -> bool:
    """Whether the folder holds the text of a novel that there are questions about."""
    return any(True for _ in texts_in(folder))


def load(folder: Path) -> list[Document]:
    """The novels whose texts are in the folder; of each question the gold place is what answers it best.

    A question that its novel does not answer has neither references nor a place. A text of another edition
    is passed over, with a warning.
    """
    documents = []
    for novel, path in texts_in(folder):
        try:
            text = novel.read(path).text
        except AnotherEdition as error:
            log.warning("%s is another edition of %s, and not trained on: %s", path, novel.title, error)
            continue
        passages = tuple((passage.start, passage.end) for passage in split(text))
        questions = tuple(
            LabelledQuestion(one.text, one.references(text), (one.span,) if one.span else (), exact=True)
            for one in novel.questions
        )
        documents.append(Document(NOVELS, novel.name, text, passages, questions))
    return documents

"""Whole novels and natural questions about them, our own (``evaluation.benchmarks.novels``)."""

from __future__ import annotations

import logging
from pathlib import Path

from evaluation.benchmarks.narrativeqa import read_story
from evaluation.benchmarks.novels import is_in, texts_in
from indexing.passages import split
from training.corpora.corpus import Document, LabelledQuestion

NOVELS = "novels"
SOURCES = {NOVELS: "natural questions of storyqa's own about novels of Project Gutenberg (public domain)"}

log = logging.getLogger(__name__)

__all__ = ["NOVELS", "SOURCES", "is_in", "load"]


def load(folder: Path) -> list[Document]:
    """The novels whose texts are in the folder; of each question the gold place is what answers it best.

    A question that its novel does not answer has neither references nor a place. A text of another edition
    is passed over, with a warning.
    """
    documents = []
    for novel, path in texts_in(folder):
        text = read_story(path, novel.id).text
        if len(text) != novel.characters:
            log.warning("%s is another edition of %s, and is not trained on", path, novel.title)
            continue
        passages = tuple((passage.start, passage.end) for passage in split(text))
        questions = tuple(
            LabelledQuestion(one.text, one.references(text), (one.span,) if one.span else (), exact=True)
            for one in novel.questions
        )
        documents.append(Document(NOVELS, novel.name, text, passages, questions))
    return documents

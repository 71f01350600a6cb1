"""Everyday texts and questions about them, our own (``evaluation.benchmarks.everyday``)."""

from __future__ import annotations

from pathlib import Path

from evaluation.benchmarks import squad
from evaluation.benchmarks.everyday import FILE
from training.corpora.corpus import Document
from training.corpora.squad import paragraphs_by

EVERYDAY = "everyday texts"
SOURCES = {
    EVERYDAY: "recipes, manuals, minutes and other texts of storyqa's own, with questions (Apache-2.0)"
}


def is_in(folder: Path) -> bool:
    """Whether the folder holds them."""
    return (folder / FILE).is_file()


def load(folder: Path) -> list[Document]:
    """A document per kind of text, its texts as passages; a gold place is the answer itself."""
    return paragraphs_by(
        squad.load(folder / FILE), EVERYDAY, lambda question: question.kind or question.story
    )

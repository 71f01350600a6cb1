"""FairytaleQA (Xu et al. 2022): its training split, a document per fairy tale."""

from __future__ import annotations

from pathlib import Path

from evaluation.benchmarks import fairytaleqa
from training.corpora.corpus import Document, documents_of

FAIRYTALES = "fairytales"
SOURCES = {FAIRYTALES: "FairytaleQA train (Apache-2.0)"}


def is_in(folder: Path) -> bool:
    """Whether the folder holds the training split, as its publishers lay it out."""
    return (folder / "questions" / "train").is_dir()


def load(folder: Path) -> list[Document]:
    """The fairy tales of the training split; gold places are the sections that a question is about."""
    return documents_of(fairytaleqa.load(folder, "train", "stories"), FAIRYTALES)

"""MCTest (Richardson et al. 2013): its training split, a document per story, right choices as answers."""

from __future__ import annotations

from pathlib import Path

from evaluation.benchmarks import mctest
from training.corpora.corpus import Document, documents_of

CHILDRENS_STORIES = "children's stories"
SOURCES = {CHILDRENS_STORIES: "MCTest train (Microsoft Research licence)"}


def is_in(folder: Path) -> bool:
    """Whether the folder holds the training split, as its publishers lay it out."""
    return any((folder / f"{name}.train.tsv").is_file() for name in mctest.SETS)


def load(folder: Path) -> list[Document]:
    """The stories of both sets."""
    return documents_of(mctest.load(folder, "train"), CHILDRENS_STORIES)

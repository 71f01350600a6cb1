"""Folders of data sets in, a corpus out: what is trained on and what is held out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from evaluation.benchmarks.holdout import (
    EVERYDAY_SHARE,
    FAIRYTALEQA_SHARE,
    NARRATIVEQA_SHARE,
    NOVELS_SHARE,
    held_out,
)
from training.corpora import (
    cloze,
    cloze_documents,
    everyday,
    fairytaleqa,
    mctest,
    narrativeqa,
    novels,
    squad,
    wikireading,
)
from training.corpora.corpus import Corpus, Document, NoTrainingData
from training.corpora.everyday import EVERYDAY
from training.corpora.fairytaleqa import FAIRYTALES
from training.corpora.narrativeqa import STORIES, SUMMARIES, TRAIN_STORIES, TRAIN_SUMMARIES
from training.corpora.novels import NOVELS

TRAIN_SHARE = 0.05  # of the documents of NarrativeQA's training split are held out
# What each kind of document is, and its licence.
SOURCES = {
    **fairytaleqa.SOURCES,
    **squad.SOURCES,
    **narrativeqa.SOURCES,
    **mctest.SOURCES,
    **novels.SOURCES,
    **everyday.SOURCES,
    **cloze.SOURCES,
    **cloze_documents.SOURCES,
    **wikireading.SOURCES,
}


def load_corpus(folders: Sequence[Path]) -> Corpus:
    """FairytaleQA, SQuAD v1.1, MCTest train, half A of NarrativeQA valid, novels, everyday texts.

    A folder is recognised by what it holds. Stories of FairytaleQA and of half A, novels, and kinds of
    everyday texts are held out (``evaluation.benchmarks.holdout``). Raises NoTrainingData for a folder
    that holds none of them, and the loaders' ``DataError`` for files in another layout.
    """
    documents: list[Document] = []
    for folder in folders:
        if narrativeqa.is_in(folder):
            documents += narrativeqa.load_half_a(folder) + narrativeqa.load_excerpt(folder)
        elif novels.is_in(folder):
            documents += novels.load(folder)
        elif everyday.is_in(folder):
            documents += everyday.load(folder)
        else:
            documents += _load_other(folder)
    return _hold_out(
        documents,
        {
            FAIRYTALES: FAIRYTALEQA_SHARE,
            SUMMARIES: NARRATIVEQA_SHARE,
            STORIES: NARRATIVEQA_SHARE,
            NOVELS: NOVELS_SHARE,
            EVERYDAY: EVERYDAY_SHARE,
        },
    )


def load_official_corpus(folders: Sequence[Path], stories: bool = False) -> Corpus:
    """NarrativeQA's training split, FairytaleQA train and SQuAD v1.1 train, whichever the folders hold.

    Of NarrativeQA its summaries, or its full ``stories``; nothing of valid, on which the models are
    scored: a folder that has no training split is passed over. A twentieth of its documents and a
    tenth of the FairytaleQA stories are held out. Raises as ``load_corpus``.
    """
    documents: list[Document] = []
    kind = TRAIN_STORIES if stories else TRAIN_SUMMARIES
    for folder in folders:
        if narrativeqa.is_in(folder):
            documents += narrativeqa.load_train(folder, kind)
        else:
            documents += _load_other(folder)
    if not documents:
        raise NoTrainingData(
            f"{', '.join(map(str, folders))}: no training data; wanted NarrativeQA with its training split "
            "(the official qaps.csv and summaries.csv), or FairytaleQA (questions/train and "
            "section-stories/train)"
        )
    return _hold_out(documents, {FAIRYTALES: FAIRYTALEQA_SHARE, kind: TRAIN_SHARE})


def _load_other(folder: Path) -> list[Document]:
    """FairytaleQA, SQuAD or MCTest in a folder; raises NoTrainingData where it holds neither."""
    if fairytaleqa.is_in(folder):
        return fairytaleqa.load(folder)
    if squad.is_in(folder):
        return squad.load(folder)
    if mctest.is_in(folder):
        return mctest.load(folder)
    raise NoTrainingData(
        f"{folder} holds no training data; wanted FairytaleQA (questions/train and "
        "section-stories/train), SQuAD v1.1 (train-v1.1.json or train-v1.1.json.xz), "
        "MCTest (mc160.train.tsv or mc500.train.tsv and their .ans), "
        "NarrativeQA (documents.csv, qaps.csv, third_party/wikipedia/summaries.csv), "
        "novels that there are questions about (<Gutenberg id>.txt, or NarrativeQA's <document id>.content) "
        "or everyday texts (evaluation/benchmarks/everyday)"
    )


def _hold_out(documents: Sequence[Document], shares: Mapping[str, float]) -> Corpus:
    """The documents without a share of those of each kind, and these; held out by name."""
    names = {kind: {document.name for document in documents if document.kind == kind} for kind in shares}
    if SUMMARIES in names:
        names[STORIES] = names[SUMMARIES]  # a summary and the story that it is of are on the same side
    apart = {kind: held_out(names[kind], share) for kind, share in shares.items()}
    kept = tuple(document for document in documents if document.name not in apart.get(document.kind, ()))
    return Corpus(
        kept, tuple(document for document in documents if document.name in apart.get(document.kind, ()))
    )

"""NarrativeQA (Kočiský et al. 2018): half A of its valid split, or its training split."""

from __future__ import annotations

import json
import logging
import lzma
from pathlib import Path
from typing import Any

from evaluation.benchmarks import narrativeqa
from evaluation.benchmarks.files import DataError
from text.detokenise import joined
from training.corpora.corpus import Document, LabelledQuestion, documents_of

SUMMARIES, STORIES = "summaries", "stories"  # of half A of valid
TRAIN_SUMMARIES, TRAIN_STORIES = "train summaries", "train stories"  # of the training split
SOURCES = {
    SUMMARIES: "NarrativeQA valid, half A, summaries (Apache-2.0; texts CC BY-SA 3.0)",
    TRAIN_SUMMARIES: "NarrativeQA train, summaries (Apache-2.0; texts CC BY-SA 3.0)",
    TRAIN_STORIES: "NarrativeQA train, full stories (Apache-2.0; films under copyright)",
    STORIES: "NarrativeQA valid, half A, full stories of Project Gutenberg (Apache-2.0; public domain)",
}

log = logging.getLogger(__name__)


def is_in(folder: Path) -> bool:
    """Whether the folder holds the data set, as its publishers lay it out."""
    return (folder / "qaps.csv").is_file()


def load_half_a(folder: Path) -> list[Document]:
    """The summaries of half A of valid and, where the folder has the stories' texts, its full stories."""
    documents = _half_a(folder, "summaries", SUMMARIES)
    if (folder / "tmp").is_dir():
        documents += _half_a(folder, "stories", STORIES)
    return documents


def _half_a(folder: Path, setting: str, kind: str) -> list[Document]:
    documents = documents_of(narrativeqa.load(folder, "valid", setting), kind)
    return [document for document in documents if narrativeqa.half(document.name) == "A"]


def load_excerpt(folder: Path) -> list[Document]:
    """The questions of the training split that ``nqa_train60.jsonl.xz`` holds, where it is in the folder.

    A row has the question, its answers, and the sentences of the summary, tokenised. Raises ``DataError`` for
    a file in another form.
    """
    path = folder / "nqa_train60.jsonl.xz"
    if not path.is_file():
        return []
    try:
        with lzma.open(path, "rt", encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        return [_excerpt(row) for row in rows]
    except (OSError, EOFError, lzma.LZMAError, ValueError, LookupError, TypeError) as error:
        raise DataError(
            f"{path} is not in the expected form ({error}); wanted JSON lines, compressed"
        ) from error


def _excerpt(row: dict[str, Any]) -> Document:
    text = " ".join(joined(sentence.split()) for sentence in row["summary_sentences"])
    answers = tuple(joined(answer.split()) for answer in row["answers"])
    question = LabelledQuestion(joined(row["question"].split()), answers)
    return Document(TRAIN_SUMMARIES, row["document_id"], text, ((0, len(text)),), (question,))


def load_train(folder: Path, kind: str) -> list[Document]:
    """The training split's ``TRAIN_SUMMARIES`` or ``TRAIN_STORIES``; none where the folder has only valid."""
    if "train" not in narrativeqa.splits(folder):
        log.warning("%s has no training split of NarrativeQA, and is not trained on", folder)
        return []
    setting = "stories" if kind == TRAIN_STORIES else "summaries"
    return documents_of(narrativeqa.load(folder, "train", setting), kind)

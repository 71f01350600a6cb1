"""Cloze questions to train on, and the valid split to choose by: as clozes, and as running text."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evaluation.benchmarks import BENCHMARKS
from evaluation.benchmarks.benchmark import Benchmark, Question, given_reading
from readers.cloze import Cloze, parse_cloze
from training.corpora.corpus import NoTrainingData, fingerprint_of

HELD_OUT = 1_000  # questions of the valid split that a choice rests on
SOURCES = {
    "cbt": "Children's Book Test train (children's books of Project Gutenberg, public domain)",
    "cnn": "CNN and Daily Mail train, or entity questions of books (Project Gutenberg, public domain)",
}


@dataclass(frozen=True, slots=True)
class ClozeCorpus:
    """The questions of a data set's train split, and a draw of its valid split."""

    data_set: str
    train: Benchmark
    held_out: Benchmark

    def describe(self) -> dict[str, tuple[int, int]]:
        """As ``Corpus.describe``: works and questions."""
        return {self.data_set: (len(self.train.titles), len(self.train.questions))}

    def fingerprint(self) -> str:
        """As ``Corpus.fingerprint``."""
        questions = (*self.train.questions, *self.held_out.questions)
        return fingerprint_of(part for one in questions for part in (one.book, one.text))

    def sentences(self) -> Iterator[tuple[str, str]]:
        """The book and the text of each passage of the train split, once and in the order of the books.

        CBT's own questions do not say which book they are of, but they stand in its order: what one context
        has beside the one before it goes on from there, so that those of a class are one text.
        """
        places: dict[str, dict[tuple[int, int], None]] = {}
        texts = {}
        for question in self.train.questions:
            places.setdefault(question.book, {}).update(dict.fromkeys(question.given))
            apart = self.data_set != "cbt" or not self.train.files
            texts[question.book] = question.book if apart else question.kind or ""
        seen = set()
        for book, of_one in places.items():
            text = self.train.books[book]().text
            for start, end in sorted(of_one):
                sentence = text[start:end]
                if sentence not in seen:
                    seen.add(sentence)
                    yield texts[book], sentence


def load(
    folders: Sequence[Path],
    data_set: str,
    count: int | None,
    setting: str | None,
    seed: int,
    cache: Path | None = None,
) -> ClozeCorpus:
    """The data set in the one folder, ``count`` and ``setting`` as for its loader's train split.

    All runs learn the same questions, which take minutes to make of books; ``seed`` draws those held out.
    Raises NoTrainingData for several folders, an empty split, or splits of the same texts, and the loader's
    ``DataError``.
    """
    if len(folders) != 1:
        raise NoTrainingData(f"{len(folders)} folders; wanted one, that of the data set {data_set}")
    spec = BENCHMARKS[data_set]
    chosen = setting or spec.settings[0]
    splits = []
    for split, number in (("train", count), ("valid", None)):
        benchmark = spec.load(folders[0], split, chosen, count=number, cache=cache)
        if not benchmark.questions:
            raise NoTrainingData(f"{folders[0]}: no question in the {split} split of {data_set}")
        splits.append(benchmark)
    train, valid = splits
    check_apart((*train.files, *texts_of(train)), valid, folders[0])
    drawn = random.Random(seed).sample(valid.questions, min(HELD_OUT, len(valid.questions)))
    return ClozeCorpus(data_set, train, replace(valid, questions=tuple(drawn)))


def texts_of(benchmark: Benchmark) -> Iterator[str]:
    """The texts that its questions are about, each once; none where they are in the publishers' own files."""
    books = () if benchmark.files else dict.fromkeys(question.book for question in benchmark.questions)
    return (benchmark.books[id]().text for id in books)


def check_apart(learnt: Iterable[str | Path], valid: Benchmark, folder: Path) -> None:
    """Raise NoTrainingData where the ``valid`` split, by which weights are chosen, is of what is ``learnt``.

    These are texts, or the publishers' own files; such as nobody told the split of are of every split.
    """
    common = set(learnt).intersection((*valid.files, *texts_of(valid)))
    if common:
        raise NoTrainingData(
            f"{folder}: the train and the valid split have {len(common)} of their texts in common, so that "
            "nothing could be chosen by the latter; name the split of each text: of books in a *.tsv with "
            "a column split, of articles in files called train and valid"
        )


def clozes(benchmark: Benchmark) -> Iterator[tuple[Question, Cloze]]:
    """Each question with its cloze, one book after another."""
    text, book = "", None
    for question in sorted(benchmark.questions, key=lambda one: one.book):
        if question.book != book:
            book, text = question.book, benchmark.books[question.book]().text
        yield question, parse_cloze(given_reading(question, text), question.candidates)

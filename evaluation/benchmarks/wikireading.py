"""WikiReading: a property is asked of a document, whose values, one or several, are the answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark, Question, in_memory, kinds_of, sample_stream
from evaluation.benchmarks.files import DataError, choose
from evaluation.wikireading.instances import (
    LAYOUT,
    Instance,
    document_key,
    files_of,
    is_official,
    parse_instance,
    read_instances,
    read_lines,
)
from evaluation.wikireading.statistics import KINDS, TrainingStatistics, bounds, count_training
from indexing.book import Book

SETTINGS = ("all", *KINDS)
COUNTED = 200_000  # training instances that kinds and bounds are told by: the official are 13 million


def load(
    data: Annotated[Path, f"A folder with {LAYOUT}."],
    split: Annotated[str, "validation, test or train."] = "validation",
    setting: Annotated[str, "all, or the properties of a kind: categorical, relational or date."] = "all",
    limit: int | None = None,
    seed: int = 0,
) -> Benchmark:
    """The questions of one split, or ``limit`` of them; raises ``DataError`` for files that are malformed.

    Each asks a property, which is its text, and is given the whole document. Its kind is what the train split
    says of the property: categorical, relational, or relational/date. Files are read as streams: no more is
    kept than the questions are, and what is counted in the train split, and lines that are not drawn are not
    looked at, unless for their kind.
    """
    choose("setting", setting, SETTINGS, "WikiReading")
    paths = files_of(data, split)
    training = _training(data)
    if training is None and setting != "all":
        raise DataError(f"{data} has no train split, which says what is {setting}; expected there: {LAYOUT}")
    lines = read_lines(data, split)
    if training is not None and setting != "all":
        kind = training.kind
        lines = (one for one in lines if setting in kinds_of(kind(parse_instance(*one).property)))
    drawn = lines if limit is None else sample_stream(lines, limit, seed)
    questions, books = _questions((parse_instance(*one) for one in drawn), training)
    if not questions:
        raise DataError(f"{', '.join(map(str, paths))}: no instance of the setting {setting!r}")
    return Benchmark(
        name="wikireading",
        split=split,
        setting=setting,
        questions=tuple(questions),
        books=in_memory(books),
        titles={one.story: books[one.book].title for one in questions},
        ranked=False,
        metrics=("mean_f1",),
        notes=tuple(_notes(is_official(paths), training)),
        bounds=partial(_bounds, books, training),
    )


def _training(data: Path) -> TrainingStatistics | None:
    """What the train split says, None where it is not there: official shards come split by split."""
    try:
        files_of(data, "train")
    except DataError:
        return None
    return count_training(islice(read_instances(data, "train"), COUNTED))


def _questions(
    instances: Iterable[Instance], training: TrainingStatistics | None
) -> tuple[list[Question], dict[str, Book]]:
    """A question for each instance, and the documents that they are asked of."""
    books: dict[str, Book] = {}
    asked: Counter[str] = Counter()
    questions = []
    for one in instances:
        book = one.key
        if book in books and books[book].text != one.document:  # another snippet about the same
            book = f"{one.key}:{document_key(one.document)}"
        if book not in books:
            books[book] = Book(book, one.title or one.key, one.document, "WikiReading")
        id = f"{one.key}:{one.property}"
        asked[id] += 1
        questions.append(
            Question(
                id=id if asked[id] == 1 else f"{id}:{asked[id]}",
                story=one.key,
                text=one.property,
                answers=one.answers,
                book=book,
                given=((0, len(books[book].text)),),
                kind=None if training is None else training.kind(one.property),
            )
        )
    return questions, books


def _bounds(
    books: dict[str, Book], training: TrainingStatistics | None, questions: Sequence[Question]
) -> dict[str, float]:
    """See ``Benchmark.bounds``: ``evaluation.wikireading.statistics.bounds`` of the questions."""
    asked = ((one.answers, books[one.book].text) for one in questions)
    return bounds(asked, None if training is None else training.answers)


def _notes(official: bool, training: TrainingStatistics | None) -> Iterator[str]:
    if not official:
        yield "another, smaller set than the paper's, of the same task"
    if training is None:
        yield "there is no train split, which would say what is categorical, relational or a date"
    elif training.instances == COUNTED:
        yield f"kinds and training answers are those of the first {COUNTED:,} training instances"

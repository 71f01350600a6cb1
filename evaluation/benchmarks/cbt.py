"""The Children's Book Test: which of ten words was blanked, twenty sentences of a book being given."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Container, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark, Question, in_memory
from evaluation.benchmarks.files import DataError, check_split, choose
from evaluation.cloze.blanked_words import CLASSES
from evaluation.cloze.book_files import read_books
from evaluation.cloze.official_words import (
    LAYOUT,
    SPLITS,
    context_at,
    file_of,
    is_official,
    kind_of,
    read_words,
    split_of,
    unpacked,
)
from evaluation.cloze.placed_questions import word_questions
from indexing.book import Book
from text.cloze import blanks
from text.sentences import sentence_spans

SETTINGS = ("all", *CLASSES)
COUNTS = {"train": 40_000, "valid": 2_000, "test": 2_500}  # a class; valid and test are those of the paper


def load(
    data: Annotated[
        Path,
        f"A folder with the official {LAYOUT}, or with books: *.txt and a *.tsv with a column split.",
    ],
    split: Annotated[str, "valid, test or train."] = "valid",
    setting: Annotated[
        str, "all, or a class: NE (named entities), CN (common nouns), V (verbs) or P (prepositions)."
    ] = "all",
    count: Annotated[
        int | None, "How many questions a class; by default 40,000 of train, else as published."
    ] = None,
    seed: Annotated[int, "For the draw of the questions."] = 0,
    cache: Annotated[Path | None, "Where questions built from books are kept."] = None,
) -> Benchmark:
    """The questions of one split; raises ``DataError`` for files that are missing or malformed.

    Of all classes those whose official files are there, in the files' order; or from books the
    questions that ``evaluation.cloze.blanked_words`` makes of them. Either way each is
    read with the 20 sentences before it, one a passage. The kind of a question is its class. ``cache``
    None is the user's cache.
    """
    choose("split", split, SPLITS, "CBT")
    choose("setting", setting, SETTINGS, "CBT")
    if count is not None and count < 1:
        raise DataError(f"count {count}; wanted 1 or more questions a class")
    data = unpacked(data)
    if is_official(data):
        found = _official(data, split, setting, count, seed)
    else:
        found = _from_books(data, split, setting, count, seed, cache)
    if not found.questions:
        raise DataError(
            f"{data} makes no question of the split {split!r} and the setting {setting!r}; wanted {LAYOUT}, "
            "or books of more than 20 sentences"
        )
    return found


def running_text(data: Path, split: str = "train") -> Iterator[tuple[str, str]]:
    """Each sentence of the split beside the work it is from, for what is counted in text alone.

    Of books all of them, in order; of the official questions, where their books are not there too, each that
    differs, its blank filled. Raises ``DataError`` as ``load``.
    """
    choose("split", split, SPLITS, "CBT")
    data = unpacked(data)
    if data.is_file() and is_official(data):
        check_split(data, split_of(data), split)
        paths = [data]
    else:
        paths = [path for kind in CLASSES if (path := file_of(data, kind, split)).exists()]
    if not paths or (data / f"cbt_{split}.txt").exists():
        for file in read_books(data, split):
            text = file.book.text
            if file.parted:
                yield from ((file.book.id, line) for line in text.split("\n") if line.strip())
            else:
                yield from ((file.book.id, text[start:end]) for start, end in sentence_spans(text))
        return
    seen: set[str] = set()
    for path in paths:
        for one in read_words(path):
            [(start, end)] = blanks(one.query)
            for sentence in (*one.sentences, f"{one.query[:start]}{one.answer}{one.query[end:]}"):
                if sentence not in seen:
                    seen.add(sentence)
                    yield path.stem, sentence


def book_texts(data: Path, split: str = "train") -> Iterator[str]:
    """The text of each book of a split that is given as books; raises ``DataError`` where it is not."""
    return (file.book.text for file in read_books(data, split))


def _from_books(
    data: Path,
    split: str,
    setting: str,
    count: int | None,
    seed: int,
    cache: Path | None,
) -> Benchmark:
    files = read_books(data, split)
    placed = word_questions(files, count or COUNTS[split], seed, cache)
    books = {file.book.id: file.book for file in files}
    return Benchmark(
        name="cbt",
        split=split,
        setting=setting,
        questions=tuple(one.question for one in placed if setting in ("all", one.question.kind)),
        books=in_memory(books),
        titles={id: book.title for id, book in books.items()},
        ranked=False,  # a question has candidates of its own
        part="books",
        metrics=("accuracy",),
        notes=("made of books by the rule of evaluation/cloze/blanked_words.py; not the official questions",),
        made=True,
    )


def _official(data: Path, split: str, setting: str, count: int | None, seed: int) -> Benchmark:
    questions: list[Question] = []
    books: dict[str, Callable[[], Book]] = {}
    paths: dict[str | None, Path] = {
        kind: file_of(data, kind, split) for kind in CLASSES if setting in ("all", kind)
    }
    if data.is_file():
        check_split(data, split_of(data), split)
        paths = {kind_of(data): data}
    there = {kind: path for kind, path in paths.items() if path.exists()}
    if not there:
        missing = " and ".join(path.name for path in paths.values())
        raise DataError(f"{data} lacks {missing}; expected there: {LAYOUT}")
    for kind, path in there.items():
        drawn = _drawn(path, count or (COUNTS["train"] if split == "train" else None), f"{seed} {kind}")
        for number, one in enumerate(read_words(path)):
            if number in drawn:
                id = f"{kind or path.stem}-{number + 1}".lower()
                given, at = [], 0
                for sentence in one.sentences:
                    given.append((at, at + len(sentence)))
                    at += len(sentence) + 1
                books[id] = partial(_context, id, path, one.offset, one.size)
                questions.append(
                    Question(id, id, one.query, (one.answer,), id, tuple(given), (), kind, one.candidates)
                )
    return Benchmark(
        name="cbt",
        split=split,
        setting=setting,
        questions=tuple(questions),
        books=books,
        titles={id: id for id in books},
        ranked=False,
        metrics=("accuracy",),
        files=tuple(there.values()),
    )


def _drawn(path: Path, count: int | None, seed: str) -> Container[int]:
    """The numbers of the questions to keep, drawn before they are read: those of train are gigabytes."""
    if count is None:
        return range(sys.maxsize)
    total = sum(1 for _ in read_words(path))
    return range(total) if count >= total else set(random.Random(seed).sample(range(total), count))


def _context(id: str, path: Path, offset: int, size: int) -> Book:
    return Book(id, id, context_at(path, offset, size), f"{path}:{offset}")

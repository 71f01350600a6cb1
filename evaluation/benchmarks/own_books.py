"""Questions with a blank about one's own books: nobody has to write any, or any answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

from answering.ask import limit_before
from evaluation.benchmarks.benchmark import Benchmark, in_memory
from evaluation.benchmarks.files import DataError, choose
from evaluation.cloze.blanked_words import CLASSES
from evaluation.cloze.book_files import TITLE, BookFile, read_books
from evaluation.cloze.placed_questions import Placed, entity_questions, word_questions
from indexing.formats.read import read_book
from indexing.sources.locate import find
from indexing.store_protocol import Store
from text.sentences import sentence_spans

ENTITY = "entity"
SETTINGS = ("all", *CLASSES, ENTITY)


def load(
    book: Annotated[list[str], "A book: its file, or its id in the index store; once for each book."],
    setting: Annotated[
        str, "What is blanked: NE, CN, V or P (words of a class), all (of each class), or entity."
    ] = "all",
    given: Annotated[bool, "Give the sentences before the blank; otherwise passages are found."] = False,
    before: Annotated[str | None, "How far you have read (40% or characters)."] = None,
    count: Annotated[int, "How many questions of each class at most."] = 100,
    seed: Annotated[int, "For the draw of the questions."] = 0,
    cache: Annotated[Path | None, "Where questions built from books are kept."] = None,
    shelf: Annotated[Store | None, "The index store that the books are in."] = None,
) -> Benchmark:
    """Questions made of books as ``storyqa cloze`` makes them.

    Where passages are found, none is used from the sentence with the blank on. Raises ``UnknownBook``,
    ``SourceError``, ``BadRequest``, or ``DataError`` where the books make no question.
    """
    files = open_books(book, shelf, before)
    placed = make(files, setting, count, seed, cache)
    questions = [one.question for one in placed]
    if not given:
        questions = [replace(one.question, given=(), before=one.query[0], names=None) for one in placed]
    return Benchmark(
        name="cloze",
        split="own",
        setting=setting,
        questions=tuple(questions),
        books=in_memory({file.book.id: file.book for file in files}),
        titles={file.book.id: file.book.title for file in files},
        ranked=False,  # a question has candidates of its own
        part="given" if given else "found",
        metrics=("accuracy",),
        made=True,
    )


def make(
    files: Sequence[BookFile], setting: str, count: int, seed: int, cache: Path | None = None
) -> list[Placed]:
    """At most ``count`` questions of each class; raises ``DataError`` where the books make none."""
    choose("class", setting, SETTINGS, "storyqa cloze")
    if count < 1:
        raise DataError(f"count {count}; wanted 1 or more questions of each class")
    if setting == ENTITY:
        placed = entity_questions(files, count, seed, cache)
    else:
        placed = word_questions(files, count, seed, cache)
        placed = [one for one in placed if setting in ("all", one.question.kind)]
    if not placed:
        names = ", ".join(file.book.id for file in files)
        needed = "2,000 tokens" if setting == ENTITY else "20 sentences"
        raise DataError(
            f"{names} makes no question of class {setting!r}; wanted {needed} and a sentence that names "
            "something of them again"
        )
    return placed


def open_books(names: Sequence[str], store: Store | None, before: str | None = None) -> list[BookFile]:
    """The books of these names, each a file, a folder of files or the id of a book in the store.

    ``before`` keeps the whole sentences of each that end before so many characters, or so much of it.
    """
    found = [one for name in names for one in _open(name, store)]
    ids = [one.book.id for one in found]
    if twice := sorted({id for id in ids if ids.count(id) > 1}):
        raise DataError(f"{' and '.join(twice)} is named twice; wanted each book once")
    return [replace(one, book=replace(one.book, text=_until(one, before))) for one in found]


def _open(name: str, store: Store | None) -> list[BookFile]:
    path = Path(name)
    if path.is_file() and _is_raw(path):
        return read_books(path, "")
    if path.exists() or store is None:
        return [BookFile(read_book(source), parted=False) for source in find(name)]
    return [BookFile(store.open(store.full_id(name)).book, parted=False)]


def _is_raw(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(TITLE)) == TITLE.encode()


def _until(file: BookFile, before: str | None) -> str:
    text = file.book.text
    offset = limit_before(before, len(text))
    if offset == len(text):
        return text
    if file.parted:
        return text[: max(text.rfind("\n", 0, offset + 1), 0)]
    ends = [end for _, end in sentence_spans(text) if end <= offset]
    return text[: ends[-1]] if ends else ""

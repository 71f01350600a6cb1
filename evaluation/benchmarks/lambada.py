"""LAMBADA: the last word of a passage, which is hard to guess from its last sentence alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark, Question, in_memory
from evaluation.benchmarks.files import DataError, choose, plain, require
from indexing.book import Book

FILES = {"test": "lambada_test_plain_text.txt", "valid": "lambada_development_plain_text.txt"}
LAYOUT = f"{' and '.join(FILES.values())}: a passage a line, its last word the one that is asked for"
_SENTENCE_END = re.compile(r"(?<=[.?!])(?: ?(?:''|[\"'”’]))? +(?=\S)")


def load(
    data: Annotated[Path, f"A folder with {LAYOUT}; or such a file."],
    split: Annotated[str, "test or valid."] = "test",
) -> Benchmark:
    """The passages of one split; raises ``DataError`` for files that are missing or malformed.

    The last sentence is the question, its last word the blank, and the sentences before it are given, one a
    passage. There are no candidates: as of any blank without, they are the names and nouns of the passages
    (``readers.choosing``), and a reader is right where the one it chooses, or says, is the word.
    """
    choose("split", split, FILES, "LAMBADA")
    path = require(data if data.is_file() else data / FILES[split], LAYOUT)
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}); expected there: {LAYOUT}") from error
    passages = [(number, plain(line)) for number, line in enumerate(lines, 1) if line.strip()]
    questions = [_question(path, number, passage) for number, passage in passages]
    if not questions:
        raise DataError(f"{path} holds no passage; expected there: {LAYOUT}")
    books = {
        str(number): Book(str(number), str(number), text, f"{path}:{number}") for number, text in passages
    }
    return Benchmark(
        name="lambada",
        split=split,
        setting="passages",
        questions=tuple(questions),
        books=in_memory(books),
        titles={id: id for id in books},
        ranked=False,
        metrics=("accuracy",),
    )


def _question(path: Path, line: int, passage: str) -> Question:
    start = passage.rfind(" ") + 1
    ends = [match.end() for match in _SENTENCE_END.finditer(passage) if match.end() <= start]
    if not ends:
        raise DataError(
            f"{path}, line {line}: found one sentence, {passage[:40]!r}; wanted others before the last"
        )
    given = [
        (first, first + len(passage[first:last].rstrip()))
        for first, last in zip([0, *ends], ends, strict=False)
    ]
    return Question(
        id=str(line),
        story=str(line),
        text=f"{passage[ends[-1] : start]}XXXXX",
        answers=(passage[start:],),
        book=str(line),
        given=tuple(given),
    )

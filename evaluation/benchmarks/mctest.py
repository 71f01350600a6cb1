"""MCTest: short stories for children, four choices for each question, of which one is right."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark, Question, in_memory
from evaluation.benchmarks.files import DataError, choose, plain, require, require_questions
from indexing.book import Book

SETS = ("mc160", "mc500")
SPLITS = ("dev", "train")  # and test, which is kept for a final figure
_QUESTIONS, _CHOICES = 4, ("A", "B", "C", "D")  # each story has as many of one as of the other
_LAYOUT = "the MCTest folder: mc160.<split>.tsv and .ans, mc500.<split>.tsv and .ans"


def load(
    data: Path,
    split: Annotated[str, "dev or train."] = "dev",
    set: Annotated[str, "mc160, mc500 or both."] = "both",
) -> Benchmark:
    """The questions of one split; raises ``DataError`` for files that are missing or in another layout.

    The whole story is given, as one passage; the kind of a question is how many of its sentences are
    needed, one or multiple. The test split is kept for a final figure, and not read here.
    """
    choose("split", split, SPLITS, "MCTest (its test split is not for this)")
    choose("set", set, (*SETS, "both"), "MCTest")
    stories: list[tuple[Book, list[Question]]] = []
    for name in SETS if set == "both" else (set,):
        stories += _read(require(data / f"{name}.{split}.tsv", _LAYOUT), data / f"{name}.{split}.ans")
    return Benchmark(
        name="mctest",
        split=split,
        setting="stories",
        questions=require_questions((one for _, asked in stories for one in asked), data, _LAYOUT),
        books=in_memory({book.id: book for book, _ in stories}),
        titles={book.id: book.title for book, _ in stories},
        ranked=False,  # a question has choices of its own
        part=None if set == "both" else set,
        metrics=("accuracy",),
    )


def _read(stories: Path, answers: Path) -> list[tuple[Book, list[Question]]]:
    """Each line of both files: a story with its questions, and the letters of their right choices."""
    lines = _lines(stories), _lines(require(answers, _LAYOUT))
    if len(lines[0]) != len(lines[1]):
        raise DataError(
            f"{stories} has {len(lines[0])} stories, but {answers} the answers of {len(lines[1])}"
        )
    try:
        return [_story(line.split("\t"), letters.split("\t")) for line, letters in zip(*lines, strict=True)]
    except ValueError as error:
        raise DataError(f"{stories} is not in the expected form ({error}); expected: {_LAYOUT}") from error


def _lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text("utf-8").split("\n") if line]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({error}); expected there: {_LAYOUT}") from error


def _story(cells: list[str], letters: list[str]) -> tuple[Book, list[Question]]:
    """A line: id, author, the story, then each question ("one: TEXT" or "multiple: TEXT") and its choices."""
    wide = 1 + len(_CHOICES)
    if (len(cells), len(letters)) != (3 + _QUESTIONS * wide, _QUESTIONS):
        raise ValueError(f"{cells[0]!r} has {len(cells)} cells and {len(letters)} answers")
    id = cells[0]
    text = plain(cells[2].replace("\\newline", "\n").replace("\\tab", "\t"))
    questions = []
    for number, letter in enumerate(map(str.strip, letters)):
        asked, *choices = (cell.strip() for cell in cells[3 + number * wide :][:wide])
        kind, _, question = asked.partition(": ")
        if letter not in _CHOICES:
            raise ValueError(f"{id!r} has the answer {letter!r}; wanted one of {', '.join(_CHOICES)}")
        questions.append(
            Question(
                id=f"{id}:{number}",
                story=id,
                text=question,
                answers=(choices[_CHOICES.index(letter)],),
                book=id,
                given=((0, len(text)),),
                kind=kind,
                candidates=tuple(choices),
            )
        )
    return Book(id, id, text, f"mctest:{id}"), questions

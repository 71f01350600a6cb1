"""SQuAD v1.1: a paragraph, and questions whose answers stand in it."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from evaluation.benchmarks.benchmark import Benchmark, Question
from evaluation.benchmarks.files import DataError, require, require_questions
from evaluation.benchmarks.holdout import TRAINED_ON_NOTE
from indexing.book import Book

DEV = "dev-v1.1"
TRAIN = "train-v1.1"
_LAYOUT = (
    'a SQuAD v1.1 file, {"data": [{"title", "paragraphs": [{"context", "qas": [...]}]}]}, .json or .json.xz'
)


def file_of(folder: Path, split: str) -> Path | None:
    """The file of ``split`` in a folder as its publishers have it, or packed; None where it has neither."""
    files = (folder / f"{split}{ending}" for ending in (".json", ".json.xz"))
    return next((file for file in files if file.is_file()), None)


def load(
    data: Annotated[Path, "A SQuAD v1.1 file, .json or .json.xz, or the folder of dev-v1.1.json."],
) -> Benchmark:
    """The questions of the file ``data``; each paragraph is a book, each article a story.

    Of a folder it is the dev set. Raises ``DataError`` where the file is missing or is not SQuAD v1.1. The
    paragraph is given.
    """
    if data.is_dir():
        data = file_of(data, DEV) or data / f"{DEV}.json"
    articles = _read(require(data, _LAYOUT))
    questions: list[Question] = []
    books: dict[str, Callable[[], Book]] = {}
    titles: dict[str, str] = {}
    try:
        for number, article in enumerate(articles):
            story = f"article-{number}"
            titles[story] = article["title"].replace("_", " ")
            for paragraph in article["paragraphs"]:
                id, text = f"paragraph-{len(books)}", paragraph["context"]
                books[id] = partial(Book, id, titles[story], text, str(data))
                questions += (
                    Question(
                        id=qa["id"],
                        story=story,
                        text=qa["question"].strip(),
                        answers=tuple(answer["text"] for answer in qa["answers"]),
                        book=id,
                        given=((0, len(text)),),
                        gold=tuple(
                            (answer["answer_start"], answer["answer_start"] + len(answer["text"]))
                            for answer in qa["answers"]
                        ),
                        kind=article.get("kind"),  # SQuAD's have none
                    )
                    for qa in paragraph["qas"]
                )
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise DataError(f"{data} is not in the expected form ({error!r}); expected: {_LAYOUT}") from error
    split = data.name.removesuffix(".xz").removesuffix(".json")
    return Benchmark(
        name="squad",
        split=split,
        setting="paragraphs",
        questions=require_questions(questions, data, _LAYOUT),
        books=books,
        titles=titles,
        ranked=False,  # an article has hundreds of unrelated answers
        notes=(TRAINED_ON_NOTE,) if split == TRAIN else (),
    )


def _read(path: Path) -> list[Any]:
    try:
        with lzma.open(path) if path.suffix == ".xz" else path.open("rb") as file:
            data = json.load(file)["data"]
    except (OSError, lzma.LZMAError, ValueError, KeyError, TypeError, EOFError) as error:
        raise DataError(f"{path} cannot be read ({error!r}); expected there: {_LAYOUT}") from error
    if not isinstance(data, list) or not data:
        raise DataError(f"{path} holds no articles; expected there: {_LAYOUT}")
    return data

"""CNN and Daily Mail: which entity of an article a bullet point leaves out; and the same asked of books.

The original text is kept, and beside it where each entity is named: ``evaluation.cloze.blanked_entities``.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated

from evaluation.benchmarks.benchmark import Benchmark, Question, in_memory, sample
from evaluation.benchmarks.files import DataError, choose, require
from evaluation.cloze.articles import LAYOUT as ARTICLES
from evaluation.cloze.articles import Article, read_articles
from evaluation.cloze.blanked_entities import LONGEST, Context
from evaluation.cloze.book_files import read_books
from evaluation.cloze.official_entities import FOLDERS, LAYOUT, folder_of, read_question
from evaluation.cloze.placed_questions import entity_questions
from indexing.book import Book
from indexing.tagged_book import names_of, tag_book

SETTINGS = ("articles", "books")
COUNTS = {"train": 10_000, "valid": 2_000, "test": 2_500}  # made of books
_INNER = frozenset({"questions", "stories", *FOLDERS.values()})
_DAILY_MAIL = "dailymail.co.uk/"  # in an article's address
_MADE = "made by the rule of evaluation/cloze/blanked_entities.py; not the official questions"


def load(
    data: Annotated[Path, f"A folder with the official {LAYOUT}; with {ARTICLES}; or with books."],
    split: Annotated[str, "valid, test or train."] = "valid",
    setting: Annotated[
        str, "articles: their bullet points; books: sentences, each with the 2,000 tokens before it."
    ] = "articles",
    count: Annotated[
        int | None,
        "How many questions; by default all of articles, and of books 2,000, 2,500 (test) or 10,000 (train).",
    ] = None,
    seed: Annotated[int, "For the draw of the questions."] = 0,
    cache: Annotated[Path | None, "Where the names that books hold are kept."] = None,
) -> Benchmark:
    """The questions of one split; raises ``DataError`` for files that are missing or malformed.

    Each has the entities of its context as candidates, in the order of their first names. Their kind is CNN,
    DM where the name of the folder or the address of the article says so, or books. ``cache`` None is the
    user's cache.
    """
    choose("split", split, FOLDERS, "CNN")
    choose("setting", setting, SETTINGS, "CNN")
    if count is not None and count < 1:
        raise DataError(f"count {count}; wanted 1 or more questions")
    require(data, f"{LAYOUT}, or {ARTICLES}")
    if setting == "books":
        return _of_books(data, split, count or COUNTS[split], seed, cache)
    if (folder := folder_of(data, split)) is not None:
        return _official(folder, split, _kind(data), count, seed)
    return _of_articles(data, split, _kind(data), count, seed)


def _kind(data: Path) -> str:
    """By what the folder is called, or, of a folder of the layout, that which has it."""
    at = data.resolve()
    while not _is_daily_mail(at) and (at.is_file() or at.name in _INNER):
        at = at.parent
    return "DM" if _is_daily_mail(at) else "CNN"


def _is_daily_mail(path: Path) -> bool:
    return path.name.lower().startswith(("dm", "dailymail", "daily-mail", "daily_mail"))


def _official(folder: Path, split: str, kind: str, count: int | None, seed: int) -> Benchmark:
    paths = sorted(folder.glob("*.question"))
    if count is not None and count < len(paths):
        paths = sorted(random.Random(seed).sample(paths, count))
    questions = []
    titles: dict[str, str] = {}
    for path in paths:
        one = read_question(path)
        titles[one.article] = one.article
        questions.append(
            Question(
                id=path.stem,
                story=one.article,
                text=one.question,
                answers=(one.answer,),
                book=path.stem,
                given=one.sentences,
                kind="DM" if _DAILY_MAIL in one.article else kind,
                candidates=one.candidates,
                names=one.names,
            )
        )
    # A context is read again when it is wanted: those of train are gigabytes.
    books = {one.stem: partial(_context, one) for one in paths}
    return _benchmark(split, "articles", questions, books, titles, files=paths)


def _context(path: Path) -> Book:
    one = read_question(path)
    return Book(path.stem, one.article, one.text, str(path))


def _of_articles(data: Path, split: str, kind: str, count: int | None, seed: int) -> Benchmark:
    questions: list[Question] = []
    books: dict[str, Book] = {}
    titles = {}
    for article in read_articles(data, split):
        asked = list(_ask(article, kind))
        questions += asked
        if asked:
            books[article.book.id] = article.book
            titles[article.book.id] = article.book.title
    if not questions:
        raise DataError(
            f"{data} holds no article that makes a question; expected there: {LAYOUT}, or {ARTICLES}"
        )
    return _benchmark(split, "articles", sample(questions, count, seed), in_memory(books), titles, made=True)


def _ask(article: Article, kind: str) -> Iterable[Question]:
    """The questions of an article's bullet points; none of one that is too long."""
    tagged = tag_book(article.book, article.parted)
    if len(tagged.words) > LONGEST:
        return
    context = Context(article.book.text, names_of(tagged))
    for number, highlight in enumerate(article.highlights):
        bullet = tag_book(Book("bullet", "", highlight, ""), article.parted)
        asked = context.ask(highlight, (0, len(highlight)), names_of(bullet))
        for one in asked:
            id = f"{article.book.id}:{number}:{one.answer[0]}"
            yield Question(
                id=id,
                story=article.book.id,
                text=one.question,
                answers=(one.right,),
                book=article.book.id,
                given=tagged.sentences,
                kind=kind,
                candidates=one.candidates,
                names=one.names,
            )


def _of_books(data: Path, split: str, count: int, seed: int, cache: Path | None) -> Benchmark:
    files = read_books(data, split)
    questions = [one.question for one in entity_questions(files, count, seed, cache)]
    if not questions:
        raise DataError(
            f"{data} makes no question; wanted books of more than {LONGEST:,} tokens that name somebody"
        )
    books = {file.book.id: file.book for file in files}
    return _benchmark(
        split,
        "books",
        questions,
        in_memory(books),
        {id: book.title for id, book in books.items()},
        made=True,
    )


def _benchmark(
    split: str,
    setting: str,
    questions: Iterable[Question],
    books: Mapping[str, Callable[[], Book]],
    titles: dict[str, str],
    made: bool = False,
    files: Iterable[Path] = (),
) -> Benchmark:
    return Benchmark(
        name="cnn",
        split=split,
        setting=setting,
        questions=tuple(questions),
        books=books,
        titles=titles,
        ranked=False,  # a question has candidates of its own
        metrics=("accuracy",),
        notes=(_MADE,) if made else (),
        made=made,
        files=tuple(files),
    )

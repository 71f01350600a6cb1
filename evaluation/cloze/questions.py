"""Questions of a benchmark made of books, with the places in the book of what they ask."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaluation.benchmarks.benchmark import Place, Question
from evaluation.cloze import built
from evaluation.cloze.blanked_entities import Context
from evaluation.cloze.blanked_words import CONTEXT, query
from evaluation.cloze.book_files import BookFile

BOOKS = "books"
"""The kind of a question about an entity of a book."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A question, the place of its whole sentence in the book, and that of what is blanked there."""

    question: Question
    query: Place
    answer: Place


def word_questions(
    files: Sequence[BookFile], count: int, seed: int, cache: Path | None = None
) -> list[Placed]:
    """``count`` questions of each class of CBT, class by class: see ``evaluation.cloze.blanked_words``."""
    found = built.words(files, count, seed, cache)
    texts = {file.book.id: file.book.text for file in files}
    placed = []
    for one in found.questions:
        text, (start, end) = texts[one.book], one.answer
        question = Question(
            id=f"{one.book}:{one.kind}:{start}",
            story=one.book,
            text=query(text, one),
            answers=(text[start:end],),
            book=one.book,
            given=found.sentences[one.book][one.context : one.context + CONTEXT],
            kind=one.kind,
            candidates=one.candidates,
        )
        placed.append(Placed(question, one.query, one.answer))
    return placed


def entity_questions(
    files: Sequence[BookFile], count: int, seed: int, cache: Path | None = None
) -> list[Placed]:
    """``count`` questions about entities, in story order: see ``evaluation.cloze.blanked_entities``."""
    books = built.names(files, cache)
    texts = {file.book.id: file.book.text for file in files}
    sentences = [(book, n) for book in range(len(books)) for n in range(len(books[book].sentences))]
    random.Random(f"{seed} entities").shuffle(sentences)
    found: list[tuple[int, Placed]] = []
    for book, sentence in sentences:
        if len(found) >= count:
            break
        found += [(book, one) for one in _of_sentence(texts[books[book].book], books[book], sentence)]
    in_order = sorted(found[:count], key=lambda one: (one[0], one[1].answer))
    return [one for _, one in in_order]


def _of_sentence(text: str, book: built.NamedBook, sentence: int) -> Iterator[Placed]:
    """The questions of a sentence that has as many tokens before it as a context may have."""
    first = book.first_of(sentence)
    if first is None or not (names := book.names_in(sentence, sentence + 1)):
        return
    place = book.sentences[sentence]
    for one in Context(text, book.names_in(first, sentence)).ask(text, place, names):
        question = Question(
            id=f"{book.book}:{one.answer[0]}",
            story=book.book,
            text=one.question,
            answers=(one.right,),
            book=book.book,
            given=book.sentences[first:sentence],
            kind=BOOKS,
            candidates=one.candidates,
            names=one.names,
        )
        yield Placed(question, place, one.answer)

"""What is made of books for cloze questions, from the cache where it was made before."""

from __future__ import annotations

import hashlib
import json
import logging
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from encoders.tagging import SHA256
from evaluation.cloze.blanked_entities import LONGEST
from evaluation.cloze.blanked_words import CLASSES, VERSION, BlankedWord, draw
from evaluation.cloze.book_files import BookFile
from indexing.kept_rows import kept
from indexing.tagged_book import Name, Place, TaggedBook, names_of, tag_book

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BuiltWords:
    """The questions of a split, class by class in story order, and per book the places of its sentences."""

    questions: tuple[BlankedWord, ...]
    sentences: dict[str, tuple[Place, ...]]


@dataclass(frozen=True)
class NamedBook:
    """The sentences of a book, how many tokens each has, and the names in it, in story order."""

    book: str
    sentences: tuple[Place, ...]
    lengths: tuple[int, ...]
    names: tuple[Name, ...]

    @cached_property
    def _tokens(self) -> list[int]:
        return [0, *accumulate(self.lengths)]

    @cached_property
    def _starts(self) -> list[int]:
        return [name.start for name in self.names]

    def first_of(self, sentence: int) -> int | None:
        """The first sentence of the longest context before one; None where there is too little."""
        at = self._tokens[sentence] - LONGEST
        return bisect_left(self._tokens, at) if at >= 0 else None

    def names_in(self, first: int, last: int) -> Sequence[Name]:
        """The names in the sentences ``first`` to ``last``, half-open."""
        start = bisect_left(self._starts, self.sentences[first][0])
        return self.names[start : bisect_left(self._starts, self.sentences[last - 1][1])]


def words(files: Sequence[BookFile], count: int, seed: int, cache: Path | None = None) -> BuiltWords:
    """``count`` questions of each class of the Children's Book Test, drawn from the books by ``seed``."""

    def build() -> Iterator[Any]:
        tagged = list(_tagged(files))
        yield {book.book.id: book.sentences for book in tagged}
        for kind in CLASSES:
            for one in draw(tagged, kind, count, seed):
                yield [one.book, one.kind, one.context, one.query, one.answer, one.candidates]

    path = _path(cache, "words", files, VERSION, SHA256, count, seed)
    sentences, *rows = kept(path, build)
    interned: dict[str, str] = {}  # one object a word: there are far more candidates than words
    questions = tuple(
        BlankedWord(
            interned.setdefault(book, book),
            interned.setdefault(kind, kind),
            context,
            (query[0], query[1]),
            (answer[0], answer[1]),
            tuple(interned.setdefault(one, one) for one in candidates),
        )
        for book, kind, context, query, answer, candidates in rows
    )
    return BuiltWords(questions, {book: _places(places) for book, places in sentences.items()})


def names(files: Sequence[BookFile], cache: Path | None = None) -> list[NamedBook]:
    """The names in the books."""

    def build() -> Iterator[Any]:
        for tagged in _tagged(files):
            found = [[one.start, one.end, one.type, one.key] for one in names_of(tagged)]
            lengths = [len(tagged.words_of(n)) for n in range(len(tagged.sentences))]
            yield [tagged.book.id, tagged.sentences, lengths, found]

    rows = kept(_path(cache, "names", files, VERSION, SHA256), build)
    return [
        NamedBook(
            book,
            _places(places),
            tuple(lengths),
            tuple(Name(start, end, type, tuple(key)) for start, end, type, key in found),
        )
        for book, places, lengths, found in rows
    ]


def default_cache() -> Path:
    """Where what is built is kept unless another folder is named."""
    import platformdirs

    return platformdirs.user_cache_path("storyqa")


def _path(cache: Path | None, kind: str, files: Sequence[BookFile], *settings: str | int) -> Path:
    """The file for what is built of these books with these settings."""
    digest = hashlib.sha256(json.dumps(settings).encode())
    for file in files:
        digest.update(f"\0{file.book.id}\0{file.parted}\0".encode())
        digest.update(hashlib.sha256(file.book.text.encode("utf-8", "surrogatepass")).digest())
    return (cache or default_cache()) / "cloze" / f"{kind}-{digest.hexdigest()[:20]}.jsonl"


def _tagged(files: Sequence[BookFile]) -> Iterator[TaggedBook]:
    for number, file in enumerate(files, 1):
        log.info("tagging %s, %d of %d books", file.book.id, number, len(files))
        yield tag_book(file.book, file.parted)


def _places(rows: Sequence[Sequence[int]]) -> tuple[Place, ...]:
    return tuple((start, end) for start, end in rows)

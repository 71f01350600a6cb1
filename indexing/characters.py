"""Who is in a book: the persons that it names, under how many names, how often, and where first."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoders.tagging import SHA256
from indexing.book import Book
from indexing.kept_rows import kept, read_rows
from indexing.tagged_book import Name, names_of, tag_book
from text.names import entities

VERSION = 1  # of what is kept: other names are looked for again
PERSON = "PERSON"


@dataclass(frozen=True, slots=True)
class Character:
    """A person of a book: ``book.text[start:end]`` is the first of the ``count`` places that name them.

    ``aliases`` are the other names that the book has for them, the most frequent first.
    """

    name: str
    aliases: tuple[str, ...]
    count: int
    start: int
    end: int


def find_names(book: Book, cache: Path) -> list[Name]:
    """The proper names in the book in story order, kept in the folder ``cache``: finding them takes seconds.

    Raises ``MissingTagger`` where the extra ``cloze`` is not installed.
    """
    rows = kept(
        _path(book, cache),
        lambda: [[SHA256], *([one.start, one.end, one.type, one.key] for one in names_of(tag_book(book)))],
    )
    return _names(rows)


def known_names(book: Book, cache: Path) -> list[Name] | None:
    """The same where they were found before, else None."""
    rows = read_rows(_path(book, cache))
    return None if rows is None else _names(rows)


def characters(text: str, names: Sequence[Name], before: int | None = None) -> list[Character]:
    """The persons among a text's names, the most frequent first; of names that end before ``before``.

    Which names are one person's is decided by the names alone (``text.names``), whatever their types: the
    tagger often takes a strange first name for a place, but seldom a name in full.
    """
    named = [name for name in names if before is None or name.end <= before]
    of_entity: dict[int, list[Name]] = defaultdict(list)
    for name, number in zip(named, entities([(one.key, "") for one in named]), strict=True):
        of_entity[number].append(name)
    found = [
        _character(text, mentions)
        for mentions in of_entity.values()
        if _mostly_person(mentions) or _mostly_person([one for one in mentions if len(one.key) > 1])
    ]
    return sorted(found, key=lambda one: (-one.count, one.start))


def _mostly_person(mentions: Sequence[Name]) -> bool:
    return 2 * sum(one.type == PERSON for one in mentions) > len(mentions)


def _character(text: str, mentions: Sequence[Name]) -> Character:
    spelled = Counter(" ".join(text[one.start : one.end].split()) for one in mentions)
    # The fullest name, unless it stands there only once: that may be a name run into its neighbour.
    usual = [name for name, count in spelled.items() if count > 1] or [spelled.most_common(1)[0][0]]
    name = max(usual, key=lambda one: (len(one.split()), spelled[one]))
    aliases = tuple(one for one, _ in spelled.most_common() if one != name)
    return Character(name, aliases, len(mentions), mentions[0].start, mentions[0].end)


def _path(book: Book, cache: Path) -> Path:
    digest = hashlib.sha256(f"{VERSION} {SHA256}\n{book.text}".encode("utf-8", "surrogatepass"))
    return cache / "names" / f"{digest.hexdigest()[:20]}.jsonl"


def _names(rows: Sequence[Any]) -> list[Name]:
    return [Name(start, end, type, tuple(key)) for start, end, type, key in rows[1:]]

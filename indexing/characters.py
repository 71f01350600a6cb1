"""Who is in a book: the persons that it names, under how many names, and at which places."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from encoders.tagging import SHA256
from indexing.book import Book
from indexing.kept_rows import FORM, kept, read_rows
from indexing.tagged_book import Name, Place, names_of, tag_book
from text.names import Key, entities
from text.sentences import sentence_spans

VERSION = 2  # of what is kept: other names are looked for again
PERSON = "PERSON"
_REACH = 2000  # characters: within so many a sentence has begun


@dataclass(frozen=True, slots=True)
class Character:
    """A person of a book: ``book.text[start:end]`` of each of the ``places`` names them, in story order.

    ``aliases`` are the other names that the book has for them, the most frequent first; ``keys`` are all of
    their names as ``text.names`` compares them.
    """

    name: str
    aliases: tuple[str, ...]
    places: tuple[Place, ...]
    keys: frozenset[Key]


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


def names_until(book: Book, names: Sequence[Name], before: int | None) -> list[Name]:
    """Those of the book's ``names`` that end before ``before``, as if the book ended there.

    None of what is left out of the book's search: an author of a review is nobody in the story.

    The sentence that ``before`` stands in is tagged anew as far as it goes: what somebody is taken for must
    not depend on what its rest says. Raises as ``find_names``.
    """
    names = [name for name in names if not any(one.start <= name.start < one.end for one in book.left_out)]
    if before is None or before >= len(book.text):
        return names
    first = max(0, before - _REACH)
    spans = [span for span in sentence_spans(book.text[first:before]) if _has_letter(book.text, first, span)]
    if not spans:
        return [name for name in names if name.end <= before]
    cut = first + spans[-1][0]
    rest = Book(book.id, book.title, book.text[cut:before], book.source)
    return [
        *(name for name in names if name.end <= cut),
        *(Name(cut + one.start, cut + one.end, one.type, one.key) for one in names_of(tag_book(rest))),
    ]


def _has_letter(text: str, first: int, span: Place) -> bool:
    # Quotation marks alone may belong to the sentence before or to the one that follows.
    return any(character.isalpha() for character in text[first + span[0] : first + span[1]])


def characters(text: str, names: Sequence[Name]) -> list[Character]:
    """The persons among a text's names, the most frequent first.

    Which names are one person's is decided by the names alone (``text.names``), whatever their types: the
    tagger often takes a strange first name for a place, but seldom a name in full.
    """
    return [one for one, is_person in _clusters(text, names) if is_person]


def everyone(text: str, names: Sequence[Name]) -> list[Character]:
    """The same, and behind the persons all else that is named: the tagger may have taken one for a place."""
    found = _clusters(text, names)
    return [one for wanted in (True, False) for one, is_person in found if is_person is wanted]


def _clusters(text: str, names: Sequence[Name]) -> list[tuple[Character, bool]]:
    """Everything that is named, the most frequent first, and whether it is a person."""
    of_entity: dict[int, list[Name]] = defaultdict(list)
    for name, number in zip(names, entities([(one.key, "") for one in names]), strict=True):
        of_entity[number].append(name)
    found = [
        (
            _character(text, mentions),
            _mostly_person(mentions) or _mostly_person([one for one in mentions if len(one.key) > 1]),
        )
        for mentions in of_entity.values()
    ]
    return sorted(found, key=lambda one: (-len(one[0].places), one[0].places[0]))


def _mostly_person(mentions: Sequence[Name]) -> bool:
    return 2 * sum(one.type == PERSON for one in mentions) > len(mentions)


def _character(text: str, mentions: Sequence[Name]) -> Character:
    spelled = Counter(" ".join(text[one.start : one.end].split()) for one in mentions)
    # The fullest name, unless it stands there only once: that may be a name run into its neighbour.
    usual = [name for name, count in spelled.items() if count > 1] or [spelled.most_common(1)[0][0]]
    name = max(usual, key=lambda one: (len(one.split()), spelled[one]))
    aliases = tuple(one for one, _ in spelled.most_common() if one != name)
    places = tuple((one.start, one.end) for one in mentions)
    return Character(name, aliases, places, frozenset(one.key for one in mentions))


def _path(book: Book, cache: Path) -> Path:
    digest = hashlib.sha256(f"{FORM} {VERSION} {SHA256}\n{book.text}".encode("utf-8", "surrogatepass"))
    return cache / "names" / f"{digest.hexdigest()[:20]}.jsonl"


def _names(rows: Sequence[Any]) -> list[Name]:
    return [Name(start, end, type, tuple(key)) for start, end, type, key in rows[1:]]

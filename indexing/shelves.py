"""Shelves: books that are asked together, by a name; kept as small JSON beside the books of a store."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

from indexing.errors import IndexMismatch
from indexing.ids import check_id, is_id
from indexing.shelf_files import ShelfFiles
from text.errors import StoryQAError

MOST_BOOKS = 10_000
_NAME = "the name of a shelf"


class UnknownShelf(StoryQAError):
    """A shelf that the store does not have; ``near`` are names that look like it."""

    def __init__(self, message: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.near = near


class BadShelf(StoryQAError):
    """A shelf that cannot be kept as it was given."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Books by their ids, each once, in the order they were put there; ``name`` is made like a book's id."""

    name: str
    title: str
    books: tuple[str, ...]
    created_at: str

    def __post_init__(self) -> None:
        check_id(self.name, _NAME)
        for id in self.books:
            check_id(id)
        if len(self.books) > MOST_BOOKS:
            raise BadShelf(f"a shelf of {len(self.books):,} books; wanted at most {MOST_BOOKS:,}")
        if len(set(self.books)) < len(self.books):
            twice = next(id for id in self.books if self.books.count(id) > 1)
            raise BadShelf(f"the book {twice!r} is given twice; wanted each once")


class Shelves:
    """The shelves of a store: a file each, replaced in one step when one changes.

    A shelf may name books that the store no longer has, or not yet.
    """

    def __init__(self, files: ShelfFiles) -> None:
        self._files = files

    def names(self) -> list[str]:
        """The names of all shelves, sorted."""
        return sorted(filter(is_id, self._files.names()))

    def get(self, name: str) -> Shelf:
        """One shelf; raises ``UnknownShelf``, and ``IndexMismatch`` where its file is damaged."""
        if not is_id(name):
            raise self._unknown(name)
        try:
            content = self._files.read(name)
        except FileNotFoundError:
            content = None
        except OSError as error:
            raise _unreadable(name, error) from error
        return self._parsed(name, content)

    def readable(self) -> tuple[list[Shelf], list[IndexMismatch]]:
        """All shelves by their names, but for those that are damaged, and what is wrong with these."""
        read: list[Shelf] = []
        damaged: list[IndexMismatch] = []
        for name in self.names():
            try:
                read.append(self.get(name))
            except IndexMismatch as error:
                damaged.append(error)
            except UnknownShelf:  # deleted since the names were read
                continue
        return read, damaged

    def put(self, name: str, books: Sequence[str], title: str | None = None) -> Shelf:
        """Make the shelf, or have it hold these books; a ``title`` that is None stays, at first the name."""

        def change(content: bytes | None) -> Shelf:
            try:
                before = self._parsed(name, content)
            except (UnknownShelf, IndexMismatch):
                before = Shelf(name, name, (), datetime.now(UTC).isoformat(timespec="seconds"))
            return replace(before, books=tuple(books), title=before.title if title is None else title)

        return self._change(name, change)

    def add(self, name: str, books: Sequence[str]) -> Shelf:
        """Put books at the end of a shelf; those it has stay where they are. Raises as ``get`` does."""

        def change(content: bytes | None) -> Shelf:
            before = self._parsed(name, content)
            return replace(before, books=tuple(dict.fromkeys((*before.books, *books))))

        return self._change(name, change)

    def take(self, name: str, books: Sequence[str]) -> Shelf:
        """Take books off a shelf; raises ``BadShelf`` for one that it does not have."""

        def change(content: bytes | None) -> Shelf:
            before = self._parsed(name, content)
            missing = [id for id in books if id not in before.books]
            if missing:
                raise BadShelf(f"the shelf {name!r} has no book {missing[0]!r}")
            return replace(before, books=tuple(id for id in before.books if id not in set(books)))

        return self._change(name, change)

    def delete(self, name: str) -> None:
        """Forget a shelf, not its books; raises ``UnknownShelf``."""

        def change(content: bytes | None) -> None:
            if content is None:
                raise self._unknown(name)

        self._files.change(check_id(name, _NAME), change)

    def _change(self, name: str, change: Callable[[bytes | None], Shelf]) -> Shelf:
        made: list[Shelf] = []

        def changed(content: bytes | None) -> bytes:
            made.append(change(content))
            fields = asdict(made[-1])
            del fields["name"]  # the file's
            return (json.dumps(fields, indent=1) + "\n").encode()

        self._files.change(check_id(name, _NAME), changed)
        return made[-1]

    def _parsed(self, name: str, content: bytes | None) -> Shelf:
        if content is None:
            raise self._unknown(name)
        try:
            fields = json.loads(content)
            return Shelf(
                name, str(fields["title"]), tuple(map(str, fields["books"])), str(fields["created_at"])
            )
        except (ValueError, TypeError, KeyError, RecursionError, StoryQAError) as error:
            raise _unreadable(name, error) from error

    def _unknown(self, name: str) -> UnknownShelf:
        near = tuple(difflib.get_close_matches(name, self.names(), n=3))
        hint = (
            f"did you mean {' or '.join(near)}?" if near else "see what there is with: storyqa shelves list"
        )
        return UnknownShelf(f"unknown shelf {name[:100]!r}; {hint}", near)


def _unreadable(name: str, problem: object) -> IndexMismatch:
    return IndexMismatch(
        f"the shelf {name!r} cannot be read ({problem}); remove it with: storyqa shelves delete {name}"
    )

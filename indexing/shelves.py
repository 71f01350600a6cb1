"""Shelves: books that are asked together, by a name; kept as small JSON beside the books of a store."""

from __future__ import annotations

import difflib
import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from indexing.errors import IndexMismatch, naming_full_disk
from indexing.ids import check_id, is_id
from indexing.write import flush
from text.errors import StoryQAError

MOST_BOOKS = 10_000
_SUFFIX = ".json"
_LARGEST = 2**24  # bytes; ten thousand ids take a tenth of it


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
        check_id(self.name)
        for id in self.books:
            check_id(id)
        if len(self.books) > MOST_BOOKS:
            raise BadShelf(f"a shelf of {len(self.books):,} books; wanted at most {MOST_BOOKS:,}")
        if len(set(self.books)) < len(self.books):
            twice = next(id for id in self.books if self.books.count(id) > 1)
            raise BadShelf(f"the book {twice!r} is given twice; wanted each once")


class Shelves:
    """The shelves of the store in the folder ``root``: a file each, replaced in one step when one changes.

    A shelf may name books that the store no longer has, or not yet.
    """

    def __init__(self, root: Path) -> None:
        self._folder = root / "shelves"

    def names(self) -> list[str]:
        """The names of all shelves, sorted."""
        try:
            found = [path.stem for path in self._folder.iterdir() if path.suffix == _SUFFIX]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in found if is_id(name))

    def get(self, name: str) -> Shelf:
        """One shelf; raises ``UnknownShelf``, and ``IndexMismatch`` where its file is damaged."""
        if not is_id(name):
            raise self._unknown(name)
        try:
            with self._path(name).open("rb") as file:
                content = json.loads(file.read(_LARGEST))
            return Shelf(
                name, str(content["title"]), tuple(map(str, content["books"])), str(content["created_at"])
            )
        except (FileNotFoundError, NotADirectoryError):
            raise self._unknown(name) from None
        except (OSError, ValueError, TypeError, KeyError, RecursionError, StoryQAError) as error:
            raise IndexMismatch(
                f"the shelf {name!r} cannot be read ({error}); remove it with: storyqa shelves delete {name}"
            ) from error

    def put(self, name: str, books: Sequence[str], title: str | None = None) -> Shelf:
        """Make the shelf, or have it hold these books; a ``title`` that is None stays, at first the name."""
        with self._changing(name):
            return self._put(name, books, title)

    def add(self, name: str, books: Sequence[str]) -> Shelf:
        """Put books at the end of a shelf; those it has stay where they are. Raises as ``get`` does."""
        with self._changing(name):
            return self._put(name, tuple(dict.fromkeys((*self.get(name).books, *books))), None)

    def take(self, name: str, books: Sequence[str]) -> Shelf:
        """Take books off a shelf; raises ``BadShelf`` for one that it does not have."""
        with self._changing(name):
            kept = self.get(name).books
            missing = [id for id in books if id not in kept]
            if missing:
                raise BadShelf(f"the shelf {name!r} has no book {missing[0]!r}")
            return self._put(name, tuple(id for id in kept if id not in set(books)), None)

    def delete(self, name: str) -> None:
        """Forget a shelf, not its books; raises ``UnknownShelf``."""
        with self._changing(name):
            try:
                self._path(name).unlink()
            except FileNotFoundError:
                raise self._unknown(name) from None

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"

    def _put(self, name: str, books: Sequence[str], title: str | None) -> Shelf:
        try:
            before = self.get(name)
        except (UnknownShelf, IndexMismatch):
            before = Shelf(name, name, (), datetime.now(UTC).isoformat(timespec="seconds"))
        shelf = Shelf(name, before.title if title is None else title, tuple(books), before.created_at)
        content = asdict(shelf)
        del content["name"]  # the file's
        part = self._folder / f".{name}.{os.getpid()}"
        part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
        flush(part)
        part.replace(self._path(name))
        flush(self._folder)
        return shelf

    @contextmanager
    def _changing(self, name: str) -> Iterator[None]:
        """The sole right to change shelves, of one process at a time and for as long as it lives."""
        check_id(name)
        with naming_full_disk(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            with (self._folder / ".lock").open("a") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield

    def _unknown(self, name: str) -> UnknownShelf:
        near = tuple(difflib.get_close_matches(name, self.names(), n=3))
        hint = (
            f"did you mean {' or '.join(near)}?" if near else "see what there is with: storyqa shelves list"
        )
        return UnknownShelf(f"unknown shelf {name[:100]!r}; {hint}", near)

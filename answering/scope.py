"""Which books a question is to, and how far each of them may be read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from indexing.store_protocol import Store
from text.errors import StoryQAError

EVERY_BOOK = "*"
SHELF = "shelf:"

Before = int | str | None


class EmptyScope(StoryQAError):
    """A shelf or a store without a book that could be asked."""


class Limits(dict[str, Before]):
    """How far books may be read, by their ids; never changed, so that it has a hash."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def is_one_book(book_id: str) -> bool:
    """Whether a question is to one book, and not to several that are searched together."""
    return book_id != EVERY_BOOK and not book_id.startswith(SHELF) and "," not in book_id


def builds_of(store: Store, book_id: str) -> dict[str, str]:
    """The current builds of the books that are asked, by id, each once; of a shelf those that the store has.

    Raises ``UnknownBook``, ``UnknownShelf``, and ``EmptyScope`` where there is none.
    """
    if book_id == EVERY_BOOK:
        builds = store.builds()
        empty = "there is no book to ask; add one with: storyqa index PATH"
    elif book_id.startswith(SHELF):
        name = book_id.removeprefix(SHELF)
        books = store.shelves().get(name).books
        there = store.builds(books)
        builds = {id: there[id] for id in books if id in there}
        empty = f"the shelf {name!r} has no book; put one there with: storyqa shelves add {name} ID"
    else:
        builds = {id: store.current(id) for id in filter(None, map(str.strip, book_id.split(",")))}
        empty = f"{book_id[:100]!r} names no book"
    if not builds:
        raise EmptyScope(empty)
    return builds


def limit_of(before: Before | Mapping[str, Before], book_id: str) -> Before:
    """How far the book ``book_id`` may be read: what is said of it, or of ``*``, or of all books alike."""
    if isinstance(before, Mapping):
        return before.get(book_id, before.get(EVERY_BOOK))
    return before


def unmeant(before: Before | Mapping[str, Before], ids: Collection[str]) -> list[str]:
    """The books that a limit was given for and that are not asked: a slip that would show what lies ahead."""
    return [id for id in before if id != EVERY_BOOK and id not in ids] if isinstance(before, Mapping) else []

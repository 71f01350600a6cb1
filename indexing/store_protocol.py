"""What every store of indexes can do, whether its builds lie in a folder or in an object store."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from indexing.errors import IndexMismatch, UnknownBook
from indexing.ids import following, slug
from indexing.index import BookIndex, BookText
from indexing.manifest import FileRecord, Manifest, read_manifest
from indexing.packing import copy_build
from indexing.store_address import StoreAddress

if TYPE_CHECKING:
    from indexing.card import BookCard
    from indexing.shelves import Shelves

_ATTEMPTS = 5
_COPIES = 2  # that are fetched anew where one cannot be opened
_MOST_COMPARED = 10_000  # ids, which takes a second
_MOST_NEAR = 5
_T = TypeVar("_T")


class Versioned(Protocol):
    """What is written of a build: its version becomes a part of its name."""

    @property
    def version(self) -> str:
        """Hex digits, twelve."""
        ...

    @property
    def files(self) -> Mapping[str, FileRecord]:
        """All files of the build but the manifest."""
        ...


Published = TypeVar("Published", bound=Versioned)


class Claim(Protocol):
    """What may be done to a book, or the merged index, by the process that has claimed it."""

    def publish(self, write: Callable[[Path], Published]) -> Published:
        """Have ``write`` fill an empty folder, flushed, and make it the book's current build.

        When ``write`` raises, or the process dies, the build before it still serves.
        """
        ...

    def withdraw(self) -> None:
        """Make the book unknown and delete its builds."""
        ...

    def sweep(self) -> None:
        """Delete what killed processes of this machine left of the book."""
        ...


@dataclass(frozen=True, slots=True)
class Collected:
    """What was deleted: how many files or objects, and their size."""

    number: int
    bytes: int


class Store(Protocol):
    """The indexes of many books. A build never changes; which one of a book serves changes in one step."""

    @property
    def address(self) -> StoreAddress:
        """Where the store is."""
        ...

    def ids(self, start: str = "", most: int | None = None) -> list[str]:
        """The ids of all books that have a current build, sorted: from ``start`` on, and at most ``most``.

        A few are quickly had from a million.
        """
        ...

    def builds(self, of: Collection[str] | None = None) -> dict[str, str]:
        """The names of the builds that serve now, by book id, sorted; of thousands of books in one go.

        Those of the ids ``of`` alone, where they are given, as far as there are such books.
        """
        ...

    def cards(self, start: str = "", most: int | None = None) -> tuple[list[BookCard], list[IndexMismatch]]:
        """What a list says of each book that ``ids`` gives, and what is wrong with those that are damaged."""
        ...

    def holds(self, id: str) -> bool:
        """Whether the book has a current build; that takes no longer where there are many others."""
        ...

    def current(self, id: str) -> str:
        """The name of the build that serves now: another one whenever the book was indexed anew.

        Raises UnknownBook, with the ids that look like ``id``.
        """
        ...

    def folder(self, id: str, build: str) -> Path:
        """The folder of this machine that holds the build, which may be gone in the next moment."""
        ...

    def forget(self, id: str, build: str) -> bool:
        """Give up the copy of a build that is damaged; whether ``folder`` can have another."""
        ...

    def merged(self) -> Path | None:
        """The folder of the merged index that serves now; None where there is none."""
        ...

    def claim(self, id: str, wait: bool = True) -> AbstractContextManager[Claim]:
        """The right to change the book, of one process of this machine at a time.

        Another process's claim is waited for, or BlockingIOError. Raises DiskFull and NotWritable, also where
        what is done meanwhile meets such a disk. The claim ends with the process, however that ends.
        """
        ...

    def claim_merged(self, wait: bool = True) -> AbstractContextManager[Claim]:
        """The right to change the merged index, as ``claim`` has it for a book."""
        ...

    def sweep(self) -> None:
        """Delete what killed processes left behind; books that a process is at work on are let be."""
        ...

    def shelves(self) -> Shelves:
        """The shelves kept beside the books."""
        ...

    def list_anew(self, from_builds: bool) -> int:
        """Bring the list of books up to date, or make it ``from_builds`` alone; how many there are."""
        ...

    def collect(self, grace_s: float) -> Collected:
        """Delete builds that no book names, of an object store those that are older than ``grace_s``."""
        ...

    def page(self, after: str = "", most: int | None = None) -> tuple[list[BookCard], list[IndexMismatch]]:
        """``cards`` of the books whose ids come after the id ``after``, at most ``most``."""
        return self.cards(following(after), most)

    def full_id(self, given: str) -> str:
        """The id of the one book whose id begins with ``given``; ``given`` itself where none or several do.

        An id in full is itself, whatever else begins with it.
        """
        if not given or self.holds(given):
            return given
        begun = self._begun(given.lower(), 2)
        return begun[0] if len(begun) == 1 else given

    def open(self, id: str, held: bool = False) -> BookIndex:
        """The book's current index; raises UnknownBook, or IndexMismatch with the command that repairs it.

        One that is ``held`` is read into memory and checked as a whole, as ``BookIndex`` has it.
        """
        return self._read(id, lambda directory: BookIndex(directory, id, held))

    def text(self, id: str, held: bool = False) -> BookText:
        """The book's text and what its current index says about itself; raises as ``open`` does.

        That costs a fraction of ``open``, for no other file is read.
        """
        return self._read(id, lambda directory: BookText(directory, id, held))

    def manifest(self, id: str) -> Manifest:
        """What the book's current index says about itself; raises as ``open`` does."""
        return self._read(id, lambda directory: read_manifest(directory, id))

    def checked_manifest(self, id: str) -> Manifest:
        """As ``manifest`` gives it, once the files are found to be what it says, unless they lie elsewhere.

        Raises as ``open`` does.
        """
        return self.open(id).manifest

    def copy_out(self, id: str, into: Path) -> Manifest:
        """Write the files of the book's current index into an empty folder, checked and flushed.

        Raises as ``open`` does.
        """
        return self._read(id, lambda directory: copy_build(directory, read_manifest(directory, id), into))

    def verify(self, id: str) -> list[str]:
        """What is wrong with the book's current index, read from end to end; empty when nothing is.

        Raises UnknownBook.
        """
        try:
            return self.open(id).verify()
        except IndexMismatch as error:
            return [str(error)]

    def remove(self, id: str, wait: bool = True) -> None:
        """Take the book out of the store; raises UnknownBook.

        Another process that changes the book is waited for, or BlockingIOError.
        """
        with suppress(IndexMismatch):  # damaged, and there to be removed
            self.current(id)
        with self.claim(id, wait) as claim:
            claim.withdraw()

    def _read(self, id: str, read: Callable[[Path], _T]) -> _T:
        failures = 0
        for _ in range(_ATTEMPTS):
            build = self.current(id)
            try:
                return read(self.folder(id, build))
            except IndexMismatch:
                # The build may have been replaced since its name was read, or a copy of it been removed.
                if self.current(id) == build:
                    failures += 1
                    if failures > _COPIES or not self.forget(id, build):
                        raise
        raise unreadable(id, f"it could not be opened in {_ATTEMPTS} attempts")

    def _begun(self, prefix: str, most: int) -> list[str]:
        """The first ids that begin with ``prefix``."""
        return [id for id in self.ids(prefix, most) if id.startswith(prefix)]

    def _unknown(self, id: str) -> UnknownBook:
        ids = self.ids(most=_MOST_COMPARED + 1)
        wanted = slug(id)
        begun = self._begun(wanted, _MOST_NEAR)
        close = difflib.get_close_matches(wanted, ids, n=3) if len(ids) <= _MOST_COMPARED else ()
        near = tuple(dict.fromkeys([*begun, *close]))[:_MOST_NEAR]
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        elif ids:
            hint = "see what there is with: storyqa books"
        else:
            hint = "the store is empty; fill it with: storyqa index PATH"
        return UnknownBook(f"unknown book {id!r}; {hint}", near)


def unreadable(id: str, problem: object) -> IndexMismatch:
    """The error for a book whose current build cannot be known, or read."""
    repair = f"storyqa index SOURCE --id {id} --force"
    return IndexMismatch(f"the index of {id!r}: {problem}; rebuild it: {repair}")

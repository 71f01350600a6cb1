"""The store: the only thing that knows where builds live, and that replaces one by another in a single step.

Layout: ``books/ID/BUILD/`` holds a build, ``books/ID/current`` the name of the one that serves, and
``locks/ID`` is locked by the process that changes the book. A build is written beside the old one,
flushed, and published by renaming a new ``current`` over the old; whoever opens the book meets the old
build or the new one. An open index keeps its files mapped, so it goes on working when its build is removed.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from indexing.card import BookCard
from indexing.errors import IndexMismatch, UnknownBook, naming_open_files
from indexing.ids import BadId, check_id, is_id
from indexing.locking import locked
from indexing.manifest import MANIFEST
from indexing.shelf_files import ShelfFolder
from indexing.shelves import Shelves
from indexing.store_protocol import Claim, Collected, Published, Store, unreadable
from indexing.write import flush
from text.errors import StoryQAError

_CURRENT = "current"
_BOOKS, _LOCKS, _SHELVES = "books", "locks", "shelves"
_MOST_CARDS = 20_000  # kept in memory, of less than a kilobyte each
_Signature = tuple[str, int, int, int]
"""A build, and its manifest's inode, size and time of change."""
# What publishing may leave behind; whatever else lies beside it is not ours to delete.
_OURS = re.compile(r"\.new-[0-9a-f]+|[0-9a-f]{12}-[0-9a-f]+|\.current")


class IndexStore(Store):
    """The indexes of many books in one folder, which need not exist before the first one is published."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        self._books = self.root / _BOOKS
        self._merged = self.root / "merged"
        self._shelves = ShelfFolder(self.root / _SHELVES)
        self._cards: dict[str, tuple[_Signature, BookCard]] = {}  # by id, of manifests that were read before

    def ids(self, start: str = "", most: int | None = None) -> list[str]:
        """See ``Store.ids``; other folders are passed over."""
        names = self._names()
        there = (id for id in names[bisect_left(names, start) :] if _is_there(self._pointer(id)))
        return list(islice(there, None if most is None else min(most, sys.maxsize)))  # islice takes no more

    def builds(self, of: Collection[str] | None = None) -> dict[str, str]:
        """See ``Store.builds``."""
        found = {}
        for id in self._names() if of is None else sorted(filter(is_id, of)):
            # As strings: a Path takes longer to make than the file to read.
            with suppress(OSError, ValueError), open(f"{self._books}/{id}/{_CURRENT}", "rb") as file:  # noqa: PTH123
                found[id] = file.read().decode().strip()
        return found

    def holds(self, id: str) -> bool:
        """See ``Store.holds``."""
        return is_id(id) and _is_there(self._pointer(id))

    def current(self, id: str) -> str:
        """The name of the build that serves now: another one whenever the book was indexed anew.

        Raises UnknownBook, with the ids that look like ``id``.
        """
        try:
            check_id(id)
            with naming_open_files(self._pointer(id)):
                name = self._pointer(id).read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError, BadId) as error:
            raise self._unknown(id) from error
        except (OSError, ValueError) as error:
            raise unreadable(id, error) from error
        if not name or name != Path(name).name:
            raise unreadable(id, f"{self._pointer(id)} names no build")
        return name

    @property
    def address(self) -> Path:
        """See ``Store.address``."""
        return self.root

    def cards(self, start: str = "", most: int | None = None) -> tuple[list[BookCard], list[IndexMismatch]]:
        """See ``Store.cards``."""
        read: list[BookCard] = []
        damaged: list[IndexMismatch] = []
        ids = self.ids(start, most)
        builds = self.builds(ids)
        for id in ids:
            try:
                read.append(self._card(id, builds.get(id, "")))
            except IndexMismatch as error:
                damaged.append(error)
            except UnknownBook:  # removed since the ids were read
                continue
        return read, damaged

    def _card(self, id: str, build: str) -> BookCard:
        """The card of a book; a manifest that has not changed since its card was made is not read again."""
        signature = None
        with suppress(OSError, ValueError):
            stat = os.stat(f"{self._books}/{id}/{build}/{MANIFEST}")  # noqa: PTH116
            signature = build, stat.st_ino, stat.st_size, stat.st_mtime_ns
        kept, card = self._cards.get(id, (None, None))
        if card is not None and kept == signature:
            return card
        card = BookCard.of(self.manifest(id))
        if signature is not None:
            if len(self._cards) >= _MOST_CARDS:
                self._cards.clear()
            self._cards[id] = signature, card
        return card

    def folder(self, id: str, build: str) -> Path:
        """See ``Store.folder``."""
        return self._books / id / build

    def forget(self, id: str, build: str) -> bool:
        """See ``Store.forget``."""
        return False  # it is the book itself

    def shelves(self) -> Shelves:
        """See ``Store.shelves``."""
        return Shelves(self._shelves)

    def list_anew(self, from_builds: bool) -> int:
        """See ``Store.list_anew``: the folder is the list."""
        return len(self.ids())

    def collect(self, grace_s: float) -> Collected:
        """See ``Store.collect``: who has not claimed a book has no build of it in hand, however young."""
        left = [path for folder in (*self._folders(), self._merged) for path in _leftovers(folder)]
        left += self._shelves.leftovers()
        sizes = {path: _size(path) for path in left}
        self.sweep()
        gone = [size for path, size in sizes.items() if not path.exists()]
        return Collected(len(gone), sum(gone))

    def sweep(self) -> None:
        """Delete what killed processes left behind; books that a process is at work on are let be."""
        for folder in self._folders():
            if _leftovers(folder):
                with suppress(BlockingIOError), self.claim(folder.name, wait=False) as claim:
                    claim.sweep()
        if _leftovers(self._merged):
            with suppress(BlockingIOError), self.claim_merged(wait=False) as claim:
                claim.sweep()
        with suppress(BlockingIOError):
            self._shelves.sweep()

    def merged(self) -> Path | None:
        """The folder of the merged index that serves now; None where there is none."""
        try:
            name = (self._merged / _CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return None
        return self._merged / name if name and name == Path(name).name else None

    @contextmanager
    def claim_merged(self, wait: bool = True) -> Iterator[FolderClaim]:
        """The sole right to change the merged index, as ``claim`` has it for a book."""
        with locked(self.root / _LOCKS, ".merged", "merges the books", wait):
            yield FolderClaim(self._merged)

    @contextmanager
    def claim(self, id: str, wait: bool = True) -> Iterator[FolderClaim]:
        """The sole right to change the book; another process's claim is waited for, or BlockingIOError.

        Raises DiskFull and NotWritable, also where what is done meanwhile meets such a disk.

        The claim ends with the process, however that ends.
        """
        with locked(self.root / _LOCKS, check_id(id), f"indexes {id}", wait):
            yield FolderClaim(self._books / id)

    def _folders(self) -> list[Path]:
        """The folders of books; others, such as ``lost+found``, cannot be a book's by their names."""
        try:
            return [path for path in self._books.iterdir() if is_id(path.name) and _is_there(path)]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise StoryQAError(
                f"the store {self.root} cannot be read ({error.strerror}); "
                "check its permissions, or name another with --store or STORYQA_STORE"
            ) from error

    def _names(self) -> list[str]:
        try:
            return sorted(filter(is_id, os.listdir(self._books)))  # noqa: PTH208
        except OSError:
            return sorted(folder.name for folder in self._folders())  # none, or why they cannot be read

    def _pointer(self, id: str) -> Path:
        return self._books / id / _CURRENT


class FolderClaim(Claim):
    """What may be done to the builds in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def publish(self, write: Callable[[Path], Published]) -> Published:
        """Have ``write`` fill an empty folder, flushed, and make it the book's current build.

        When ``write`` raises, or the process dies, the build before it still serves.
        """
        self.sweep()
        self._folder.mkdir(parents=True, exist_ok=True)
        token = secrets.token_hex(4)
        workspace = self._folder / f".new-{token}"
        workspace.mkdir()
        try:
            manifest = write(workspace)
            build = f"{manifest.version}-{token}"
            workspace.rename(self._folder / build)
            flush(self._folder)
            self._point_to(build)
        finally:
            self.sweep()
        return manifest

    def withdraw(self) -> None:
        """Make the book unknown and delete its builds."""
        (self._folder / _CURRENT).unlink(missing_ok=True)
        if self._folder.is_dir():
            flush(self._folder)
        self.sweep()

    def sweep(self) -> None:
        """Delete everything of the book's but its current build."""
        for path in _leftovers(self._folder):
            shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty while a build serves
            self._folder.rmdir()

    def _point_to(self, build: str) -> None:
        pointer = self._folder / f".{_CURRENT}"
        pointer.write_text(build + "\n", encoding="utf-8")
        flush(pointer)
        pointer.replace(self._folder / _CURRENT)
        flush(self._folder)
        flush(self._folder.parent)


def is_filled_by_a_store(folder: Path) -> bool:
    """Whether ``folder`` holds a store's builds, or beside those its locks or shelves, and no book's file."""
    with suppress(OSError):  # one that cannot be looked at is not known to be
        if folder.name in (_LOCKS, _SHELVES) and (folder.parent / _BOOKS).is_dir():
            return all(path.suffix == ".json" or _size(path) == 0 for path in folder.iterdir())
        return (folder / _CURRENT).exists() and any(_OURS.fullmatch(path.name) for path in folder.iterdir())
    return False


def _is_there(path: Path) -> bool:
    """Whether something is there, even where it may not be looked at: whoever opens it says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


def _size(path: Path) -> int:
    """What a file takes, or all files in a folder; some may be removed meanwhile."""
    total = 0
    for one in (path, *path.rglob("*")):
        with suppress(OSError):
            total += one.stat().st_size if one.is_file() else 0
    return total


def _leftovers(folder: Path) -> list[Path]:
    """What of ours lies in a book's folder beside ``current`` and the build that it names."""
    try:
        name = (folder / _CURRENT).read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        name = ""
    except (OSError, ValueError):
        return []  # which build serves cannot be known, so none is deleted
    if not folder.is_dir():
        return []
    return [path for path in folder.iterdir() if path.name != name and _OURS.fullmatch(path.name)]

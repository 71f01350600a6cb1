"""The store: the only thing that knows where builds live, and that replaces one by another in a single step.

Layout: ``books/ID/BUILD/`` holds a build, ``books/ID/current`` the name of the one that serves, and
``locks/ID`` is locked by the process that changes the book. A build is written beside the old one,
flushed, and published by renaming a new ``current`` over the old; whoever opens the book meets the old
build or the new one. An open index keeps its files mapped, so it goes on working when its build is removed.
"""

from __future__ import annotations

import difflib
import fcntl
import logging
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Protocol, TypeVar

from indexing.errors import IndexMismatch, UnknownBook, naming_full_disk
from indexing.ids import BadId, check_id, is_id, slug
from indexing.index import BookIndex
from indexing.manifest import Manifest, read_manifest
from indexing.write import flush
from text.errors import StoryQAError

log = logging.getLogger(__name__)

_CURRENT = "current"
# What publishing may leave behind; whatever else lies beside it is not ours to delete.
_OURS = re.compile(r"\.new-[0-9a-f]+|[0-9a-f]{12}-[0-9a-f]+|\.current")
_ATTEMPTS = 5
_MOST_NEAR = 5
_T = TypeVar("_T")


class Versioned(Protocol):
    """What is written of a build: its version becomes a part of its name."""

    @property
    def version(self) -> str:
        """Hex digits, twelve."""
        ...


Published = TypeVar("Published", bound=Versioned)


class IndexStore:
    """The indexes of many books in one folder, which need not exist before the first one is published."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root)
        self._books = self.root / "books"

    def full_id(self, given: str) -> str:
        """The id of the one book whose id begins with ``given``; ``given`` itself where none or several do.

        An id in full is itself, whatever else begins with it.
        """
        ids = self.ids()
        begun = [id for id in ids if id.startswith(given.lower())]
        return begun[0] if len(begun) == 1 and given and given not in ids else given

    def ids(self) -> list[str]:
        """The ids of all books that have a current build, sorted; other folders are passed over."""
        return sorted(folder.name for folder in self._folders() if _is_there(folder / _CURRENT))

    def builds(self) -> dict[str, str]:
        """The names of the builds that serve now, by book id, sorted; of thousands of books in one go."""
        found = {}
        for id in self._names():
            # As strings: a Path takes longer to make than the file to read.
            with suppress(OSError, ValueError), open(f"{self._books}/{id}/{_CURRENT}", "rb") as file:  # noqa: PTH123
                found[id] = file.read().decode().strip()
        return found

    def current(self, id: str) -> str:
        """The name of the build that serves now: another one whenever the book was indexed anew.

        Raises UnknownBook, with the ids that look like ``id``.
        """
        try:
            check_id(id)
            name = self._pointer(id).read_text(encoding="utf-8").strip()
        except (FileNotFoundError, NotADirectoryError, BadId) as error:
            raise self._unknown(id) from error
        except (OSError, ValueError) as error:
            raise _unreadable(id, error) from error
        if not name or name != Path(name).name:
            raise _unreadable(id, f"{self._pointer(id)} names no build")
        return name

    def open(self, id: str, held: bool = False) -> BookIndex:
        """The book's current index; raises UnknownBook, or IndexMismatch with the command that repairs it.

        One that is ``held`` is read into memory and checked as a whole, as ``BookIndex`` has it.
        """
        return self._read(id, lambda directory: BookIndex(directory, id, held))

    def manifest(self, id: str) -> Manifest:
        """What the book's current index says about itself; raises as ``open`` does."""
        return self._read(id, lambda directory: read_manifest(directory, id))

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

    def sweep(self) -> None:
        """Delete what killed processes left behind; books that a process is at work on are let be."""
        for folder in self._folders():
            if _leftovers(folder):
                with suppress(BlockingIOError), self.claim(folder.name, wait=False) as claim:
                    claim.sweep()

    def merged(self) -> Path | None:
        """The folder of the merged index that serves now; None where there is none."""
        folder = self.root / "merged"
        try:
            name = (folder / _CURRENT).read_text(encoding="utf-8").strip()
        except (OSError, ValueError):
            return None
        return folder / name if name and name == Path(name).name else None

    @contextmanager
    def claim_merged(self, wait: bool = True) -> Iterator[Claim]:
        """The sole right to change the merged index, as ``claim`` has it for a book."""
        with self._locked(".merged", "merges the books", wait):
            yield Claim(self.root / "merged")

    @contextmanager
    def claim(self, id: str, wait: bool = True) -> Iterator[Claim]:
        """The sole right to change the book; another process's claim is waited for, or BlockingIOError.

        Raises DiskFull, also where what is done meanwhile meets a full disk.

        The claim ends with the process, however that ends.
        """
        with self._locked(check_id(id), f"indexes {id}", wait):
            yield Claim(self._books / id)

    @contextmanager
    def _locked(self, name: str, doing: str, wait: bool) -> Iterator[None]:
        locks = self.root / "locks"
        with naming_full_disk(self.root):
            locks.mkdir(parents=True, exist_ok=True)
            # Never deleted: a process that waits for a deleted lock would hold one that nobody else sees.
            with (locks / name).open("a") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    if not wait:
                        raise
                    log.info("waiting for another process that %s", doing)
                    fcntl.flock(lock, fcntl.LOCK_EX)
                yield

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
            return [folder.name for folder in self._folders()]  # none, or why they cannot be read

    def _pointer(self, id: str) -> Path:
        return self._books / id / _CURRENT

    def _read(self, id: str, read: Callable[[Path], _T]) -> _T:
        for _ in range(_ATTEMPTS):
            name = self.current(id)
            try:
                return read(self._books / id / name)
            except IndexMismatch:
                # The build may have been replaced and removed since its name was read.
                if self.current(id) == name:
                    raise
        raise _unreadable(id, f"it was replaced {_ATTEMPTS} times while it was opened")

    def _unknown(self, id: str) -> UnknownBook:
        ids = self.ids()
        wanted = slug(id)
        begun = [one for one in ids if one.startswith(wanted)]
        near = tuple(dict.fromkeys([*begun, *difflib.get_close_matches(wanted, ids, n=3)]))[:_MOST_NEAR]
        if near:
            hint = f"did you mean {' or '.join(near)}?"
        elif ids:
            hint = "see what there is with: storyqa books"
        else:
            hint = "the store is empty; fill it with: storyqa index PATH"
        return UnknownBook(f"unknown book {id!r}; {hint}", near)


class Claim:
    """What may be done to a book, or the merged index, by the process that has claimed it."""

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


def _is_there(path: Path) -> bool:
    """Whether something is there, even where it may not be looked at: whoever opens it says why."""
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        pass
    return True


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


def _unreadable(id: str, problem: object) -> IndexMismatch:
    repair = f"storyqa index SOURCE --id {id} --force"
    return IndexMismatch(f"the index of {id!r}: {problem}; rebuild it: {repair}")

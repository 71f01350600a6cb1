"""Where shelves are kept: small files that are changed one at a time, each in a single step."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from indexing.ids import is_id
from indexing.locking import locked
from indexing.write import flush

_SUFFIX = ".json"
_LARGEST = 2**24  # bytes; ten thousand ids take a tenth of it
# A file that is being written; earlier versions had the number of their process behind its name.
_PART = re.compile(r"\.(.+)\.(?:new|\d+)")

# Makes what a file holds of what it held; None stands for no file.
Change = Callable[[bytes | None], bytes | None]


class ShelfFiles(Protocol):
    """A file per name."""

    def names(self) -> list[str]:
        """The names of all files, in any order."""
        ...

    def read(self, name: str) -> bytes:
        """What one holds; raises FileNotFoundError, and other OSErrors where it cannot be read."""
        ...

    def change(self, name: str, change: Change) -> None:
        """Replace what the file holds, or delete it, unless ``change`` raises; nobody else does meanwhile."""
        ...


class ShelfFolder(ShelfFiles):
    """Files in a folder, which is made when the first one is."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        """See ``ShelfFiles.names``."""
        try:
            return [path.stem for path in self._folder.iterdir() if path.suffix == _SUFFIX]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def read(self, name: str) -> bytes:
        """See ``ShelfFiles.read``."""
        try:
            with self._path(name).open("rb") as file:
                return file.read(_LARGEST)
        except NotADirectoryError as error:
            raise FileNotFoundError(*error.args) from error

    def change(self, name: str, change: Change) -> None:
        """See ``ShelfFiles.change``."""
        with locked(self._folder, ".lock", "changes the shelves"):
            before = None
            with suppress(FileNotFoundError):
                before = self.read(name)
            after = change(before)
            if after is None:
                self._path(name).unlink(missing_ok=True)
                return
            # By one name for all processes: one that was killed leaves no more than the next one writes over.
            part = self._folder / f".{name}.new"
            try:
                part.write_bytes(after)
                flush(part)
                part.replace(self._path(name))
            finally:
                part.unlink(missing_ok=True)
            flush(self._folder)

    def leftovers(self) -> list[Path]:
        """What processes that change a file have in hand, or have left where they were killed."""
        try:
            parts = ((path, _PART.fullmatch(path.name)) for path in self._folder.iterdir())
            return [path for path, match in parts if match and is_id(match[1])]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def sweep(self) -> None:
        """Delete what killed processes left behind; BlockingIOError where one is at work."""
        if self.leftovers():
            with locked(self._folder, ".lock", "changes the shelves", wait=False):
                for path in self.leftovers():
                    path.unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"

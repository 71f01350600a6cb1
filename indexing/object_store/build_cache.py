"""Copies of builds on the disk of this machine: the ones used last, as many as fit, for all of its processes.

Each lies in a folder named after its content, ``builds/SHA256/``, so that a copy never goes out of date, and
one that is there after a restart serves again. Whoever opens one checks its files as those of a store in a
folder. A copy that is removed while a process has it mapped goes on working there.
"""

from __future__ import annotations

import os
import secrets
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from indexing.locking import locked

_ABANDONED_S = 3600.0  # a fetch of a copy that is older was killed


class BuildCache:
    """The copies in ``folder``, up to ``most_bytes`` of them, one at least."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.folder = folder
        self._builds = folder / "builds"
        self._most_bytes = most_bytes

    def get(self, name: str, fetch: Callable[[Path], None]) -> Path:
        """The folder of the copy, which ``fetch`` fills where there is none; by one process at a time.

        What ``fetch`` raises is raised, and nothing kept.
        """
        path = self._builds / name
        if _touched(path):
            return path
        with locked(self.folder / "locks", name[:2], "fetches an index"):
            if not _touched(path):
                self._add(path, fetch)
        return path

    def drop(self, name: str) -> None:
        """Remove a copy, such as one that is damaged."""
        self._remove(self._builds / name)

    @property
    def bytes(self) -> int:
        """What the copies come to."""
        return sum(size for _, size, _ in self._copies())

    def _add(self, path: Path, fetch: Callable[[Path], None]) -> None:
        self._builds.mkdir(parents=True, exist_ok=True)
        part = self._builds / f".part-{secrets.token_hex(8)}"
        part.mkdir()
        try:
            fetch(part)
            part.rename(path)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        self._make_room(path)

    def _make_room(self, newest: Path) -> None:
        copies = sorted(self._copies())
        total = sum(size for _, size, _ in copies)
        for _, size, path in copies:
            if total <= self._most_bytes:
                break
            if path != newest:
                self._remove(path)
                total -= size
        for left in self._builds.glob(".*"):
            with suppress(OSError):
                if time.time() - left.stat().st_mtime > _ABANDONED_S:
                    shutil.rmtree(left, ignore_errors=True)

    def _copies(self) -> list[tuple[float, int, Path]]:
        """When each was used last, what it takes, and where it is."""
        found = []
        with suppress(FileNotFoundError):
            for folder in os.scandir(self._builds):
                if not folder.name.startswith("."):
                    with suppress(OSError):  # another process has just removed it
                        size = sum(file.stat().st_size for file in os.scandir(folder.path))
                        found.append((folder.stat().st_mtime, size, Path(folder.path)))
        return found

    def _remove(self, path: Path) -> None:
        gone = path.with_name(f".gone-{secrets.token_hex(8)}")
        with suppress(OSError):  # another process was quicker
            path.rename(gone)  # in one step: nobody finds half of it
            shutil.rmtree(gone, ignore_errors=True)


def _touched(path: Path) -> bool:
    """Whether it is there; if so it counts as used now."""
    try:
        os.utime(path)
    except OSError:
        return path.is_dir()  # where it may only be read
    return True

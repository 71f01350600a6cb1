"""The file that an upload is written to as it comes, and the errors of a disk that is full or not ours."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from service.http_errors import Refused
from text.output_files import is_full

_LEAST_FREE = 2**17  # bytes; SQLite wants more than a page for what it keeps beside the database


class NoRoom(Refused):
    """The disk is full, or the user's share of it."""

    status = 507
    kind = "no-room"


class NoState(Refused):
    """The folder of the service's own state cannot be used."""

    status = 503
    kind = "no-state"


@dataclass(slots=True)
class IncomingFile:
    """The file that the book of a job to come is written to.

    ``close`` deletes it unless the job was added, ``JobQueue.remove_orphans`` where the process died before.
    """

    id: str
    path: Path
    file: IO[bytes]
    added: bool = False

    def close(self) -> None:
        """Done with it, or given up."""
        if not self.added:
            self.path.unlink(missing_ok=True)
        with suppress(OSError):  # what is still to be written has no place, and is not wanted any more
            self.file.close()


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Make ``NoRoom`` and ``NoState`` of what writing at ``path`` may raise."""
    full = f"the disk of {path.parent} is full; make room and send the book again"
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise NoRoom(full) from error
        raise NoState(
            f"{path} cannot be written ({error.strerror}); name another folder with STORYQA_STATE"
        ) from error
    except sqlite3.Error as error:
        # On a full disk SQLite may not even begin, and calls it an I/O error.
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_FULL or _is_full(path.parent):
            raise NoRoom(full) from error
        raise NoState(f"{path} cannot be used ({error}); if it is damaged, delete it") from error


def _is_full(folder: Path) -> bool:
    try:
        return shutil.disk_usage(folder).free < _LEAST_FREE
    except OSError:
        return False

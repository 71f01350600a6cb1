"""What takes long to compute of a book, kept as JSON lines in the user's cache."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

# Of a folder: whoever asks about a book up to each of its characters has a file made for each.
MOST_FILES = 4096
MOST_BYTES = 2**29
FORM = 2  # of the files; part of what their names are made of
_END = "end"  # the last line: a file cut short at a line's end is no shorter answer

log = logging.getLogger(__name__)


def kept(path: Path, compute: Callable[[], Iterable[Any]]) -> list[Any]:
    """The rows, JSON values, that ``compute`` makes: read where the file has them, and kept there else.

    Where the file cannot be written they are computed each time. Of a folder's files those that were not read
    for longest are deleted beyond ``MOST_FILES`` and ``MOST_BYTES``.
    """
    rows = read_rows(path)
    if rows is None:
        rows = list(compute())
        try:
            _write(path, rows)
            _make_room(path)
        except OSError as error:
            log.warning("%s cannot be written (%s), so what was computed is not kept", path, error)
    return rows


def read_rows(path: Path) -> list[Any] | None:
    """The rows of the file; None where there is none, or it is damaged."""
    try:
        with path.open(encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        log.warning("%s is damaged (%s), so it is computed again", path, error)
        return None
    if not rows or rows.pop() != _END:
        log.warning("%s is not whole, so it is computed again", path)
        return None
    with suppress(OSError):  # where it may only be read
        os.utime(path)
    return rows


def _write(path: Path, rows: Iterable[Any]) -> None:
    """Written beside and then renamed: whoever reads at the same time sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for row in (*rows, _END):
                file.write(json.dumps(row) + "\n")
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise


def _make_room(newest: Path) -> None:
    """Delete the files beside ``newest`` beyond what may be kept, what killed processes left with them."""
    found = []
    for path in newest.parent.iterdir():
        with suppress(FileNotFoundError):  # another process was quicker
            status = path.stat()
            found.append((path != newest, -status.st_mtime_ns, status.st_size, path))
    total = 0
    for number, (_, _, size, path) in enumerate(sorted(found), 1):
        total += size
        if number > 1 and (number > MOST_FILES or total > MOST_BYTES):
            path.unlink(missing_ok=True)

"""What takes long to compute of a book, kept as JSON lines in the user's cache."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

log = logging.getLogger(__name__)


def kept(path: Path, compute: Callable[[], Iterable[Any]]) -> list[Any]:
    """The rows, JSON values, that ``compute`` makes: read where the file has them, and kept there else.

    Where the file cannot be written they are computed each time.
    """
    rows = read_rows(path)
    if rows is None:
        rows = list(compute())
        try:
            _write(path, rows)
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
    return rows or None


def _write(path: Path, rows: Iterable[Any]) -> None:
    """Written beside and then renamed: whoever reads at the same time sees all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, part = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(row) + "\n")
        Path(part).replace(path)
    except BaseException:
        Path(part).unlink(missing_ok=True)
        raise

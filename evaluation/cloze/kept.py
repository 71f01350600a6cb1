"""What was built from books, kept in the user's cache as JSON lines: building it again takes minutes."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from evaluation.cloze.book_files import BookFile

log = logging.getLogger(__name__)


def default_cache() -> Path:
    """Where it is kept unless another folder is named."""
    import platformdirs

    return platformdirs.user_cache_path("storyqa")


def kept(name: str, build: Callable[[], Iterable[Any]], cache: Path | None) -> list[Any]:
    """The rows that ``build`` makes, read where they were built before; ``name`` tells them from all others.

    They are JSON values. Where the cache cannot be written they are built each time.
    """
    path = (cache or default_cache()) / "cloze" / f"{name}.jsonl"
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        log.warning("%s is damaged (%s) and is built again", path, error)
    rows = list(build())
    try:
        _write(path, rows)
    except OSError as error:
        log.warning("what was built cannot be kept in %s (%s)", path.parent, error)
    return rows


def digest_of(files: Sequence[BookFile], *settings: str | int) -> str:
    """Twenty digits that tell what is built from these books with these settings from all else."""
    digest = hashlib.sha256(json.dumps(settings).encode())
    for file in files:
        digest.update(f"\0{file.book.id}\0{file.parted}\0".encode())
        digest.update(hashlib.sha256(file.book.text.encode("utf-8", "surrogatepass")).digest())
    return digest.hexdigest()[:20]


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


def _read(path: Path) -> list[Any]:
    with path.open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if not rows:
        raise ValueError("it is empty")
    return rows

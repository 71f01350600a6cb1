"""The sole right to something among the processes of one machine, while the process that has it lives."""

from __future__ import annotations

import fcntl
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from indexing.errors import naming_failed_writes

log = logging.getLogger(__name__)


@contextmanager
def locked(folder: Path, name: str, doing: str, wait: bool = True) -> Iterator[None]:
    """Hold the lock ``name`` in ``folder``; another process that has it is waited for, or BlockingIOError.

    ``doing`` is what that process does, for the log. Raises DiskFull and NotWritable, also where what is
    done meanwhile meets a full disk, or a place where it may not write.
    """
    with naming_failed_writes(folder.parent):
        folder.mkdir(parents=True, exist_ok=True)
        # Never deleted: a process that waits for a deleted lock would hold one that nobody else sees.
        with (folder / name).open("a") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if not wait:
                    raise
                log.info("waiting for another process that %s", doing)
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield

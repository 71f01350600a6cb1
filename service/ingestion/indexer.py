"""Keeps one process indexing, beside those that answer, for as long as there are uploads to index."""

from __future__ import annotations

import fcntl
import logging
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from service.ingestion.jobs import JobQueue
from text.errors import StoryQAError

log = logging.getLogger(__name__)

_POLL_S = 1.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0  # before a process that died is started again


class Indexer:
    """A thread that starts ``service.ingestion.index_worker`` when there is work, and again when it dies.

    Of all the services over one folder one at a time has such a process; ``lock`` in the folder is held
    by the process itself, so that whatever dies, another service takes over.
    """

    def __init__(self, folder: Path, store: Path, jobs: JobQueue) -> None:
        self._folder = folder
        self._store = store
        self._jobs = jobs
        self._process: subprocess.Popen[bytes] | None = None
        self._woken = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._watch, name="storyqa-indexer", daemon=True)

    def start(self) -> None:
        """Begin to look for work; what a service before this one left undone is work."""
        self._thread.start()

    def wake(self) -> None:
        """There is work now."""
        self._woken.set()

    def close(self) -> None:
        """End the process; the book in hand is begun again by the next service."""
        self._stopped = True
        self._woken.set()
        self._thread.join()
        if self._process is not None:
            self._process.kill()  # a build is published in one step, so there is nothing to tidy up
            self._process.communicate()

    def _watch(self) -> None:
        with suppress(StoryQAError, OSError):
            self._jobs.remove_orphans()
        wait_s = _FIRST_WAIT_S
        not_before = 0.0
        while not self._stopped:
            if self._process is not None and (code := self._process.poll()) is not None:
                self._process.communicate()
                self._process = None
                if code != 0:
                    log.error("the process that indexes ended with %d; it is started again", code)
                    not_before = time.monotonic() + wait_s
                    wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
                else:
                    wait_s = _FIRST_WAIT_S
            if self._process is None and time.monotonic() >= not_before and self._has_work():
                self._process = self._start_process()
            self._woken.wait(_POLL_S)
            self._woken.clear()

    def _has_work(self) -> bool:
        """Whether there is work that no other service's process is at."""
        try:
            return self._jobs.pending() and _is_unlocked(self._folder / "indexer.lock")
        except StoryQAError as error:
            log.error("%s", error)
            return False

    def _start_process(self) -> subprocess.Popen[bytes] | None:
        module = "service.ingestion.index_worker"
        command = [sys.executable, "-m", module, str(self._folder), str(self._store)]
        try:
            # It ends when its standard input does: when this process ends, however it ends.
            # Ctrl-C in a terminal is for the service, which has it end: hence a process group of its own.
            return subprocess.Popen(command, stdin=subprocess.PIPE, process_group=0)
        except OSError as error:
            log.error("the process that indexes cannot be started (%s)", error)
            return None


def _is_unlocked(lock: Path) -> bool:
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True

"""Keeps one process indexing, beside those that answer, for as long as there are uploads to index."""

from __future__ import annotations

import fcntl
import logging
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from indexing.store_address import StoreAddress
from service.ingestion.job_database import LEASE_S
from service.ingestion.jobs import JobQueue
from text.errors import StoryQAError

log = logging.getLogger(__name__)

_POLL_S = 1.0
_FIRST_WAIT_S, _LONGEST_WAIT_S = 1.0, 60.0  # before a process that died is started again
_KILL_S = 10.0  # that a killed process may take to be gone, which a disk that hangs can hold up


class Indexer:
    """A thread that starts ``service.ingestion.index_worker`` when there is work, and again when it dies.

    Of all the services over one folder one at a time has such a process, or where the jobs are in a database
    that machines share, one on each ``machine``; a lock in the folder is held by the process itself, so that
    whatever dies, another service takes over. A job that makes no progress for ``stall_s``, and in proportion
    longer where its file has more than a megabyte, is ended and fails; one that was cancelled is ended. While
    the process lives its lease is renewed, and where that cannot be, it is ended before its job is another's.
    Whatever goes wrong in the thread, it goes on.
    """

    def __init__(
        self, folder: Path, store: StoreAddress, jobs: JobQueue, stall_s: float, machine: str | None = None
    ) -> None:
        suffix = f"-{machine or socket.gethostname()}" if jobs.database.is_shared else ""
        self._lock = folder / f"indexer{suffix}.lock"
        self._store = store
        self._jobs = jobs
        self._stall_s = stall_s
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = ""  # what the process calls itself
        self._renewed_at = 0.0
        self._wait_s = _FIRST_WAIT_S
        self._not_before = 0.0
        self._progress: tuple[str, float] | None = None  # the job in hand and how far it is,
        self._progress_at = 0.0  # and since when
        self._failure: str | None = None
        self._woken = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="storyqa-indexer", daemon=True)

    @property
    def trouble(self) -> str | None:
        """Why uploads are not indexed now, or None."""
        if self._thread.ident is not None and not self._thread.is_alive() and not self._stopped:
            return "the thread that has uploads indexed is gone; start the service again"
        return self._failure

    def start(self) -> None:
        """Begin to look for work; what a service before this one left undone is work."""
        self._thread.start()

    def wake(self) -> None:
        """There is work now, or work that is not wanted any more."""
        self._woken.set()

    def close(self) -> None:
        """End the process; the book in hand is begun again by the next service."""
        self._stopped = True
        self._woken.set()
        self._thread.join()
        with suppress(subprocess.TimeoutExpired):
            self._end_process()  # a build is published in one step, so there is nothing to tidy up
        if self._jobs.database.is_shared and self._owner:
            with suppress(StoryQAError):  # else its lease has to run out
                self._jobs.release(self._owner)

    def _run(self) -> None:
        with suppress(StoryQAError, OSError):
            self._jobs.remove_orphans()
        while not self._stopped:
            try:
                failure = self._watch()
            except (
                Exception
            ) as error:  # a disk that is full, a folder that is gone: uploads must not wait for ever
                failure = f"uploads are not indexed: {error}"
                self._end_where_lost()
            if failure is not None and failure != self._failure:
                log.error("%s", failure)
            self._failure = failure
            self._woken.wait(_POLL_S)
            self._woken.clear()

    def _watch(self) -> str | None:
        """Do what there is to do now; returns what hinders the indexing."""
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                if self._jobs.database.is_shared:
                    self._jobs.renew(self._owner)
                    self._renewed_at = time.monotonic()
                self._end_unwanted()
                return None
            if self._jobs.database.is_shared:
                self._jobs.release(self._owner)
            self._process.communicate()
            self._process = None
            if code == 0:
                self._wait_s = _FIRST_WAIT_S
            else:
                self._not_before = time.monotonic() + self._wait_s
                self._wait_s = min(2 * self._wait_s, _LONGEST_WAIT_S)
                return f"the process that indexes ended with {code}; it is started again"
        if time.monotonic() < self._not_before:
            return self._failure
        if self._has_work():
            self._process = self._start_process()
            self._progress = None
        return None

    def _has_work(self) -> bool:
        """Whether there is work that no other service's process is at."""
        return self._jobs.pending() and _is_unlocked(self._lock)

    def _start_process(self) -> subprocess.Popen[bytes]:
        self._owner, self._renewed_at = secrets.token_hex(8), time.monotonic()
        module = "service.ingestion.index_worker"
        command = [sys.executable, "-m", module, str(self._lock), str(self._store), str(os.getpid())]
        environment = os.environ | {"STORYQA_JOBS": self._jobs.database.url or ""}
        # It ends when its standard input does: when this process ends, however it ends.
        # Ctrl-C in a terminal is for the service, which has it end: hence a process group of its own.
        return subprocess.Popen(
            [*command, self._owner], stdin=subprocess.PIPE, process_group=0, env=environment
        )

    def _end_unwanted(self) -> None:
        """End the process where its job was cancelled, or has made no progress for too long."""
        if self._jobs.stopped(self._owner):
            self._end_process()
            self._jobs.forget_stopped(self._owner)
            return
        job = self._jobs.running(self._owner)
        progress = None if job is None else (job.id, job.progress)
        if progress != self._progress:
            if self._progress is not None:
                self._wait_s = _FIRST_WAIT_S  # it gets on: whatever ends it next may be gone soon
            self._progress, self._progress_at = progress, time.monotonic()
        if job is None:
            return
        try:
            size = self._jobs.upload(job.id).stat().st_size
        except FileNotFoundError:  # the job has ended this moment
            return
        limit_s = self._stall_s * max(1.0, size / 2**20)
        if time.monotonic() - self._progress_at > limit_s:
            log.error("%s: no progress for %.0f s; its process is ended", job.name, limit_s)
            # First of all: once it is ended, whoever looks may take its job for one to be begun again.
            self._jobs.fail(
                job.id,
                f"indexing made no progress for {limit_s:.3g} s, the most that a file of {size:,} bytes may; "
                "send the book as plain text, or where the server is only slow, have STORYQA_STALL_S raised",
                self._owner,
            )
            self._end_process()

    def _end_where_lost(self) -> None:
        """End the process whose lease could not be renewed: by now another machine may have its job."""
        if self._jobs.database.is_shared and time.monotonic() - self._renewed_at > LEASE_S / 2:
            self._end_process()

    def _end_process(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate(timeout=_KILL_S)
            self._process = None


def _is_unlocked(lock: Path) -> bool:
    with lock.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True

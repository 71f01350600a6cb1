"""Several processes that answer at one socket, watched by a parent that starts a dead one again."""

from __future__ import annotations

import contextlib
import functools
import logging
import multiprocessing
import os
import signal
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors.multiprocess import Multiprocess

from service.app import create_app
from service.load.connections import connection_options, most_connections
from service.observing.logs import log_config
from service.settings import Settings, warn_of_unknown
from text.errors import StoryQAError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from fastapi import FastAPI

log = logging.getLogger(__name__)

# How long requests in hand may take to finish once the server is told to stop.
GRACE_S = 30
# A worker that has not said for so long that it lives is ended and replaced.
_HUNG_S = 30


def run(settings: Settings, listening: socket.socket, workers: int) -> None:
    """Answer at ``listening``, in this process or in ``workers`` of its own, until a signal says to stop.

    Raises ``CannotStart`` where the workers cannot, and in this process what is in the way itself.
    """
    if workers == 1:
        with _remembered(signal.SIGINT) as came:
            config = _config(settings, create_app(settings))
            warn_of_unknown()
            _Server(config, came).run(sockets=[listening])
        return
    # Each computes with its share of the cores; libraries read this when they are loaded.
    os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // workers)))
    with tempfile.TemporaryDirectory(prefix="storyqa-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        make = functools.partial(_app_of_worker, settings, Path(folder))
        config = _config(settings, make, factory=True, workers=workers)
        warn_of_unknown()
        supervisor = _Supervisor(config, [listening])
        supervisor.run()
        if any(process.exitcode == STARTUP_FAILURE for process in supervisor.processes):
            raise CannotStart("a worker could not start, and none of them would; the log says why")


@contextlib.contextmanager
def _remembered(number: signal.Signals) -> Iterator[threading.Event]:
    """Whether the signal has come, beside what it does by itself.

    Python drops what a signal raises while a destructor runs: who stops a server that is about to start
    would be left with one that goes on.
    """
    came = threading.Event()
    before = signal.getsignal(number)

    def handle(number: int, frame: FrameType | None) -> None:
        came.set()
        if callable(before):
            before(number, frame)

    signal.signal(number, handle)
    try:
        yield came
    finally:
        signal.signal(number, before)


class _Server(uvicorn.Server):
    """uvicorn's, which stops at once where the signal to stop ``came`` before it listened for one."""

    def __init__(self, config: uvicorn.Config, came: threading.Event) -> None:
        super().__init__(config)
        self._came = came

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.should_exit |= self._came.is_set()
        await super().startup(sockets)


def _config(settings: Settings, app: object, *, factory: bool = False, workers: int = 1) -> uvicorn.Config:
    return uvicorn.Config(
        app,  # type: ignore[arg-type]
        factory=factory,
        workers=workers,
        log_config=log_config(settings.log_format),
        access_log=False,
        timeout_graceful_shutdown=GRACE_S,
        timeout_worker_healthcheck=_HUNG_S,
        server_header=False,
        **connection_options(most_connections(settings.most_connections)),
    )


class CannotStart(StoryQAError):
    """Workers that will not start, however often they are begun again."""


class _Supervisor(Multiprocess):
    """uvicorn's, which hears at once of a worker's end, and takes its questions off the queue's depth."""

    def init_processes(self) -> None:
        """Start all."""
        super().init_processes()
        self._leave_ends()

    def keep_subprocess_alive(self) -> None:
        """Start those again that died or hang."""
        from prometheus_client.multiprocess import mark_process_dead

        before = self._pids()
        super().keep_subprocess_alive()
        self._leave_ends()
        for pid in before - self._pids():
            mark_process_dead(pid)  # type: ignore[no-untyped-call]

    def _leave_ends(self) -> None:
        """Leave the workers' ends of the pipes to them: asked whether it lives, one that ends is then heard.

        Else it would be waited for as long as for one that hangs.
        """
        for process in self.processes:
            process.child_conn.close()

    def _pids(self) -> set[int]:
        return {process.pid for process in self.processes if process.pid is not None}


def _app_of_worker(settings: Settings, metrics: Path) -> FastAPI:
    """In a new worker: its part of the service."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        return create_app(settings, shared_metrics=metrics, listens_warm=True)
    except StoryQAError as error:
        log.error("%s", error)
        sys.exit(STARTUP_FAILURE)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # nobody is left to stop this process

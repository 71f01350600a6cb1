"""A server of Postgres on loopback, which a test may stop and start again."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

_PLACES = "/usr/lib/postgresql"  # where Debian has it, a folder a version


class PostgresServer:
    """The server of the database at ``url``."""

    def __init__(self, folder: Path, programs: Path) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        self.url = f"postgresql://storyqa@127.0.0.1:{port}/postgres"
        self._programs = programs
        self._data = folder / "data"
        # It refuses to run as root, whose tests run as the user that the package made.
        self._as: dict[str, Any] = {}
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres")
            os.chown(folder, user.pw_uid, user.pw_gid)
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self._run("initdb", "--username=storyqa", "--auth=trust", "--no-sync", "--encoding=UTF8")
        with (self._data / "postgresql.conf").open("a") as settings:
            settings.write(f"port = {port}\nlisten_addresses = '127.0.0.1'\nunix_socket_directories = ''\n")

    def start(self) -> None:
        """Return once it answers."""
        self._run("pg_ctl", "--wait", f"--log={self._data / 'log'}", "start")

    def stop(self) -> None:
        """As if it were killed: it says good-bye to nobody."""
        self._run("pg_ctl", "--wait", "--mode=immediate", "stop")

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self._data), *arguments]
        nothing = subprocess.DEVNULL
        subprocess.run(command, check=True, cwd="/", stdout=nothing, stderr=nothing, **self._as)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A server with an empty database, or a skipped test."""
    pytest.importorskip("psycopg", reason="the extra postgres is not installed: pip install '.[postgres]'")
    found = sorted(Path(_PLACES).glob("*/bin/initdb"))
    if not found:
        pytest.skip("there is no Postgres here: apt-get install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="storyqa-postgres-"))  # pytest's own is for one user alone
    try:
        server = PostgresServer(folder, found[-1].parent)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)

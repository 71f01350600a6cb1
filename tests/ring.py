"""HAProxy before replicas on loopback, with the rules that ``deploy/haproxy`` has."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which

import httpx
import pytest

RULES = Path(__file__).parents[1] / "deploy" / "haproxy"
NOWHERE = "127.0.0.1:1"  # nobody listens there
_PATIENCE_S = 60
_LINE = re.compile(r"^(\w+)/(\S+) \+?(\d+) (-?\d+) -?\d+ (\S+) \"([^\"]*)\" \"([^\"]*)\"$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Passed:
    """A line of the proxy's log: where a request went, and which book it was about, if any."""

    backend: str
    replica: str
    retries: int
    status: int
    method: str
    path: str
    book: str


class Ring:
    """The proxy at ``url``, before ``replicas``: addresses such as ``127.0.0.1:8000`` by their ids."""

    def __init__(self, folder: Path, url: str, process: subprocess.Popen[bytes], shelf: str) -> None:
        self.url = url
        self._folder = folder
        self._process = process
        self._shelf = shelf

    @property
    def log(self) -> str:
        """All that the proxy has said."""
        return (self._folder / "log").read_text()

    def passed(self) -> list[Passed]:
        """All requests that are done, in the order in which they were."""
        return [
            Passed(backend, replica, int(retries), int(status), method, path, book)
            for backend, replica, retries, status, method, path, book in _LINE.findall(self.log)
        ]

    def change(self, replicas: Mapping[int, str]) -> None:
        """Have the proxy know these replicas, without a moment in which it does not answer."""
        write_replicas(self._folder, replicas, self._shelf)
        loaded = self.log.count("Loading success")
        self._process.send_signal(signal.SIGUSR2)
        self.until(lambda: self.log.count("Loading success") > loaded)

    def until(self, reached: Callable[[], bool]) -> None:
        """Wait for something to be so."""
        deadline = time.monotonic() + _PATIENCE_S
        while not reached():
            assert self._process.poll() is None, self.log
            assert time.monotonic() < deadline, self.log
            time.sleep(0.02)

    def homes(self, client: httpx.Client, books: list[str]) -> dict[str, str]:
        """The replica of each book, there or not, asked one after the other."""
        before = len(self.passed())
        for book in books:
            client.get(f"{self.url}/books/{book}/text")
        self.until(lambda: len(self.passed()) >= before + len(books))
        return {one.book: one.replica for one in self.passed()[before:]}


def write_replicas(folder: Path, replicas: Mapping[int, str], shelf: str) -> None:
    """``replicas.cfg`` of hosts, with these in place of its own."""
    servers = "".join(f"    server reader-{id} {address} id {id}\n" for id, address in replicas.items())
    text = (RULES / "replicas.cfg").read_text()
    text = re.sub(r"(    server reader-.*\n)+", servers, text)
    text = re.sub(r"server shelf .*", f"server shelf {shelf}", text)
    # Whoever runs the tests, and not the user of the package.
    text = re.sub(r"^    (user|group) .*\n", "", text, flags=re.MULTILINE)
    (folder / "replicas.cfg").write_text(text)


@contextmanager
def proxy(folder: Path, replicas: Mapping[int, str], shelf: str = NOWHERE) -> Iterator[Ring]:
    """HAProxy before these replicas, or a skipped test."""
    haproxy = which("haproxy", path=f"{os.environ['PATH']}{os.pathsep}/usr/sbin")
    if haproxy is None:
        pytest.skip("there is no haproxy here: apt-get install haproxy")
    write_replicas(folder, replicas, shelf)
    command = [haproxy, "-W", "-f", str(RULES / "books.cfg"), "-f", str(folder / "replicas.cfg")]
    with socket.create_server(("127.0.0.1", 0)) as listening, (folder / "log").open("wb") as log:
        number = listening.fileno()
        environment = os.environ | {"LISTEN": f"fd@{number}"}
        url = f"http://127.0.0.1:{listening.getsockname()[1]}"
        with subprocess.Popen(command, env=environment, pass_fds=[number], stdout=log, stderr=log) as process:
            ring = Ring(folder, url, process, shelf)
            try:
                ring.until(lambda: "Loading success" in ring.log)
                yield ring
            finally:
                process.terminate()


def counted(url: str, name: str) -> float:
    """What /metrics of one replica says of a counter without labels."""
    lines = httpx.get(f"{url}/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name} "))


def hits_and_misses(urls: Sequence[str]) -> tuple[float, float]:
    """How many answers came from a cache at the replicas, and how many did not."""
    names = ("storyqa_cache_hits_total", "storyqa_cache_misses_total")
    hits, misses = (sum(counted(url, name) for url in urls) for name in names)
    return hits, misses

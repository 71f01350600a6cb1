"""``transformers serve``, the real thing, on a free port of loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

TO_END_S = 20


@contextmanager
def serving_model(model: Path, log: Path, patience_s: float) -> Iterator[str]:
    """The base address of a server that has the model in this folder and no other.

    It is up within ``patience_s`` seconds; what it says goes to ``log``.
    """
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    code = "from transformers.cli.transformers import main; main()"
    arguments = ["serve", str(model), "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env=os.environ | {"HF_HUB_OFFLINE": "1"},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        deadline = time.monotonic() + patience_s
        while not _is_up(port):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        try:
            process.wait(TO_END_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _is_up(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/health", trust_env=False, timeout=5).is_success
    except httpx.HTTPError:
        return False

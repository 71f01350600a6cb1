"""The other tools as contenders: each in a process of its own, run by the interpreter that has them."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

CONTENDERS = Path(__file__).with_name("contenders")
WORKER = CONTENDERS / "worker.py"

# No tool may call home, or look on the hub for what is on disk already.
QUIET = {
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}


@dataclass(frozen=True, slots=True)
class Interpreters:
    """Those that have the other tools: all of ``peers.txt``, and what ``peers_optimum.txt`` pins."""

    peers: Path
    optimum: Path

    def versions(self) -> dict[str, dict[str, str]]:
        """What is installed of the packages that each list names."""
        return {
            "peers": versions(self.peers, "peers.txt"),
            "optimum": versions(self.optimum, "peers_optimum.txt"),
        }


class PeerError(RuntimeError):
    """What another tool raised, with its traceback."""


class Peer:
    """One tool of ``contenders/worker.py`` in a process that ends with the ``with`` block."""

    def __init__(self, python: Path, tool: str) -> None:
        self.tool = tool
        self._process = subprocess.Popen(
            [str(python), str(WORKER), tool],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **QUIET},
        )

    def __enter__(self) -> Peer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()  # closes its stdin, which ends it, and waits

    def call(self, method: str, **arguments: Any) -> tuple[float, Any]:
        """The seconds that ``method`` took over there, and its result; raises PeerError."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": method, "with": arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise PeerError(f"{self.tool} ended with code {self._process.wait()}; see what it printed above")
        reply = json.loads(line)
        if "error" in reply:
            raise PeerError(f"{self.tool}: {reply['error']}")
        return reply["seconds"], reply["result"]


def versions(python: Path, pins: str) -> dict[str, str]:
    """The installed versions of the packages that the file ``pins`` names."""
    names = [
        line.partition("==")[0]
        for line in Path(__file__).with_name(pins).read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]
    code = (
        "import importlib.metadata, json, sys\n"
        "print(json.dumps({name: importlib.metadata.version(name) for name in sys.argv[1:]}))"
    )
    done = subprocess.run([str(python), "-c", code, *names], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found

"""The other tools that `make bench` measures, where it has installed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers import Interpreters

_ENVIRONMENT = Path(__file__).parents[1] / ".bench-venv"
INTERPRETERS = Interpreters(_ENVIRONMENT / "bin" / "python", _ENVIRONMENT / "optimum" / "bin" / "python")
needs_peers = pytest.mark.skipif(
    not all((folder / ".installed").is_file() for folder in (_ENVIRONMENT, _ENVIRONMENT / "optimum")),
    reason="the other tools are not installed: make bench",
)

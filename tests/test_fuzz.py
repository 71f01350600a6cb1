"""A few of the requests that ``make fuzz`` sends by the thousand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.processes


def test_no_request_that_schemathesis_makes_up_meets_an_undocumented_answer() -> None:
    command = [sys.executable, "-m", "benchmarks.fuzz", "--examples", "4", "--phases", "examples,fuzzing"]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout

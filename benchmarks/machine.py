"""What the figures were measured on, and of which code."""

from __future__ import annotations

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Processor, cores this process may use, memory, and the versions that matter to speed."""
    from encoders.device import instructions, processor, threads
    from encoders.quantisation import int8_pays
    from encoders.runtime import TORCH, pick_runtime

    runtime = pick_runtime()
    return {
        "processor": processor(runtime.torch_device),
        "instructions": instructions(),
        "cores": len(os.sched_getaffinity(0)),
        "threads": threads(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "runtime": str(runtime),
        "int8": runtime.name == TORCH and int8_pays(runtime.torch_device, runtime.dtype),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "transformers", "numpy", "faiss-cpu")},
    }


def commit() -> str:
    """The commit that is checked out here, ``unknown`` outside of a repository."""
    try:
        asked = ["git", "rev-parse", "--short", "HEAD"]
        done = subprocess.run(asked, capture_output=True, text=True, check=True, cwd=Path(__file__).parent)
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()

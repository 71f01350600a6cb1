"""The largest numbers that the linear maps of a model were given: what fixed 8-bit scales are made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from encoders.adapters import NUMPY
from encoders.errors import ModelError

Ranges = Mapping[str, Any]
"""By the name of a map, the largest magnitude of each of its inputs, an array (inputs,) of fp32; of maps that
share their input the first's name. Of a map behind GELU, which gives little below 0, the largest number."""

SUFFIX = ".ranges.safetensors"
OF = "weights"  # in a file's metadata: the SHA-256 of the weights that they were measured with
# A range is kept in one byte, as a power of two in eighths, rounded up.
STEPS, LEAST, MOST = 8, -12, 255


def ranges_path(weights: Path) -> Path:
    """Where the ranges of a file of weights are: beside it."""
    return weights.with_suffix(SUFFIX)


def load_ranges(weights: Path, sha256: str) -> Ranges | None:
    """The ranges beside a file of weights that has this SHA-256, None where there are none.

    Raises ModelError where they cannot be read, or were measured with other weights.
    """
    import numpy as np
    from safetensors import SafetensorError, safe_open

    path = ranges_path(weights)
    if not path.is_file():
        return None
    try:
        with safe_open(path, NUMPY) as file:
            measured = (file.metadata() or {}).get(OF)
            codes = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no dict
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path} cannot be read ({error}); {_AGAIN}") from error
    if measured != sha256:
        raise ModelError(f"{path} is of other weights, {measured}; {weights.name} is {sha256}; {_AGAIN}")
    return {name: np.exp2(code.astype(np.float32) / STEPS + LEAST) for name, code in codes.items()}


_AGAIN = "delete it, or measure again: storyqa train ranges --start DIR"


def save_ranges(ranges: Ranges, weights: Path, sha256: str) -> Path:
    """Write the ranges to stand beside ``weights``, a file that has this SHA-256."""
    import numpy as np
    from safetensors.numpy import save_file

    codes = {
        name: np.ceil(STEPS * (np.log2(np.maximum(highest, 1e-9)) - LEAST)).clip(0, MOST).astype(np.uint8)
        for name, highest in ranges.items()
    }
    path = ranges_path(weights)
    save_file(codes, path, metadata={OF: sha256})
    return path

"""The ranges of what the linear maps of a model were given: what fixed 8-bit scales are made of."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from encoders.adapters import NUMPY
from encoders.errors import ModelError


class Range(NamedTuple):
    """Within what each input of a map lies: ``middle`` - ``reach`` to ``middle`` + ``reach``.

    Both are arrays (inputs,) of fp32. Some inputs of a trained model are far from 0 for all tokens alike.
    """

    middle: Any
    reach: Any


Ranges = Mapping[str, Range]
"""By the name of a map; of maps that share their inputs the first's name."""

SUFFIX = ".ranges.safetensors"
OF, INPUTS = "weights", "inputs"  # in a file's metadata: SHA-256 of the weights, how many inputs a map has
CODES = "deflated"  # the file's only tensor: a reach and a middle of each input, a byte each, by zlib
# A reach is a power of two in eighths, rounded up, and a middle so many eighths of its reach.
STEPS, LEAST, MOST = 8, -12, 255
PARTS, FAR = 8, 127


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
            metadata = file.metadata() or {}
            inputs: dict[str, int] = json.loads(metadata.get(INPUTS, "{}"))
            codes = np.frombuffer(zlib.decompress(file.get_tensor(CODES).tobytes()), np.uint8)
        reaches, middles = codes.reshape(2, sum(inputs.values()))
    except (OSError, SafetensorError, ValueError, zlib.error) as error:
        raise ModelError(f"{path} cannot be read ({error}); {_AGAIN}") from error
    measured = metadata.get(OF)
    if measured != sha256:
        raise ModelError(f"{path} is of other weights, {measured}; {weights.name} is {sha256}; {_AGAIN}")
    reach = np.exp2(reaches.astype(np.float32) / STEPS + LEAST)
    middle = reach * middles.view(np.int8).astype(np.float32) / PARTS
    ends = np.cumsum([*inputs.values()])[:-1]
    both = zip(np.split(middle, ends), np.split(reach, ends), strict=True)
    return {name: Range(*of_map) for name, of_map in zip(inputs, both, strict=True)}


_AGAIN = "delete it, or measure again: storyqa train ranges --start DIR"


def save_ranges(lowest: Mapping[str, Any], highest: Mapping[str, Any], weights: Path, sha256: str) -> Path:
    """Write the ranges from the lowest to the highest number that each input of the maps was given.

    They are to stand beside ``weights``, a file that has this SHA-256.
    """
    import numpy as np
    from safetensors.numpy import save_file

    low, high = (np.concatenate([found[name] for name in lowest]) for found in (lowest, highest))
    middle, half = (low + high) / 2, (high - low) / 2
    # So much that the rounded middle reaches as far, and that a byte says how far away it is.
    reach = np.maximum(np.maximum(half, np.abs(middle) * PARTS / FAR) / (1 - 0.5 / PARTS), 1e-9)
    reaches = np.ceil(STEPS * (np.log2(reach) - LEAST)).clip(0, MOST).astype(np.uint8)
    parts = np.rint(PARTS * middle / np.exp2(reaches / STEPS + LEAST)).clip(-FAR, FAR).astype(np.int8)
    codes = zlib.compress(reaches.tobytes() + parts.tobytes(), 9)
    path = ranges_path(weights)
    inputs = json.dumps({name: len(one) for name, one in lowest.items()})
    save_file({CODES: np.frombuffer(codes, np.uint8)}, path, metadata={OF: sha256, INPUTS: inputs})
    return path

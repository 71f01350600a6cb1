"""What a model of ours adds to the shared backbone: low-rank adapters or whole parameters, from one file."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from encoders.backbone import BACKBONES, Backbone, find_backbone
from encoders.errors import ModelError

DOWN, UP = ".lora_A", ".lora_B"
TORCH, NUMPY = "pt", "np"  # as safetensors calls them
T = TypeVar("T")  # a tensor or an array


@dataclass(frozen=True, slots=True, eq=False)
class Weights:
    """The tensors of a model's file, torch's or NumPy's, and the backbone that they stand beside.

    ``rest`` is the SHA-256 of the file that has the model's other parameters, None where this one has all.
    """

    backbone: Backbone
    tensors: dict[str, Any]
    rest: str | None = None


def load_weights(path: Path, framework: str = TORCH, known: Mapping[str, Backbone] = BACKBONES) -> Weights:
    """What a model's file holds, for ``TORCH`` or ``NUMPY``.

    Raises ModelError if unreadable or for a backbone that is none of the ``known``.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework) as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no dict
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path} cannot be read ({error}); train it again or reinstall storyqa") from error
    named = metadata.get("backbone")
    backbone = find_backbone(named, known)
    if backbone is None:
        choices = ", ".join(f"{one.name} {one.sha256}" for one in known.values())
        raise ModelError(f"{path} was trained on the backbone {named}, none of {choices}; train it again")
    return Weights(backbone, tensors, metadata.get("rest"))


def overlay(tensors: Mapping[str, T], base: Mapping[str, T]) -> dict[str, T]:
    """The backbone's parameters that ``tensors`` replace or adapt, fp32, by name; all torch's or NumPy's.

    A pair ``NAME.lora_A`` (rank, inputs) and ``NAME.lora_B`` (outputs, rank) adds B A to the
    parameter ``NAME.weight`` of ``base``: Hu et al. 2021, equation 3, with the scale multiplied
    into B. Any other name is a parameter itself. Raises ModelError for an adapter of no parameter.
    """
    found: dict[str, Any] = {}
    for name, tensor in tensors.items():
        if name.endswith(DOWN):
            adapted = name.removesuffix(DOWN)
            up = tensors.get(adapted + UP)
            if up is None or f"{adapted}.weight" not in base:
                raise ModelError(f"{name} adapts no parameter of the backbone; train the model again")
            found[f"{adapted}.weight"] = base[f"{adapted}.weight"] + fp32(up) @ fp32(tensor)
        elif not name.endswith(UP):
            found[name] = fp32(tensor)
    return found


def fp32(tensor: Any) -> Any:
    """A tensor or an array in fp32."""
    return tensor.float() if hasattr(tensor, "float") else tensor.astype("float32")


def file_hash(path: Path) -> str:
    """The SHA-256 of a file, by which weights are told apart."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()

"""What a model of ours adds to the shared backbone: adapters, changes or whole parameters, from one file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from encoders.backbone import BACKBONES, Backbone, base_arrays, base_tensors, find_backbone
from encoders.errors import ModelError

if TYPE_CHECKING:
    import torch

DOWN, UP = ".lora_A", ".lora_B"
CHANGE, STEP = ".change", ".step"
ENCODER = "encoder."  # what the names of an encoder's layers begin with
STEPS = 127  # to each side
MATRIX = 2  # dimensions
SMALLEST = 1e-12  # of what a row that has not changed is divided by
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
    if any(name.endswith(CHANGE) for name in tensors):
        of_base = any(name.endswith(CHANGE) and not _adapts(name.removesuffix(CHANGE)) for name in tensors)
        arrays = base_tensors if framework == TORCH else base_arrays
        tensors = _changed(tensors, arrays(backbone) if of_base else {})
    return Weights(backbone, tensors, metadata.get("rest"))


def packed(tensors: Mapping[str, torch.Tensor], base: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors as they are kept in a file, half as large or less; ``load_weights`` undoes it.

    Of a matrix of ``base`` what has been added to it: ``NAME.change``, (outputs, inputs) in 8 bits, in
    steps of each row's own, ``NAME.step``, (outputs, 1) in fp32. So are both matrices of an adapter of an
    encoder, with a step for each of its ranks. What training adds is a tenth of what was there, so its
    rounding is about a thousandth of the matrix. All else is kept in fp16.
    """
    kept = {}
    for name, tensor in tensors.items():
        tensor = tensor.detach().float().cpu()
        if _adapts(name):
            change, over = tensor, 1 if name.endswith(DOWN) else 0
        elif tensor.ndim == MATRIX and name in base and base[name].shape == tensor.shape:
            change, over = tensor - base[name], 1
        else:
            kept[name] = tensor.half().contiguous()
            continue
        step = change.abs().amax(over, keepdim=True).clamp_min(SMALLEST) / STEPS
        kept[name + CHANGE], kept[name + STEP] = (change / step).round().char().contiguous(), step
    return kept


def _adapts(name: str) -> bool:
    """Whether a tensor of this name is one of the two of an encoder's adapter.

    Language models write on from what they have written: their adapters stay in fp16.
    """
    return name.startswith(ENCODER) and name.endswith((DOWN, UP))


def _changed(tensors: Mapping[str, T], base: Mapping[str, T]) -> dict[str, T]:
    """The tensors of a file, changes of matrices added to those of ``base``, adapters as they are."""
    found: dict[str, Any] = {}
    for name, tensor in tensors.items():
        if name.endswith(CHANGE):
            matrix = name.removesuffix(CHANGE)
            step: Any = tensors.get(matrix + STEP)
            if step is None or not (matrix in base or _adapts(matrix)):
                raise ModelError(f"{name} changes no parameter of the backbone; train the model again")
            found[matrix] = base.get(matrix, 0.0) + fp32(tensor) * step
        elif not name.endswith(STEP):
            found[name] = tensor
    return found


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


def files_hash(paths: Iterable[Path]) -> str:
    """The SHA-256 of several files, in order, with their names, by which models in folders are told apart."""
    digest = hashlib.sha256()
    for path in paths:
        digest.update(path.name.encode())
        digest.update(bytes.fromhex(file_hash(path)))
    return digest.hexdigest()

"""Which runtime the layers of our encoders run in: torch, or on a CPU OpenVINO where it is installed.

torch is the reference, and what trains and what a GPU runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING

from encoders.device import instructions_limit, pick_device, pick_dtype
from encoders.errors import ModelError

if TYPE_CHECKING:
    import torch

    from encoders.transformer import Hidden, Transformer

TORCH, OPENVINO = "torch", "openvino"
VARIABLE = "STORYQA_RUNTIME"
Layers = Callable[..., "Hidden"]  # called as a Transformer is
LinearMap = Callable[["torch.Tensor"], "torch.Tensor"]
_NUMBERS = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32"}


@dataclass(frozen=True, slots=True)
class Runtime:
    """A runtime, and the format of its numbers; ``int8`` is that of OpenVINO's linear maps alone."""

    name: str
    device: torch.device
    dtype: torch.dtype
    int8: bool = False

    def __str__(self) -> str:
        return f"{self.name} {version(self.name)} on {self.device.type} in {self.numbers}"

    @property
    def numbers(self) -> str:
        """The format of the numbers that linear maps multiply, such as ``bf16``."""
        return "int8" if self.int8 else _NUMBERS[str(self.dtype)]


def asked_runtime() -> str | None:
    """What ``STORYQA_RUNTIME`` says: ``torch``, ``openvino`` or nothing.

    Raises ModelError for anything else, and for OpenVINO where it is not installed.
    """
    named = os.environ.get(VARIABLE) or None
    if named not in (None, TORCH, OPENVINO):
        raise ModelError(f"{VARIABLE} is {named!r}; wanted {TORCH} or {OPENVINO}")
    if named == OPENVINO and not _is_installed():
        raise ModelError(f"{VARIABLE} is {OPENVINO}, which is not installed: pip install openvino")
    return named


def _is_installed() -> bool:
    return find_spec("openvino") is not None


def pick_runtime(named: str | None = None) -> Runtime:
    """The one ``named``, by default what ``STORYQA_RUNTIME`` says, by default the fastest here.

    Raises ModelError as ``asked_runtime`` does.
    """
    import torch

    named = named or asked_runtime()
    device = pick_device()
    # What holds torch and oneDNN to older instructions does not hold the rest of OpenVINO.
    held_back = bool(instructions_limit() or os.environ.get("ATEN_CPU_CAPABILITY"))
    fast = _is_installed() and device.type == "cpu" and not held_back
    if named == OPENVINO or (named is None and fast):
        # With AMX it was not measured.
        int8 = torch.cpu._is_vnni_supported() and not torch.cpu._is_amx_tile_supported() and not held_back
        cpu = torch.device("cpu")
        return Runtime(OPENVINO, cpu, pick_dtype(cpu), int8)
    return Runtime(TORCH, device, pick_dtype(device))


def running(model: Transformer, runtime: Runtime) -> Layers:
    """What answers as ``model``, of fp32 and on the CPU, does, in the runtime."""
    import torch

    if runtime.name == OPENVINO:
        from encoders.openvino_layers import OpenVINOTransformer

        return OpenVINOTransformer(model, runtime.dtype, runtime.int8)
    return torch.nn.Module.to(model, runtime.device, runtime.dtype)


def running_linear(weight: torch.Tensor, bias: torch.Tensor, runtime: Runtime) -> LinearMap:
    """x W^T + b for a weight (outputs, inputs) of fp32, in the runtime, which does not round it to int8."""
    import torch

    if runtime.name == OPENVINO:
        from encoders.openvino_layers import OpenVINOLinear

        return OpenVINOLinear(weight, bias, runtime.dtype)
    return lambda x: torch.nn.functional.linear(x, weight, bias)

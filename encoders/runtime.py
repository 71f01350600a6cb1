"""Which runtime the layers of our encoders run in: torch, or on a CPU OpenVINO where it is installed.

torch is the reference, and what trains and what a GPU runs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from encoders.activation_ranges import Ranges
from encoders.adapters import NUMPY, fp32, overlay
from encoders.adapters import TORCH as TENSORS
from encoders.backbone import (
    Backbone,
    backbone_folder,
    base_arrays,
    base_tensors,
    check_overlay,
    load_backbone,
)
from encoders.device import (
    instructions_limit,
    is_faster_in_bf16,
    may_have_gpu,
    pick_device,
    pick_dtype,
    processor_flags,
)
from encoders.errors import ModelError
from encoders.transformer_config import TransformerConfig

if TYPE_CHECKING:
    import torch

TORCH, OPENVINO = "torch", "openvino"
VARIABLE = "STORYQA_RUNTIME"
Layers = Callable[..., Any]
"""Called as a ``Transformer`` is, by the names of its arguments, with tensors or arrays as the
runtime has them."""


@dataclass(frozen=True)
class Runtime:
    """A runtime, its device, ``cpu`` or ``cuda``, and the format of its numbers: ``fp32``, ``bf16``, fp16.

    ``int8`` is that of OpenVINO's linear maps alone.
    """

    name: str
    device: str
    floats: str
    int8: bool = False

    def __str__(self) -> str:
        return f"{self.name} {version(self.name)} on {self.device} in {self.numbers}"

    @property
    def numbers(self) -> str:
        """The format of the numbers that linear maps multiply, such as ``bf16``."""
        return "int8" if self.int8 else self.floats

    @property
    def framework(self) -> str:
        """What its weights are loaded for: ``TORCH`` or ``NUMPY`` of ``encoders.adapters``."""
        return NUMPY if self.name == OPENVINO else TENSORS

    @property
    def batched_as(self) -> str:
        """What batches are sized by: ``OPENVINO``, or torch's device."""
        return OPENVINO if self.name == OPENVINO else self.device

    @property
    def multiple(self) -> int:
        """To what multiple of tokens batches are padded: OpenVINO prepares for every length that is new, and
        a card multiplies eights faster."""
        return 8 if self.name == OPENVINO or self.device != "cpu" else 1

    def given(self, ranges: Ranges | None) -> Runtime:
        """The one for weights that have these ranges: AMX multiplies bf16 faster than 8-bit integers whose
        scales are found at each call."""
        slower = self.int8 and ranges is None and "amx_bf16" in processor_flags()
        return replace(self, int8=False) if slower else self

    @cached_property
    def torch_device(self) -> torch.device:
        """The device as torch has it."""
        import torch

        return torch.device(self.device)

    @cached_property
    def dtype(self) -> torch.dtype:
        """The format as torch has it."""
        import torch

        return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[self.floats]


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
    named = named or asked_runtime()
    # What holds torch and oneDNN to older instructions does not hold the rest of OpenVINO.
    held_back = bool(instructions_limit() or os.environ.get("ATEN_CPU_CAPABILITY"))
    fast = _is_installed() and not held_back and not (may_have_gpu() and pick_device().type == "cuda")
    if named == OPENVINO or (named is None and fast):
        flags = frozenset() if held_back else processor_flags()
        has_bf16 = is_faster_in_bf16("avx512_bf16" in flags, "amx_bf16" in flags)
        int8 = "avx512_vnni" in flags
        return Runtime(OPENVINO, "cpu", "bf16" if has_bf16 else "fp32", int8)
    device = pick_device()
    floats = {"torch.bfloat16": "bf16", "torch.float16": "fp16", "torch.float32": "fp32"}
    return Runtime(TORCH, device.type, floats[str(pick_dtype(device))])


def run_backbone(
    backbone: Backbone, trained: Mapping[str, Any], runtime: Runtime, ranges: Ranges | None = None
) -> Layers:
    """The encoder of a backbone with what was ``trained`` beside it, in the runtime.

    ``trained`` are adapters and parameters by name, tensors or arrays; int8 of OpenVINO makes use of
    ``ranges``. Raises ModelError as ``overlay`` and ``load_backbone`` do.
    """
    if runtime.name == OPENVINO:
        from encoders.openvino_layers import OpenVINOTransformer

        base = base_arrays(backbone)
        changed = overlay({name: as_array(fp32(one)) for name, one in trained.items()}, base)
        check_overlay(changed, base, backbone)
        config = TransformerConfig.read(backbone_folder(backbone))
        return OpenVINOTransformer({**base, **changed}, config, runtime.floats, runtime.int8, ranges)
    import torch

    changed = overlay({name: torch.as_tensor(one) for name, one in trained.items()}, base_tensors(backbone))
    return torch.nn.Module.to(load_backbone(changed, backbone), runtime.torch_device, runtime.dtype)


def as_array(tensor: Any) -> Any:
    """A tensor, not of bf16, as an array of NumPy, which it may be already."""
    return tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor

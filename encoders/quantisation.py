"""Linear layers in 8-bit integers, for CPUs that multiply those much faster than floats."""

from __future__ import annotations

import platform
import warnings
from typing import Any

import torch


class Int8Linear(torch.nn.Module):
    """y = x W^T + b with W rounded to int8 per output, and x to 7 bits per call (dynamic quantisation).

    7 bits, because the AVX2 product of two 8-bit numbers saturates its 16-bit sum.
    """

    def __init__(self, linear: torch.nn.Linear) -> None:
        """Packs ``linear``'s weight of shape (outputs, inputs); the float weight is not kept."""
        super().__init__()
        weight = linear.weight.detach()
        scale = weight.abs().amax(1).clamp_min(1e-8).double() / 127
        with warnings.catch_warnings():
            # The constructors of quantised tensors are deprecated in favour of a package of their own.
            warnings.simplefilter("ignore")
            zero = torch.zeros_like(scale).long()
            rounded = torch.quantize_per_channel(weight, scale, zero, 0, torch.qint8)
        engine = torch.backends.quantized.engine
        torch.backends.quantized.engine = "onednn"
        try:
            self._packed: Any = torch.ops.quantized.linear_prepack(rounded, linear.bias.detach())
        finally:
            torch.backends.quantized.engine = engine

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (..., inputs) to (..., outputs), float32."""
        y: torch.Tensor = torch.ops.quantized.linear_dynamic(x, self._packed, True)
        return y


def int8_pays(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether int8 is the fast format here: an x86 CPU whose best float format is fp32."""
    return (
        device.type == "cpu"
        and dtype == torch.float32
        and platform.machine().lower() in {"x86_64", "amd64"}
        and "onednn" in torch.backends.quantized.supported_engines
    )


def with_int8_linears(model: torch.nn.Module) -> torch.nn.Module:
    """``model`` with every linear layer replaced, in place."""
    for name, child in list(model.named_children()):
        if isinstance(child, torch.nn.Linear):
            setattr(model, name, Int8Linear(child))
        else:
            with_int8_linears(child)
    return model

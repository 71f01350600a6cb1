"""Linear layers in 8-bit integers, for CPUs that multiply those much faster than floats."""

from __future__ import annotations

import platform
import warnings
from collections.abc import Callable
from typing import Any

import torch

from encoders.device import instructions_limit

BELOW_AVX512 = {"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2"}
UNEVEN = 2  # times the median row's largest entry, from which one scale for all rows rounds too coarsely


class Int8Linear(torch.nn.Module):
    """y = x W^T + b with x rounded to 8 bits per call and W to 7 bits per output (dynamic quantisation).

    Where rows are uneven, each has a scale of its own, and columns that run large are moved into W
    (Xiao et al. 2023, SmoothQuant, equation 4): a few entries, nearly all in the rows of special
    tokens, are up to twenty times as large as the rest, which one scale would round away. W has the 7 bits
    because processors without VNNI add two products in 16 bits, and 2 * 255 * 63 is below 2^15: the
    sums are exact, and the same, on every processor.
    """

    def __init__(self, linear: torch.nn.Linear, typical: torch.Tensor) -> None:
        """Packs ``linear``'s weight of shape (outputs, inputs); the float weight is not kept.

        ``typical`` of shape (rows, inputs) is an x like those to come, for the size of its entries.
        """
        super().__init__()
        weight = linear.weight.detach()
        bias: torch.Tensor | None = None if linear.bias is None else linear.bias.detach()
        largest = typical.abs()
        rows = largest.amax(1)
        self._smoothing: torch.Tensor | None = None  # (inputs,)
        self._bias: torch.Tensor | None = None  # where it is not packed
        if bool(rows.max() > UNEVEN * rows.median()):
            columns = (largest.amax(0).clamp_min(1e-5) / weight.abs().amax(0).clamp_min(1e-5)).sqrt()
            columns = columns / columns.median()
            weight, self._smoothing = weight * columns, 1 / columns
            bias, self._bias = None, bias
        scale = weight.abs().amax(1).clamp_min(1e-8).double() / 63
        with warnings.catch_warnings():
            # The constructors of quantised tensors are deprecated in favour of a package of their own.
            warnings.simplefilter("ignore")
            zero = torch.zeros_like(scale).long()
            rounded = torch.quantize_per_channel(weight, scale, zero, 0, torch.qint8)
        engine = torch.backends.quantized.engine
        torch.backends.quantized.engine = "onednn"
        try:
            self._packed: Any = torch.ops.quantized.linear_prepack(rounded, bias)
        finally:
            torch.backends.quantized.engine = engine

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Shape (..., inputs) to (..., outputs), float32."""
        y: torch.Tensor
        if self._smoothing is None:
            y = torch.ops.quantized.linear_dynamic(x, self._packed, False)
            return y
        x = x * self._smoothing
        # Two passes, for the infinity norm and aminmax along a row are not vectorised.
        rows = torch.maximum(x.amax(-1, keepdim=True), -x.amin(-1, keepdim=True)).clamp_min_(1e-8)  # (..., 1)
        y = torch.ops.quantized.linear_dynamic(x.div_(rows), self._packed, False).mul_(rows)
        return y if self._bias is None else y.add_(self._bias)


def int8_pays(device: torch.device, dtype: torch.dtype) -> bool:
    """Whether int8 is the fast format here: an x86 CPU whose best float format is fp32.

    Not one with AVX512 and no VNNI: there fp32 is as fast. With VNNI int8 encodes 1.2 times as many
    passages per second, with AVX2 alone 1.08 times.
    """
    limit = instructions_limit()
    avx512 = torch.backends.cpu.get_cpu_capability() not in {"DEFAULT", "AVX2"} and limit not in BELOW_AVX512
    vnni = torch.cpu._is_vnni_supported() and limit != "AVX512_CORE"
    return (
        device.type == "cpu"
        and dtype == torch.float32
        and platform.machine().lower() in {"x86_64", "amd64"}
        and "onednn" in torch.backends.quantized.supported_engines
        and (vnni or not avx512)
    )


def with_int8_linears(model: torch.nn.Module, run: Callable[[torch.nn.Module], object]) -> torch.nn.Module:
    """``model`` with every linear layer that ``run`` uses replaced, in place.

    ``run`` puts a typical input through the model once, for the size of what each layer is given.
    """
    typical: dict[torch.nn.Module, torch.Tensor] = {}

    def record(layer: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
        typical[layer] = inputs[0].detach().flatten(0, -2)  # (rows, inputs)

    layers = [layer for layer in model.modules() if isinstance(layer, torch.nn.Linear)]
    hooks = [layer.register_forward_pre_hook(record) for layer in layers]
    try:
        with torch.inference_mode():
            run(model)
    finally:
        for hook in hooks:
            hook.remove()
    for parent in list(model.modules()):
        for name, child in list(parent.named_children()):
            if isinstance(child, torch.nn.Linear) and child in typical:
                setattr(parent, name, Int8Linear(child, typical[child]))
    return model

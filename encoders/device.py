"""Where a model runs and in which number format, chosen when it is loaded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

# Values of ONEDNN_MAX_CPU_ISA under which oneDNN has no product of bf16 numbers.
WITHOUT_BF16 = {"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI"}


def instructions_limit() -> str:
    """The instruction set that ``ONEDNN_MAX_CPU_ISA`` holds oneDNN to, empty where none is named."""
    import os

    return os.environ.get("ONEDNN_MAX_CPU_ISA", os.environ.get("DNNL_MAX_CPU_ISA", "")).upper()


def pick_device() -> torch.device:
    """The GPU where there is one, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def pick_dtype(device: torch.device) -> torch.dtype:
    """bf16 where the hardware multiplies it, fp16 on older GPUs, else fp32.

    A CPU without bf16 instructions emulates them, eight times slower than fp32. One that
    ``ONEDNN_MAX_CPU_ISA`` or ``ATEN_CPU_CAPABILITY`` holds below them counts as a CPU without.
    """
    import torch

    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    has_bf16 = torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()
    # Those two look at the processor alone, whatever torch and oneDNN may use of it.
    held_back = instructions_limit() in WITHOUT_BF16 or torch.backends.cpu.get_cpu_capability() in {
        "DEFAULT",
        "AVX2",
    }
    return torch.bfloat16 if has_bf16 and not held_back else torch.float32


def sent(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """A tensor of the CPU on a device; a card gets it while it computes what it was told before.

    The ordinary way would wait for all of that.
    """
    return tensor if device.type == "cpu" else tensor.pin_memory().to(device, non_blocking=True)

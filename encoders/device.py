"""Where a model runs, in which number format and in how many threads, chosen when it is loaded.

What can be told without torch is: to import it takes as long as a question.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

# Values of ONEDNN_MAX_CPU_ISA under which oneDNN has no product of bf16 numbers.
WITHOUT_BF16 = {"SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX2_VNNI_2", "AVX512_CORE", "AVX512_CORE_VNNI"}


def instructions_limit() -> str:
    """The instruction set that ``ONEDNN_MAX_CPU_ISA`` holds oneDNN to, empty where none is named."""
    return os.environ.get("ONEDNN_MAX_CPU_ISA", os.environ.get("DNNL_MAX_CPU_ISA", "")).upper()


def processor_flags() -> frozenset[str]:
    """What the processor can do, by Linux's names; empty on other systems."""
    return frozenset(_processor_info("flags").split())


def is_faster_in_bf16(has_bf16: bool, has_amx: bool) -> bool:
    """Whether a CPU with these instructions multiplies bf16 faster than fp32.

    An Intel one that has no AMX beside them, as where a virtual machine hides it, takes twice the time of
    fp32. Other systems than Linux do not say whose the processor is.
    """
    return has_amx or (has_bf16 and _processor_info("vendor_id") != "GenuineIntel")


@lru_cache
def _processor_info(name: str) -> str:
    """What Linux says of the first processor under a name, empty where it says nothing."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.is_file() else []
    line = next((line for line in lines if line.startswith(name)), "")
    return line.partition(":")[2].strip()


def processor(device: torch.device) -> str:
    """The name of what computes there: of the card, or of the processor."""
    import torch

    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return _processor_info("model name") or platform.processor() or platform.machine()


def instructions() -> str:
    """The CPU's instructions that torch computes by, such as ``AVX512 and AMX``."""
    import torch

    amx = " and AMX" if "amx_bf16" in processor_flags() else ""
    return f"{torch.backends.cpu.get_cpu_capability()}{amx}"


def computing_on(device: torch.device) -> str:
    """What a time is of, such as ``2 threads of Intel(R) Xeon(R) Processor (AVX512 and AMX)``."""
    import torch

    count = threads()
    several = "" if count == 1 else "s"
    found = f"{count} thread{several} of {processor(torch.device('cpu'))} ({instructions()})"
    return found if device.type == "cpu" else f"{processor(device)}, beside {found}"


_own_threads: int | None = None


def threads() -> int:
    """In how many threads a model of this process computes.

    What ``use_threads`` or ``OMP_NUM_THREADS`` says, else as many as there are cores that it may use.
    """
    named = os.environ.get("OMP_NUM_THREADS", "")
    if _own_threads is not None:
        return _own_threads
    return int(named) if named.isdecimal() and int(named) else _cores()


def use_threads(count: int) -> None:
    """Have the models that this process loads from now on, and torch, compute in so many threads."""
    global _own_threads
    _own_threads = count
    os.environ["OMP_NUM_THREADS"] = str(count)  # which torch reads when it is imported
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(count)


def _cores() -> int:
    """Those this process may use; two that share their units, as hyperthreads do, are one."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    siblings = Path("/sys/devices/system/cpu")
    found = {
        path.read_text() if path.is_file() else str(cpu)
        for cpu in os.sched_getaffinity(0)
        for path in [siblings / f"cpu{cpu}" / "topology" / "thread_siblings_list"]
    }
    return len(found)


def may_have_gpu() -> bool:
    """Whether torch is a build that can use a card; whether there is one, it says itself."""
    spec = find_spec("torch")
    folder = Path(spec.origin).parent / "lib" if spec and spec.origin else Path()
    return any(any(folder.glob(f"*torch_{kind}*")) for kind in ("cuda", "hip"))


def pick_device() -> torch.device:
    """The GPU where there is one, else the CPU."""
    import torch

    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def pick_dtype(device: torch.device) -> torch.dtype:
    """bf16 where the hardware multiplies it faster than fp32, fp16 on older GPUs, else fp32.

    A CPU without bf16 instructions emulates them, eight times slower than fp32. One that
    ``ONEDNN_MAX_CPU_ISA`` or ``ATEN_CPU_CAPABILITY`` holds below them counts as a CPU without.
    """
    import torch

    if device.type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported(including_emulation=False) else torch.float16
    has_bf16 = is_faster_in_bf16(torch.cpu._is_avx512_bf16_supported(), torch.cpu._is_amx_tile_supported())
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

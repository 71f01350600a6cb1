"""Measures the small cross-encoder in each runtime and number format, beside torch's fp32.

    python -m benchmarks.runtimes [--data FOLDER] [--rounds 9]

Five windows of one question are read again and again, all contenders in turn; processor time, one thread.
``--data`` holds the data sets as their publishers lay them out; without it the texts are made up.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from statistics import median

import torch
from rich.progress import track

from benchmarks.exported import shipped_tensors
from benchmarks.machine import machine
from benchmarks.texts import generated, real
from encoders.adapters import overlay
from encoders.backbone import base_tensors, load_backbone, load_tokenizer
from encoders.cross_encoder import LONGEST, collate
from encoders.runtime import OPENVINO, TORCH, Runtime, running
from encoders.transformer import Hidden, Transformer
from encoders.windows import Windower

WINDOWS, WORDS = 5, 200


def contenders() -> list[Runtime]:
    """Whatever this processor multiplies by itself."""
    cpu = torch.device("cpu")
    formats = [torch.float32, *([torch.bfloat16] if torch.cpu._is_avx512_bf16_supported() else [])]
    found = [Runtime(name, cpu, dtype) for name in (TORCH, OPENVINO) for dtype in formats]
    return [
        *found,
        *(Runtime(OPENVINO, cpu, dtype, True) for dtype in formats if torch.cpu._is_vnni_supported()),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the runtimes of the encoders side by side.")
    parser.add_argument("--data", type=Path, help="the data sets' folder; made-up texts without it")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    torch.set_num_threads(1)
    texts = real(given.data, WORDS * 50) if given.data else generated(WORDS * 50)
    words = texts.text.split()
    passages = [" ".join(words[first : first + WORDS]) for first in range(0, WORDS * WINDOWS, WORDS)]
    asked = [(texts.questions[0], (passage,)) for passage in passages]
    windows = [cut[0] for cut in Windower(load_tokenizer(), LONGEST)(asked)]
    inputs = collate(windows, 0, True).named
    tensors = shipped_tensors()
    weight, bias = (tensors.pop(name).float() for name in ("head.weight", "head.bias"))

    def scores(hidden: Hidden) -> torch.Tensor:
        return torch.nn.functional.linear(hidden.last_hidden_state.float(), weight, bias)

    def model() -> Transformer:
        return load_backbone(overlay(tensors, base_tensors()))

    times: dict[Runtime, list[float]] = {runtime: [] for runtime in contenders()}
    with torch.inference_mode():
        exact = scores(model()(**inputs))
        layers = {runtime: running(model(), runtime) for runtime in times}
        for number in track(range(given.rounds + 1), "reading"):
            for runtime, run in layers.items():
                begun = time.process_time()
                run(**inputs)
                if number:  # the first is the one that warms up
                    times[runtime].append(1000 * (time.process_time() - begun))
        real_tokens = inputs["attention_mask"]
        kept = torch.ones(exact.shape[:2], dtype=torch.bool) if real_tokens is None else real_tokens == 1
        lengths = [len(window.ids) for window in windows]
        print(f"{machine()['processor']}; windows of {lengths} tokens, one thread")
        print(f"spread of scores {float(exact[kept].std()):.2f}")
        for runtime, run in layers.items():
            off = (scores(run(**inputs)) - exact)[kept].abs()
            rest = f" beside {runtime.dtype}" if runtime.int8 else ""
            print(
                f"{f'{runtime}{rest}':48} {median(times[runtime]):7.1f} ms"
                f"   scores off by {float(off.mean()):.4f}, at most {float(off.max()):.3f}"
            )


if __name__ == "__main__":
    main()

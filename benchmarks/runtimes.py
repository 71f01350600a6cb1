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
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import track

from benchmarks.exported import shipped_ranges, shipped_tensors
from benchmarks.machine import machine
from benchmarks.texts import generated, real
from encoders.adapters import fp32
from encoders.backbone import MINILM, load_tokenizer
from encoders.cross_encoder import LONGEST, collate
from encoders.device import processor_flags, use_threads
from encoders.runtime import OPENVINO, TORCH, Layers, Runtime, as_array, run_backbone
from encoders.windows import Windower

WINDOWS, WORDS = 5, 200


class Contender(NamedTuple):
    """A runtime, whose 8-bit integers may be scaled by the shipped ``ranges`` or anew at each call."""

    runtime: Runtime
    by_ranges: bool = False

    def __str__(self) -> str:
        rest = f" beside {self.runtime.floats}" if self.runtime.int8 else ""
        return f"{self.runtime}{rest}{', by ranges' if self.by_ranges else ''}"


def contenders() -> list[Contender]:
    """Whatever this processor multiplies by itself."""
    flags = processor_flags()
    formats = ["fp32", *(["bf16"] if "avx512_bf16" in flags else [])]
    found = [Contender(Runtime(name, "cpu", floats)) for name in (TORCH, OPENVINO) for floats in formats]
    if "avx512_vnni" in flags:
        int8 = [Runtime(OPENVINO, "cpu", floats, True) for floats in formats]
        found += [Contender(runtime, by_ranges) for runtime in int8 for by_ranges in (False, True)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the runtimes of the encoders side by side.")
    parser.add_argument("--data", type=Path, help="the data sets' folder; made-up texts without it")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    use_threads(1)
    texts = real(given.data, WORDS * 50) if given.data else generated(WORDS * 50)
    words = texts.text.split()
    passages = [" ".join(words[first : first + WORDS]) for first in range(0, WORDS * WINDOWS, WORDS)]
    asked = [(texts.questions[0], (passage,)) for passage in passages]
    windows = [cut[0] for cut in Windower(load_tokenizer(), LONGEST)(asked)]
    inputs = collate(windows, MINILM.pad, MINILM.typed)
    tensors = shipped_tensors()
    weight, bias = (as_array(tensors.pop(name).float()) for name in ("head.weight", "head.bias"))

    def scores(runtime: Runtime, layers: Layers) -> NDArray[np.float32]:
        given = inputs if runtime.name == OPENVINO else inputs.to(runtime.torch_device)
        with torch.inference_mode():
            found = layers(**given.named).last_hidden_state
        return as_array(fp32(found)) @ weight.T + bias  # type: ignore[no-any-return]

    times: dict[Contender, list[float]] = {contender: [] for contender in contenders()}
    ranges = shipped_ranges()
    layers = {
        one: run_backbone(MINILM, tensors, one.runtime, ranges if one.by_ranges else None) for one in times
    }
    exact = scores(*next((one.runtime, run) for one, run in layers.items()))
    for number in track(range(given.rounds + 1), "reading"):
        for contender, run in layers.items():
            begun = time.process_time()
            scores(contender.runtime, run)
            if number:  # the first is the one that warms up
                times[contender].append(1000 * (time.process_time() - begun))
    kept = np.ones(exact.shape[:2], dtype=np.bool_) if inputs.mask is None else inputs.mask == 1
    lengths = [len(window.ids) for window in windows]
    print(f"{machine()['processor']}; windows of {lengths} tokens, one thread")
    print(f"spread of scores {exact[kept].std():.2f}")
    for contender, run in layers.items():
        off = np.abs(scores(contender.runtime, run) - exact)[kept]
        print(
            f"{contender!s:58} {median(times[contender]):7.1f} ms"
            f"   scores off by {off.mean():.4f}, at most {off.max():.3f}"
        )


if __name__ == "__main__":
    main()

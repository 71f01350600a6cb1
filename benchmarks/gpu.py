"""Measures what a card does with our encoder, beside what it multiplies at best, and when it should search.

    python -m benchmarks.gpu [--data FOLDER] [--device cuda] [--rounds 20] [--most 2000000]

First the small cross-encoder by batch size: as it runs, with ``torch.compile``, and as a CUDA graph; tokens a
second, and the share of the peak, which is that of the layers' own products of matrices with nothing between
them. Then the answers of ``auto`` by how many questions are asked at once, and the exact search of the best
passages among vectors, on the card and by FAISS on the processor. It can be tried on a processor, too.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import faiss
import numpy as np
import torch
from rich.progress import Progress

from benchmarks.exported import shipped_tensors
from benchmarks.machine import commit, machine
from benchmarks.texts import generated, real
from encoders.backbone import MINILM, load_tokenizer
from encoders.cross_encoder import LONGEST, collate
from encoders.device import pick_dtype
from encoders.runtime import TORCH, Runtime, run_backbone
from encoders.windows import Window, Windower
from readers import open_reader
from readers.reading import Reading

WORDS = 200
BATCHES = (1, 4, 16, 64, 256)  # windows
QUESTIONS = (1, 8, 64)
PASSAGES = 5  # of a question
VECTORS = (2_000, 20_000, 200_000, 2_000_000)
FORMATS = {torch.bfloat16: "bf16", torch.float16: "fp16", torch.float32: "fp32"}


def seconds(run: Callable[[], object], device: torch.device, rounds: int) -> float:
    """The median time of a call, once it is warm, until the device has done it."""

    def once() -> float:
        begun = time.perf_counter()
        run()
        if device.type == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - begun

    for _ in range(3):
        once()
    return median(once() for _ in range(rounds))


def products(tokens: int, device: torch.device, dtype: torch.dtype) -> tuple[Callable[[], object], float]:
    """The products of one layer for so many tokens, without anything between them, and their operations."""
    width = MINILM.width
    sizes = [(width, 3 * width), (width, width), (width, 4 * width), (4 * width, width)]
    pairs = [
        (torch.randn(tokens, a, device=device, dtype=dtype), torch.randn(a, b, device=device, dtype=dtype))
        for a, b in sizes
    ]
    return lambda: [x @ w for x, w in pairs], sum(2.0 * tokens * a * b for a, b in sizes)


def as_graph(model: Any, inputs: dict[str, Any]) -> Callable[[], object]:
    """The model's call on these inputs, recorded once and replayed: nothing is launched one by one."""
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model(**inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        model(**inputs)
    return graph.replay


def encoding(
    windows: list[Window], largest: int, runtime: Runtime, rounds: int, done: Callable[[], None]
) -> None:
    """Prints a table of the encoder by batch size."""
    device = runtime.torch_device
    tensors = {name: one for name, one in shipped_tensors().items() if not name.startswith("head.")}
    model = run_backbone(MINILM, tensors, runtime)
    compiled = torch.compile(model, dynamic=True) if device.type == "cuda" else None
    layers = model.config.num_hidden_layers  # type: ignore[attr-defined]
    print("| windows | tokens | ms | tokens/s | of the peak | compiled, ms | as a graph, ms |")
    print("|---|---|---|---|---|---|---|")
    for count in BATCHES:
        if count > largest:
            break
        members = [windows[n % len(windows)] for n in range(count)]
        inputs = collate(members, MINILM.pad, MINILM.typed, multiple=8).to(device).named
        with torch.inference_mode():
            plain = seconds(lambda given=inputs: model(**given), device, rounds)  # type: ignore[misc]
            others = ["–", "–"]
            if compiled is not None:
                runs = (lambda given=inputs: compiled(**given)), as_graph(model, inputs)
                others = [f"{1000 * seconds(run, device, rounds):.2f}" for run in runs]
            padded = inputs["input_ids"].numel()
            run, operations = products(padded, device, runtime.dtype)
            peak = operations / seconds(run, device, rounds)
        reached = operations * layers / plain / peak
        print(
            f"| {count} | {padded} | {1000 * plain:.2f} | {padded / plain:,.0f} | {reached:.2f} "
            f"| {' | '.join(others)} |"
        )
        done()


def answering(
    questions: list[str], passages: list[str], largest: int, device: torch.device, done: Callable[[], None]
) -> None:
    """Prints questions a second by how many are asked at once."""
    reader = open_reader("auto")
    print("\n| questions at once | questions/s |\n|---|---|")
    for count in QUESTIONS:
        if count > largest:
            break
        readings = [
            Reading(questions[n % len(questions)], tuple(passages[n % 7 :: 7][:PASSAGES]))
            for n in range(count)
        ]
        took = seconds(lambda given=readings: reader.read(given), device, 3)  # type: ignore[misc]
        print(f"| {count} | {count / took:.1f} |")
        done()


def searching(most: int, device: torch.device, rounds: int, done: Callable[[], None]) -> None:
    """Prints the time of a search by the number of vectors."""
    rng = np.random.default_rng(1)
    print("\n| vectors | FAISS on the processor, ms | the device, ms |\n|---|---|---|")
    for count in (count for count in VECTORS if count <= most):
        vectors = rng.standard_normal((count, MINILM.width), dtype=np.float32)
        question = rng.standard_normal((1, MINILM.width), dtype=np.float32)
        index = faiss.IndexFlatIP(MINILM.width)
        index.add(vectors)
        there = torch.from_numpy(vectors).to(device)

        def search(there: torch.Tensor = there, question: Any = question) -> object:
            scores = there @ torch.from_numpy(question[0]).to(device)
            return scores.topk(5).indices.cpu()

        def by_faiss(index: Any = index, question: Any = question) -> object:
            return index.search(question, 5)

        cpu = torch.device("cpu")
        times = seconds(by_faiss, cpu, rounds), seconds(search, device, rounds)
        print(f"| {count:,} | {1000 * times[0]:.3f} | {1000 * times[1]:.3f} |")
        done()


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description="Measure what a card does with the encoder.")
    parser.add_argument("--data", type=Path, help="the data sets' folder; made-up texts without it")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--largest", type=int, default=BATCHES[-1], help="windows or questions at once")
    parser.add_argument("--most", type=int, default=VECTORS[-1], help="vectors to search")
    given = parser.parse_args()
    device = torch.device(given.device)
    runtime = Runtime(TORCH, device.type, FORMATS[pick_dtype(device)])
    texts = real(given.data, WORDS * 50) if given.data else generated(WORDS * 50)
    words = texts.text.split()
    passages = [" ".join(words[first : first + WORDS]) for first in range(0, WORDS * 50, WORDS)]
    asked = [(texts.questions[n % len(texts.questions)], (one,)) for n, one in enumerate(passages)]
    windows = [cut[0] for cut in Windower(load_tokenizer(), LONGEST)(asked)]
    print(f"{machine()['processor']}, {runtime}, commit {commit()}; {texts.name}\n")
    steps = sum(count <= given.largest for count in BATCHES + QUESTIONS)
    steps += sum(count <= given.most for count in VECTORS)
    with Progress(transient=True) as progress:
        task = progress.add_task("measuring", total=steps)

        def done() -> None:
            progress.advance(task)

        encoding(windows, given.largest, runtime, given.rounds, done)
        answering(list(texts.questions), passages, given.largest, device, done)
        searching(given.most, device, given.rounds, done)


if __name__ == "__main__":
    main()

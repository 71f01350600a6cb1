"""Measures how long commands take in a process of their own, and the service until it is ready.

    python -m benchmarks.start --store STORE --book ID [--rounds 5] [--against RUNTIME]

Each is run in turn, all again in every round; wall time. Of the service also the memory when it is ready: all
that is resident, and what other processes cannot share. ``--against`` runs everything in that runtime, too.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import httpx
import psutil  # type: ignore[import-untyped]
from rich.progress import track

from benchmarks.machine import machine
from encoders.runtime import VARIABLE

STORYQA = [sys.executable, "-c", "from service.cli import main; main()"]
QUESTION = "Who came to the door at night?"
MB = 1_000_000


def command_s(arguments: list[str], around: dict[str, str]) -> float:
    """Seconds that a command takes."""
    begun = time.perf_counter()
    done = subprocess.run([*STORYQA, *arguments], env=around, stdout=subprocess.DEVNULL)
    if done.returncode > 1:  # 1: no answer
        raise SystemExit(f"storyqa {' '.join(arguments)} ended with {done.returncode}")
    return time.perf_counter() - begun


def service(store: Path, around: dict[str, str]) -> tuple[float, float, float]:
    """Seconds until it is ready, and its memory then, resident and its own alone, in MB."""
    begun = time.perf_counter()
    arguments = ["serve", "--port", "0", "--store", str(store)]
    process = subprocess.Popen(
        [*STORYQA, *arguments],
        env=around,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        url = process.stdout.readline().split()[2]
        while True:
            try:
                if httpx.get(f"{url}/readyz").is_success:
                    break
            except httpx.TransportError:
                pass
            time.sleep(0.02)
        ready = time.perf_counter() - begun
        memory = psutil.Process(process.pid).memory_full_info()
        return ready, memory.rss / MB, memory.uss / MB
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure cold commands and the start of the service.")
    parser.add_argument("--store", type=Path, required=True, help="a store with a book")
    parser.add_argument("--book", required=True, help="the book's id")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", help="another runtime, such as torch")
    given = parser.parse_args()
    stored = ["--store", str(given.store)]
    commands = {
        "storyqa --help": ["--help"],
        "search --retriever bm25": ["search", given.book, QUESTION, "--retriever", "bm25", *stored],
        "ask": ["ask", given.book, QUESTION, *stored],
    }
    runtimes = {"": dict(os.environ)}
    if given.against:
        runtimes[f", {given.against}"] = {**os.environ, VARIABLE: given.against}
    seconds: dict[str, list[float]] = {}
    memory: dict[str, list[tuple[float, float]]] = {}
    for _ in track(range(given.rounds), "starting"):
        for which, around in runtimes.items():
            for name, arguments in commands.items():
                seconds.setdefault(name + which, []).append(command_s(arguments, around))
            ready, resident, own = service(given.store, around)
            seconds.setdefault("service ready" + which, []).append(ready)
            memory.setdefault("service ready" + which, []).append((resident, own))
    about = machine()
    print(f"{about['processor']}, {about['cores']} cores; models in {about['runtime']}")
    for name, times in seconds.items():
        print(f"{name:32} {median(times):5.2f} s")
    for name, held in memory.items():
        resident, own = (median(one[part] for one in held) for part in (0, 1))
        print(f"{name:32} {resident:5.0f} MB resident, {own:.0f} of them its own")


if __name__ == "__main__":
    main()

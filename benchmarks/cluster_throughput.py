"""How fast a list is indexed, and a benchmark answered, by a Ray cluster and by the same command without one.

    ray start --head --num-cpus 2
    python -m benchmarks.cluster_throughput auto --workers 2 --books 6 --words 20000 [--data FAIRYTALEQA]

The two take turns, with as many processes, on books made up from a seed. The cluster is there before: what is
measured is the whole command, starting of processes and loading of models with it.
"""

from __future__ import annotations

import argparse
import csv
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.texts import generated

STORYQA = [sys.executable, "-c", "from service.cli import main; main()"]


def seconds(arguments: list[str]) -> float:
    """How long the command takes."""
    began = time.perf_counter()
    subprocess.run([*STORYQA, *arguments], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def compare(what: str, amount: int, rounds: int, alone: list[str], on_ray: list[str], folder: Path) -> None:
    """Print what both commands do a second; each run has a store or a run of its own."""
    found: dict[str, list[float]] = {"alone": [], "ray": []}
    for number in range(rounds):
        for name, arguments in (("alone", alone), ("ray", on_ray)):
            fresh = str(folder / f"{name}-{number}-{amount}")
            found[name].append(seconds([one.replace("FRESH", fresh) for one in arguments]))
            print(f"{name}: {amount / found[name][-1]:,.1f} {what}/s", flush=True)
    ratios = [one / other for one, other in zip(found["alone"], found["ray"], strict=True)]
    print(f"Ray does {statistics.median(ratios):.2f} of {what}/s, median of {rounds} rounds: {ratios}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("address", help="of the cluster")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--books", type=int, default=6)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", help="the folder of FairytaleQA, to measure evaluating as well")
    parser.add_argument("--limit", type=int, default=192, help="questions")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with (folder / "books.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["path"])
            for number in range(given.books):
                (folder / f"{number}.txt").write_text(generated(given.words, seed=number).text, "utf-8")
                rows.writerow([f"{number}.txt"])
        index = ["index", "--manifest", str(folder / "books.csv"), "--store", "FRESH"]
        index += ["--workers", str(given.workers)]
        words = given.books * given.words
        compare("words", words, given.rounds, index, [*index, "--ray", given.address], folder)
        if given.data:
            ask = ["evaluate", "fairytaleqa", "--data", given.data, "--setting", "sections", "--no-mrr"]
            ask += ["--limit", str(given.limit), "--out", "FRESH"]
            compare("questions", given.limit, given.rounds, ask, [*ask, "--ray", given.address], folder)


if __name__ == "__main__":
    main()

"""How fast a list is indexed, and a benchmark answered, by a Ray cluster and by the same command without one.

    RAY_worker_niceness=0 ray start --head --num-cpus 2
    python -m benchmarks.cluster_throughput auto --workers 2 --books 6 --words 20000 [--data FAIRYTALEQA]

The two take turns, with as many processes, on books made up from a seed. The cluster is there before: what is
measured is the whole command, starting of processes and loading of models with it.

    python -m benchmarks.cluster_throughput auto --serve --workers 1 [--reader overlap]

asks ``storyqa serve`` and ``serve run`` in turn instead, each question once, ``--clients`` at once. The
cluster needs the environment of this command, with OMP_NUM_THREADS=1, and PYTHONPATH where that is set.
"""

from __future__ import annotations

import argparse
import csv
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from random import Random

import yaml  # type: ignore[import-untyped]

from answering.book_qa import Ask
from benchmarks.load import closed, summary
from benchmarks.serving import serve, wait_for
from benchmarks.texts import generated
from readers import DEFAULT_READER

DEPLOY = Path(__file__).parents[1] / "deploy" / "ray"
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


@contextmanager
def on_ray(address: str, replicas: int, settings: Mapping[str, str], folder: Path) -> Iterator[str]:
    """The address at which ``serve run`` answers with so many replicas and one router, once it is ready."""
    config = yaml.safe_load((DEPLOY / "serve.yaml").read_text("utf-8"))
    [application] = config["applications"]
    application["runtime_env"]["env_vars"] = dict(settings)
    application["args"] = {"replicas": replicas}
    del application["deployments"]
    (folder / "serve.yaml").write_text(yaml.safe_dump(config), "utf-8")
    program = str(Path(sys.executable).with_name("serve"))
    process = subprocess.Popen(
        [program, "run", "--address", address, str(folder / "serve.yaml")],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = "http://127.0.0.1:{port}".format_map(config["http_options"])
    try:
        wait_for(f"{url}/readyz", process)
        yield url
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def compare_serving(given: argparse.Namespace, asks: list[Ask], store: Path, folder: Path) -> None:
    """Print what both answer a second, and how long an answer takes."""
    settings = {
        "STORYQA_STORE": str(store),
        "STORYQA_STATE": str(folder / "state"),
        "STORYQA_RETRIEVER": given.retriever,
        "STORYQA_READER": given.reader,
        "STORYQA_ANSWER_CACHE_MB": "0",
    }
    alone, url = serve(store, given.workers, settings)
    try:
        with on_ray(given.address, given.workers, settings, folder) as ray_url:
            for one in (url, ray_url):
                closed(one, asks[-32:], given.clients)  # every process has every book open
            ratios = []
            for number in range(given.rounds):
                rates = []
                part = asks[number * given.limit : (number + 1) * given.limit]
                for name, one in (("alone", url), ("ray", ray_url)):
                    began = time.perf_counter()
                    outcomes = closed(one, part, given.clients)
                    seen = summary(outcomes, time.perf_counter() - began)
                    rates.append(seen.answered_per_s)
                    print(f"{name}: {seen}", flush=True)
                ratios.append(rates[1] / rates[0])
    finally:
        alone.terminate()
        alone.wait()
    print(f"Ray Serve does {statistics.median(ratios):.2f} of questions/s, median of {ratios}")


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("address", help="of the cluster")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--books", type=int, default=6)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", help="the folder of FairytaleQA, to measure evaluating as well")
    parser.add_argument("--limit", type=int, default=192, help="questions, of each round")
    parser.add_argument("--serve", action="store_true", help="compare the services")
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--retriever", default="bm25")
    parser.add_argument("--reader", default=DEFAULT_READER)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with (folder / "books.csv").open("w", newline="") as file:
            rows = csv.writer(file)
            rows.writerow(["path"])
            texts = [generated(given.words, seed=number) for number in range(given.books)]
            for number, text in enumerate(texts):
                (folder / f"book-{number}.txt").write_text(text.text, "utf-8")
                rows.writerow([f"book-{number}.txt"])
        index = ["index", "--manifest", str(folder / "books.csv"), "--store", "FRESH"]
        index += ["--workers", str(given.workers)]
        if given.serve:
            store = folder / "store"
            seconds([one.replace("FRESH", str(store)) for one in index])
            asks = [
                Ask(f"book-{number}", question, retriever=given.retriever, reader=given.reader)
                for number, text in enumerate(texts)
                for question in text.questions
            ]
            Random(0).shuffle(asks)
            compare_serving(given, asks, store, folder)
            return
        words = given.books * given.words
        compare("words", words, given.rounds, index, [*index, "--ray", given.address], folder)
        if given.data:
            ask = ["evaluate", "fairytaleqa", "--data", given.data, "--setting", "sections", "--no-mrr"]
            ask += ["--limit", str(given.limit), "--out", "FRESH"]
            compare("questions", given.limit, given.rounds, ask, [*ask, "--ray", given.address], folder)


if __name__ == "__main__":
    main()

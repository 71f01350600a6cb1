"""Measures the answers of the shipped models, small and large: every table of docs/results.md.

    python -m benchmarks.answers --data DIR [--out FOLDER] [--sizes small] [--only one-book stories]

DIR holds ``fairytaleqa``, ``narrativeqa``, ``squad`` and ``mctest``, each in its publisher's layout. Two
cores with AMX take some hour and a half, most of it for the large models. What ``storyqa evaluate``
says is left in a folder named after the commit, so that a run that was stopped goes on, and what the tables
need of it in docs/answers.json, of which they are written.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks import answer_tables, kept_answers
from benchmarks.machine import commit, machine
from encoders.sizes import LARGE, STORY

ROOT = Path(__file__).parent.parent
SIZES = ("small", LARGE)
_ONE_BOOK = "fairytaleqa --data {data}/fairytaleqa --setting collection --no-mrr --split"
_HALF_B = "narrativeqa --data {data}/narrativeqa --split valid --half B --no-mrr --setting"
_MCTEST = "mctest --data {data}/mctest/MCTest --split dev --set both"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What ``storyqa evaluate`` is asked, by which models, about books indexed by which encoder."""

    name: str
    asked: str
    sizes: tuple[str, ...] = SIZES
    encoder: str = STORY

    def arguments(self, data: Path) -> list[str]:
        """The command's words behind ``storyqa``."""
        return ["evaluate", *(word.replace("{data}", str(data)) for word in self.asked.split()), "--json"]


def _held_out(size: str, retriever: str, encoder: str) -> Measurement:
    asked = f"{_ONE_BOOK} train --held-out --retriever {retriever} --reader overlap"
    return Measurement(answer_tables.searched(retriever, encoder), asked, (size,), encoder)


MEASUREMENTS = (
    Measurement("sections", "fairytaleqa --data {data}/fairytaleqa --split val --setting sections --no-mrr"),
    Measurement("summaries", f"{_HALF_B} summaries"),
    Measurement("squad", "squad --data {data}/squad --limit 4000"),
    Measurement("domains", "domains"),
    Measurement("one-book", f"{_ONE_BOOK} val"),
    Measurement("stories", f"{_HALF_B} stories"),
    Measurement(answer_tables.searched("one-book", LARGE), f"{_ONE_BOOK} val", (LARGE,), LARGE),
    *(_held_out(*row) for row in answer_tables.SEARCHES),
    Measurement("mctest", _MCTEST),
    Measurement("mctest-span", f"{_MCTEST} --reader span", ("small",)),
    Measurement("mctest-overlap", f"{_MCTEST} --reader overlap", ("small",)),
    Measurement("figure", "natural --data {data}/narrativeqa --half figure"),
    Measurement("choose", "natural --data {data}/narrativeqa --half choose"),
    Measurement(
        "unanswerable",
        "unanswerable --benchmark fairytaleqa --data {data}/fairytaleqa --split val --limit 400",
    ),
)

NAMES = tuple(dict.fromkeys(one.name for one in MEASUREMENTS))


def measure(
    data: Path, out: Path, sizes: Sequence[str] = SIZES, names: Container[str] = NAMES
) -> dict[str, dict[str, Any]]:
    """What each measurement of these says, by size and name; those that stand in ``out`` are not made again.

    Raises RuntimeError with the command's last words where one fails.
    """
    console = Console(stderr=True)
    found: dict[str, dict[str, Any]] = {size: {} for size in sizes}
    for size in sizes:
        for one in MEASUREMENTS:
            if size not in one.sizes or one.name not in names:
                continue
            path = out / f"{size}-{one.name}.json"
            if not path.exists():
                console.print(f"{datetime.now():%H:%M:%S} {size} {one.name}")
                path.write_text(_ask(one, size, data, path.with_suffix("")), encoding="utf-8")
            found[size][one.name] = json.loads(path.read_text(encoding="utf-8"))
    return found


def _ask(one: Measurement, size: str, data: Path, folder: Path) -> str:
    """What the command prints; its run is left in ``folder``, which is its own."""
    folder.mkdir(exist_ok=True)
    arguments = one.arguments(data)
    command = [sys.executable, "-c", "from service.cli import main; main()", *arguments]
    around = {**os.environ, "STORYQA_SIZE": size, "STORYQA_ENCODER": one.encoder}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=around)
    if done.returncode:
        raise RuntimeError(f"storyqa {' '.join(arguments)} failed:\n{done.stderr[-2000:]}")
    return done.stdout


def _where() -> Mapping[str, str]:
    """When, of which commit and on what it is measured, kept with the first of the figures."""
    host = machine()
    on = f"{host['cores']} cores of {host['processor']} ({host['instructions']})"
    return {
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "commit": commit(),
        "machine": on,
        "runtime": host["runtime"],
    }


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description="Measure the answers of the shipped models.")
    parser.add_argument("--data", type=Path, required=True, help="the folder with the data sets")
    parser.add_argument("--out", type=Path, help="the folder for what is measured [runs/answers/COMMIT]")
    parser.add_argument("--sizes", nargs="+", choices=SIZES, default=SIZES, help="of which models")
    parser.add_argument("--only", nargs="+", choices=NAMES, default=NAMES, help="which measurements")
    given = parser.parse_args()
    out = given.out or ROOT / "runs" / "answers" / commit()
    out.mkdir(parents=True, exist_ok=True)
    where = out / "machine.json"
    if not where.exists():
        where.write_text(json.dumps(_where(), indent=1) + "\n", encoding="utf-8")
    found = measure(given.data.absolute(), out, given.sizes, given.only)
    docs = ROOT / "docs"
    answer_tables.write(kept_answers.keep(found, json.loads(where.read_text(encoding="utf-8")), docs), docs)


if __name__ == "__main__":
    main()

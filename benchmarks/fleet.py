"""A fleet of replicas behind the proxy's ring, simulated: hit rates, latency, use of the store, and cost.

    python -m benchmarks.fleet --books 1000000 --replicas 8 --rate 4 [--times FILE] [--mtbf 86400 ..]

Questions come by Poisson, or from ``--clients`` that each wait for their answer; books are as popular as
Zipf's law has it, and so are the questions about a book. A replica keeps answers, open books and copies on
its disk, the ones used last; one thread answers what waits in batches, books are opened beside it. Where it
dies, what it was at is asked once more at the next on the ring, its disk stays, and its memory is lost.

Not in it: the network, processors that replicas share, batches that are faster than their questions.
Prices are those given, and examples where they are not. ``--times`` is what ``benchmarks.fleet_measured``
writes; without it, times are those that docs/scale.md has.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from benchmarks.fleet_replica import Times
from benchmarks.fleet_run import Fleet, Outcome, simulate

MONTH_S = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class Prices:
    """What things cost, in one currency; these are examples for the arithmetic, and nobody's price list."""

    replica_hour: float = 0.10
    million_requests: float = 0.40
    gigabyte_month: float = 0.023


def cost_of_1000(outcome: Outcome, fleet: Fleet, book_bytes: int, prices: Prices) -> dict[str, float]:
    """What 1,000 answers cost by ``prices``: replicas, requests to the store, and keeping all books in it."""
    thousands = max(1, outcome.answered) / 1000
    parts = {
        "replicas": fleet.replicas * outcome.seconds / 3600 * prices.replica_hour,
        "requests": outcome.store_requests / 1e6 * prices.million_requests,
        "store": fleet.books * book_bytes / 1e9 * prices.gigabyte_month * outcome.seconds / MONTH_S,
    }
    costs = {name: part / thousands for name, part in parts.items()}
    return costs | {"all": sum(costs.values())}


def read_times(file: Path | None) -> Times:
    """The times that a measurement wrote, in seconds; those of ``Times`` where there is no ``file``."""
    if file is None:
        return Times()
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))["times"]
    wanted = {field.name for field in fields(Times)}
    if set(found) != wanted:
        raise ValueError(f"{file} has the times {sorted(found)}; wanted {sorted(wanted)}")
    return Times(**found)


def main() -> None:
    """Print what was simulated as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    defaults, prices = Fleet(), Prices()
    for field in fields(Fleet):
        value = getattr(defaults, field.name)
        kind = float if value is None else type(value)
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=value)
    for field in fields(Prices):
        parser.add_argument(
            f"--{field.name.replace('_', '-')}", type=float, default=getattr(prices, field.name)
        )
    parser.add_argument("--book-bytes", type=int, default=4_400_000, help="of the index of a book")
    parser.add_argument("--disk-mb", type=int, help="of copies a replica keeps, in place of --disk-books")
    parser.add_argument("--open-mb", type=int, help="of open books a replica keeps, in place of --open-books")
    parser.add_argument("--fetch-s", type=float, help="what bringing a book from the store takes")
    parser.add_argument("--times", type=Path, help="a file of benchmarks.fleet_measured")
    given = vars(parser.parse_args())
    fleet = Fleet(**{field.name: given[field.name] for field in fields(Fleet)})
    for name, megabytes in (("disk_books", given["disk_mb"]), ("open_books", given["open_mb"])):
        if megabytes is not None:
            fleet = replace(fleet, **{name: max(1, megabytes * 2**20 // given["book_bytes"])})
    times = read_times(given["times"])
    if given["fetch_s"] is not None:
        times = replace(times, fetch_s=(given["fetch_s"],))
    outcome = simulate(fleet, times)
    costs = cost_of_1000(
        outcome,
        fleet,
        given["book_bytes"],
        Prices(**{field.name: given[field.name] for field in fields(Prices)}),
    )
    costs = {name: round(cost, 6) for name, cost in costs.items()}
    print(json.dumps({"fleet": asdict(fleet), **outcome.summary(), "cost_of_1000": costs}, indent=1))


if __name__ == "__main__":
    main()

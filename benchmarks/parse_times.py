"""Whether each parser's time is in proportion to the size of what it reads, up to 10 MB of hostile input.

``python -m benchmarks.parse_times`` reads every known shape and ``--shapes`` made-up ones of each kind with
0.1, 1 and 10 million characters and prints what that took of the processor. Exit code 1 where ten times as
much took more than ``MOST`` times as long.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Iterator
from itertools import pairwise

from benchmarks.hostile import FRAGMENTS, KNOWN, Shape, seconds

SIZES = (100_000, 1_000_000, 10_000_000)
MOST = 20  # what takes quadratic time takes a hundred
LEAST_S = 0.05  # below it the clock says little


def shapes(kind: str, made_up: int, seed: int) -> Iterator[Shape]:
    """The known shapes of a kind, and as many more that chance makes."""
    yield from KNOWN[kind]
    chance = random.Random(f"{kind} {seed}")
    for _ in range(made_up):
        fragments = tuple(chance.choices(FRAGMENTS[kind], k=chance.randint(1, 4)))
        before, after = chance.choices(("", "a", "\n\n", *FRAGMENTS[kind]), k=2)
        yield Shape(fragments, chance.random() < 0.5, before, after)


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shapes", type=int, default=20, help="made-up shapes of each kind")
    parser.add_argument("--seed", type=int, default=20)
    arguments = parser.parse_args()
    findings = 0
    for kind in FRAGMENTS:
        slowest = 0.0
        for shape in shapes(kind, arguments.shapes, arguments.seed):
            times = [seconds(kind, shape.text(size)) for size in SIZES]
            slowest = max(slowest, times[-1])
            if any(after > MOST * max(before, LEAST_S) for before, after in pairwise(times)):
                findings += 1
                print(f"{kind}: {' '.join(f'{one:.2f} s' for one in times)} for {shape}", flush=True)
        print(f"{kind}: at most {slowest:.1f} s for {SIZES[-1] / 1e6:g} million characters", flush=True)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

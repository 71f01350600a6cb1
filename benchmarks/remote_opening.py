"""Opening a book of an object store beside one of a folder: with no copy on this machine, and with one.

    AWS_ENDPOINT_URL=http://127.0.0.1:8333 .. python -m benchmarks.remote_opening s3://BUCKET/PREFIX \
        [--words 100000] [--rounds 30]

The book is of made-up prose, and stays under the prefix. ``transfer`` fetches its objects and does nothing
with them. ``cold`` and ``warm_new_store`` make the store, too, as a new process does. Turns alternate.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.texts import generated
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.copying import copy_books
from indexing.object_store.bucket_store import BucketStore
from indexing.store import IndexStore

_ID = "opening"


def main() -> None:
    """Print the medians in milliseconds as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("address")
    parser.add_argument("--words", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    text = generated(given.words, seed=2).text
    with tempfile.TemporaryDirectory() as temporary:
        scratch = Path(temporary)
        folder = IndexStore(scratch / "folder")
        build_book(Book(_ID, "Opening", text, "benchmark"), BuildSettings(), folder)
        caches = (scratch / f"cold-{number}" for number in range(given.rounds + 1))

        def remote(cache: Path) -> BucketStore:
            return BucketStore(given.address, cache, 2**32)

        [copied] = copy_books(folder, remote(scratch / "warm"), [_ID])
        assert copied.status != "failed", copied.message
        pointer = remote(scratch / "warm").pointers.get(f"books/{_ID}")
        assert pointer is not None

        def transfer() -> None:
            bucket = remote(scratch / "unused").bucket
            bucket.together(bucket.get, [pointer.pack_key, pointer.manifest_key])

        kept = remote(scratch / "warm")
        ways: dict[str, Callable[[], object]] = {
            "folder": lambda: IndexStore(folder.root).open(_ID),
            "warm": lambda: kept.open(_ID),
            "warm_new_store": lambda: remote(scratch / "warm").open(_ID),
            "cold": lambda: remote(next(caches)).open(_ID),
            "transfer": transfer,
        }
        times: dict[str, list[float]] = {name: [] for name in ways}
        for number in range(given.rounds + 1):
            for name, way in ways.items():
                began = time.perf_counter()
                way()
                if number:  # the first round imports what the others have
                    times[name].append(1000 * (time.perf_counter() - began))
        medians = {name: round(statistics.median(one), 1) for name, one in times.items()}
        print(json.dumps({"machine": machine(), "bytes": copied.bytes, "words": given.words, "ms": medians}))


if __name__ == "__main__":
    main()

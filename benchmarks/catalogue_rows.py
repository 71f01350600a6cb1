"""What the list of a bucket's books takes of a process: memory and time, by how many books it has.

    AWS_ENDPOINT_URL=http://127.0.0.1:8333 .. python -m benchmarks.catalogue_rows s3://BUCKET/PREFIX \
        [--rows 10000 1000000]

Rows are made up, and written as those who index write them; one book is real, and stays under the prefix.
Each call is made three times by a process of its own: ``first_s`` with no copy of the shards on the disk,
``copied_s`` with one as a new process has it, ``again_s`` in the process that has made it just before.
``held_mb`` is what the process holds afterwards beyond what it held before, and ``peak_mb`` the most.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import asdict
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]

from benchmarks.machine import machine
from benchmarks.texts import generated
from indexing.book import Book
from indexing.build import BuildSettings, build_book
from indexing.card import BookCard
from indexing.copying import copy_books
from indexing.errors import UnknownBook
from indexing.object_store.bucket_store import BucketStore
from indexing.object_store.catalogue_shards import CURRENT, FORMAT, put_shard, row_of
from indexing.store import IndexStore

_ID = "the-real-one"
_PAGE = 100
_SHARD = 100_000


def _rows(count: int) -> Iterator[dict[str, Any]]:
    for number in range(count):
        card = BookCard(
            id=f"a-book-of-some-length-{number:07}",
            title=f"A Book of Some Length, the {number:,}th of Them",
            author=f"Somebody Whoever {number % 9973}",
            language="en",
            source=f"a-book-of-some-length-{number:07}.epub",
            version=f"{number:012x}",
            characters=550_000 + number,
            words=100_000 + number,
            passages=500,
            has_cover=False,
            built_at="2026-01-01T00:00:00+00:00",
        )
        yield row_of(number + 1, f"{number:012x}-{number:08x}", card)


def _stock(store: BucketStore, count: int) -> None:
    """Give the empty ``store`` a list of ``count`` books that are not there, and one that is."""
    rows, shards = _rows(count), []
    while part := list(islice(rows, _SHARD)):
        shards.append(asdict(put_shard(store.bucket, part)))
    content = {"format": FORMAT, "token": "0" * 16, "shards": shards}
    assert store.bucket.replace(CURRENT, store.bucket.get(CURRENT), json.dumps(content).encode())
    with tempfile.TemporaryDirectory() as folder:
        here = IndexStore(folder)
        build_book(Book(_ID, "The real one", generated(2000).text, "benchmark"), BuildSettings(), here)
        [copied] = copy_books(here, store, [_ID])
    assert copied.status != "failed", copied.message


def _unknown(store: BucketStore) -> None:
    with suppress(UnknownBook):
        store.current("no-such-book")


CALLS: dict[str, Callable[[BucketStore], object]] = {
    "one book": lambda store: store.open(_ID),
    "a book that is not there": _unknown,
    f"a page of {_PAGE}": lambda store: store.cards("a-book-of-some-length-0005000", _PAGE),
    "all ids": lambda store: store.ids(),
    "all builds, for *": lambda store: store.builds(),
    "all cards": lambda store: store.cards(),
}


def _measured(address: str, cache: Path, name: str) -> dict[str, float]:
    """In a process of its own: the call once, and again."""
    store = BucketStore(address, cache, 2**32)
    for warm in (lambda: store.holds(_ID), lambda: __import__("pyarrow.parquet")):
        warm()
    process = psutil.Process()
    before = process.memory_info().rss
    took = []
    for _ in range(2):
        began = time.perf_counter()
        CALLS[name](store)
        took.append(time.perf_counter() - began)
    gc.collect()
    return {
        "first_s": took[0],
        "again_s": took[1],
        "held_mb": (process.memory_info().rss - before) / 2**20,
        "peak_mb": _peak_bytes() / 2**20 - before / 2**20,
    }


def _peak_bytes() -> int:
    """The most that this process has held; what ``getrusage`` says begins with what its parent held."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def _apart(address: str, cache: Path, name: str) -> dict[str, float]:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_measured, address, cache, name).result()


def main() -> None:
    """Print a line of JSON for each number of rows and call."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("address")
    parser.add_argument("--rows", type=int, nargs="+", default=[10_000, 1_000_000])
    given = parser.parse_args()
    print(json.dumps(machine()))
    with tempfile.TemporaryDirectory() as folder:
        for count in given.rows:
            address, scratch = f"{given.address}/rows-{count}", Path(folder) / str(count)
            store = BucketStore(address, scratch / "stock", 2**32)
            if store.bucket.get(CURRENT) is None:
                _stock(store, count)
            began = time.perf_counter()
            store.list_anew(from_builds=False)
            merging = round(time.perf_counter() - began, 2)
            print(json.dumps({"rows": count, "call": "merging a change", "first_s": merging}), flush=True)
            for number, name in enumerate(CALLS):
                cold = _apart(address, scratch / str(number), name)
                copied = _apart(address, scratch / str(number), name)
                figures = cold | {"copied_s": copied["first_s"]}
                line = {"rows": count, "call": name} | {key: round(one, 4) for key, one in figures.items()}
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()

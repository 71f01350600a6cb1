"""The list of a bucket's books: parquet shards in the order of the ids, and the changes since then.

Of the shards a process keeps ids, builds and numbers, some 70 bytes a book, as columns and not as objects of
Python; what else is said of books is read from the copies on the disk, a page at a time.

``catalogue/current`` names the shards, ``catalogue/shards/`` holds them and ``catalogue/changes/`` a small
object for each publication, put there before the pointer is: so no book that serves is ever missing from the
list, and what was noted but never published is left out when the changes are merged into the shards.
"""

from __future__ import annotations

import hashlib
import json
import logging
import secrets
import threading
import time
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexing.card import BookCard
from indexing.errors import IndexMismatch, StoreUnreachable
from indexing.object_store.bucket import Bucket
from indexing.object_store.build_cache import BuildCache
from indexing.object_store.catalogue_shards import (
    CHANGES,
    CURRENT,
    Change,
    Shard,
    card_of,
    damaged,
    parsed_change,
    parsed_shards,
    place_of,
)

if TYPE_CHECKING:
    import pyarrow
    import pyarrow.parquet

MANY_CHANGES = 200  # of which a list takes a second or so to read
_FRESH_S = 1.0
_FILE = "shard.parquet"
_KEPT = ("id", "build", "number")  # columns, in memory

log = logging.getLogger(__name__)


class Catalogue:
    """The list that lies in ``bucket``, its shards copied to ``cache``; good for a second once read."""

    def __init__(self, bucket: Bucket, cache: BuildCache) -> None:
        self._bucket = bucket
        self._cache = cache
        self._tables: dict[str, pyarrow.Table] = {}
        self._changes: dict[str, Change] = {}
        self._known: tuple[tuple[Sequence[Shard], Sequence[Change]], dict[str, str]] | None = None
        self._read_at = float("-inf")
        self._shards: Sequence[Shard] = ()
        self._lock = threading.Lock()

    def ids(self, start: str = "", most: int | None = None) -> list[str]:
        """The ids of all books, sorted; of those from ``start`` on, at most ``most``."""
        shards, changes = self._read()
        later = self._later(shards, changes)
        found = [id for id, change in later.items() if change.build is not None and id >= start]
        for shard, first, count in self._spans(shards, start, most, later):
            found += [id for id in self._column(shard, "id", first, count) if id not in later]
        return sorted(found)[:most]

    def builds(self, of: Collection[str] | None = None) -> dict[str, str]:
        """The names of the builds that serve, by id, sorted; of those of the ids ``of`` alone."""
        state = self._read()
        if of is not None:
            return self._builds_of(set(of), *state)
        if self._known is None or self._known[0] != state:  # of a million books it takes seconds to make
            found: dict[str, str | None] = {}
            for shard in state[0]:
                found.update(zip(self._column(shard, "id"), self._column(shard, "build"), strict=True))
            for id, change in self._later(*state).items():
                found[id] = change.build
            self._known = state, {id: build for id, build in sorted(found.items()) if build is not None}
        return dict(self._known[1])

    def cards(self, start: str = "", most: int | None = None) -> list[BookCard]:
        """What is said of each book that ``ids`` gives, in their order."""
        shards, changes = self._read()
        later = self._later(shards, changes)
        cards = [one.card for one in later.values() if one.card is not None and one.id >= start]
        for shard, first, count in self._spans(shards, start, most, later):
            cards += [card_of(row) for row in self.rows(shard, first, count) if row["id"] not in later]
        return sorted(cards, key=lambda card: card.id)[:most]

    def note(self, change: Change) -> str:
        """Have the list say what is about to be true; the key by which that is taken back."""
        key = f"{CHANGES}{change.number:020d}-{secrets.token_hex(8)}"
        self._bucket.put(key, json.dumps(asdict(change)).encode())
        self.forget()
        return key

    def take_back(self, key: str) -> None:
        """Forget what was noted and did not come true."""
        self._bucket.delete([key])
        self.forget()

    def changes(self) -> int:
        """How many changes have not been merged into the shards."""
        return sum(1 for _ in self._bucket.listed(CHANGES))

    def shard_keys(self) -> set[str]:
        """The objects that hold the list."""
        return {shard.key for shard in parsed_shards(self._bucket.get(CURRENT))}

    def _later(self, shards: Sequence[Shard], changes: Sequence[Change]) -> dict[str, Change]:
        """The last change of each book, unless what the shards have of it is later.

        It is where the change was merged after it was listed, and before the shards were read.
        """
        later = {change.id: change for change in sorted(changes, key=lambda one: one.number)}
        for id in list(later) if shards else ():
            shard = shards[place_of(id, shards)]
            at = self._at(shard, id)
            if self._column(shard, "id", at, 1) == [id]:
                [number] = self._column(shard, "number", at, 1)
                if later[id].number <= number:
                    del later[id]
        return later

    def _builds_of(
        self, wanted: set[str], shards: Sequence[Shard], changes: Sequence[Change]
    ) -> dict[str, str]:
        import pyarrow as pa
        import pyarrow.compute as pc

        later = self._later(shards, changes)
        found = {id: later[id].build for id in wanted & later.keys()}
        asked = pa.array(sorted(wanted - later.keys()), pa.string())
        for shard in shards if len(asked) else ():
            table = self._table(shard)
            there = table.filter(pc.is_in(table["id"], value_set=asked))
            found.update(zip(there["id"].to_pylist(), there["build"].to_pylist(), strict=True))
        return {id: build for id, build in sorted(found.items()) if build is not None}

    def _spans(
        self, shards: Sequence[Shard], start: str, most: int | None, later: Collection[str]
    ) -> Iterator[tuple[Shard, int, int]]:
        """Where rows from ``start`` on lie: shard, first and count; ``most`` beside those in ``later``."""
        wanted = sum(shard.rows for shard in shards) if most is None else most + len(later)
        for shard in shards[place_of(start, shards) :]:
            if wanted == 0:
                return
            first = self._at(shard, start)
            count = min(wanted, shard.rows - first)
            if count > 0:
                yield shard, first, count
                wanted -= count

    def _at(self, shard: Shard, id: str) -> int:
        """How many rows of the shard come before ``id``."""
        return bisect_left(self._table(shard)["id"], id, key=lambda one: one.as_py())

    def _column(self, shard: Shard, name: str, first: int = 0, count: int | None = None) -> list[Any]:
        column: list[Any] = self._table(shard)[name].slice(first, count).to_pylist()
        return column

    def _read(self) -> tuple[Sequence[Shard], Sequence[Change]]:
        with self._lock:
            if time.monotonic() - self._read_at > _FRESH_S:
                try:
                    # Changes first: those that are merged meanwhile are in the shards that are read then.
                    keys = [one.key for one in self._bucket.listed(CHANGES)]
                    self._changes = self.read_changes(keys)
                    self._shards = parsed_shards(self._bucket.get(CURRENT))
                except StoreUnreachable:
                    if self._read_at == float("-inf"):
                        raise
                self._read_at = time.monotonic()
            return self._shards, list(self._changes.values())

    def read_changes(self, keys: Sequence[str], whole: bool = True) -> dict[str, Change]:
        """Those of the changes that are still there, by their keys.

        Raises IndexMismatch where one is damaged; unless all have to be ``whole`` it is left out, and logged.
        """
        known = self._changes
        fresh = [key for key in keys if key not in known]
        found = {key: known[key] for key in keys if key in known}
        for key, kept in zip(fresh, self._bucket.together(self._bucket.get, fresh), strict=True):
            try:
                if kept is not None:
                    found[key] = parsed_change(kept)
            except IndexMismatch as error:
                if whole:
                    raise
                log.warning("%s: %s", key, error)
        return found

    def rows(self, shard: Shard, first: int = 0, count: int | None = None) -> list[dict[str, Any]]:
        """``count`` rows of a shard from the ``first`` on, or all."""
        file = self._file(shard)
        end = shard.rows if count is None else first + count
        groups, before, at = [], 0, 0
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            if at + rows <= first:
                before = at + rows
            elif at < end:
                groups.append(group)
            at += rows
        table = file.read_row_groups(groups).slice(first - before, end - first)
        found: list[dict[str, Any]] = table.to_pylist()
        return found

    def _table(self, shard: Shard) -> pyarrow.Table:
        """The columns that are kept in memory."""
        if shard.sha256 not in self._tables:
            table = self._file(shard).read(columns=list(_KEPT)).combine_chunks()
            named = {one.sha256 for one in self._shards} | {shard.sha256}
            self._tables = {sha: one for sha, one in self._tables.items() if sha in named}
            self._tables[shard.sha256] = table
        return self._tables[shard.sha256]

    def _file(self, shard: Shard) -> pyarrow.parquet.ParquetFile:
        """The copy of a shard on this machine, read into memory and found whole."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        content = (self._copy(shard) / _FILE).read_bytes()
        if hashlib.sha256(content).hexdigest() != shard.sha256:
            self._cache.drop(shard.sha256)  # the copy is damaged; another will do
            content = (self._copy(shard) / _FILE).read_bytes()
        return pq.ParquetFile(pa.BufferReader(content))

    def _copy(self, shard: Shard) -> Path:
        def fetch(folder: Path) -> None:
            try:
                sha256 = self._bucket.download(shard.key, folder / _FILE)
            except FileNotFoundError as error:
                raise damaged(f"{shard.key} is missing") from error
            if sha256 != shard.sha256:
                raise damaged(f"{shard.key} is damaged (its SHA-256 differs)")

        return self._cache.get(shard.sha256, fetch)

    def forget(self) -> None:
        """Read the list anew when it is asked for next."""
        with self._lock:
            if self._read_at != float("-inf"):
                self._read_at = time.monotonic() - 2 * _FRESH_S

"""The list of a bucket's books: parquet shards in the order of the ids, and the changes since then.

``catalogue/current`` names the shards, ``catalogue/shards/`` holds them and ``catalogue/changes/`` a small
object for each publication, put there before the pointer is: so no book that serves is ever missing from the
list, and what was noted but never published is left out when the changes are merged into the shards.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexing.card import BookCard
from indexing.errors import StoreUnreachable
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
)

if TYPE_CHECKING:
    import pyarrow

MANY_CHANGES = 200  # of which a list takes a second or so to read
_FRESH_S = 1.0
_FILE = "shard.parquet"


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

    def ids(self) -> list[str]:
        """The ids of all books, sorted."""
        return list(self.builds())

    def builds(self) -> dict[str, str]:
        """The names of the builds that serve, by id, sorted."""
        state = self._read()
        if self._known is None or self._known[0] != state:  # of a million books it takes seconds to make
            found: dict[str, str | None] = {}
            for shard in state[0]:
                found.update(zip(*self._columns(shard, "id", "build"), strict=True))
            for id, change in self._later(*state).items():
                found[id] = change.build
            self._known = state, {id: build for id, build in sorted(found.items()) if build is not None}
        return dict(self._known[1])

    def cards(self) -> list[BookCard]:
        """What is said of each book, in the order of the ids."""
        shards, changes = self._read()
        later = self._later(shards, changes)
        cards = [change.card for change in later.values() if change.card is not None]
        for shard in shards:
            cards += [card_of(row) for row in self.table(shard).to_pylist() if row["id"] not in later]
        return sorted(cards, key=lambda card: card.id)

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
        for shard in shards if later else ():
            for id, number in zip(*self._columns(shard, "id", "number"), strict=True):
                if id in later and later[id].number <= number:
                    del later[id]
        return later

    def _columns(self, shard: Shard, *names: str) -> list[list[Any]]:
        table = self.table(shard)
        return [table[name].to_pylist() for name in names]

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

    def read_changes(self, keys: Sequence[str]) -> dict[str, Change]:
        """Those of the changes that are still there, by their keys."""
        known = self._changes
        fresh = [key for key in keys if key not in known]
        read = zip(fresh, self._bucket.together(self._bucket.get, fresh), strict=True)
        found = {key: known[key] for key in keys if key in known}
        return found | {key: parsed_change(kept) for key, kept in read if kept is not None}

    def table(self, shard: Shard) -> pyarrow.Table:
        """The rows of a shard, from the copy of it on this machine."""
        import pyarrow.parquet as pq

        if shard.sha256 not in self._tables:
            path = self._copy(shard) / _FILE
            if hashlib.sha256(path.read_bytes()).hexdigest() != shard.sha256:
                self._cache.drop(shard.sha256)  # the copy is damaged; another will do
                path = self._copy(shard) / _FILE
            table = pq.read_table(path)
            named = {one.sha256 for one in self._shards} | {shard.sha256}
            self._tables = {sha: one for sha, one in self._tables.items() if sha in named}
            self._tables[shard.sha256] = table
        return self._tables[shard.sha256]

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

"""The list of a bucket's books: parquet shards in the order of the ids, and the changes since then.

``catalogue/current`` names the shards, ``catalogue/shards/`` holds them and ``catalogue/changes/`` a small
object for each publication, put there before the pointer is: so no book that serves is ever missing from the
list, and what was noted but never published is left out when the changes are merged into the shards.
"""

from __future__ import annotations

import hashlib
import io
import json
import secrets
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexing.card import BookCard
from indexing.errors import IndexMismatch, StoreUnreachable
from indexing.object_store.bucket import Bucket, Kept
from indexing.object_store.build_cache import BuildCache
from indexing.object_store.pointers import Pointer

if TYPE_CHECKING:
    import pyarrow

FORMAT = 1
CURRENT = "catalogue/current"
SHARDS = "catalogue/shards/"
CHANGES = "catalogue/changes/"
MANY_CHANGES = 200  # of which a list takes a second or so to read
_MOST_ROWS = 100_000  # a shard, of some 100 bytes each
_FRESH_S = 1.0
_PENDING_S = 600.0  # for so long what was noted may still be published
_FILE = "shard.parquet"

# The build that serves and its card, by id; None where the book is gone.
Found = Mapping[str, tuple[Pointer, BookCard] | None]
# The build of a book that serves; and the card of one, None where it is damaged.
PointerOf = Callable[[str], Pointer | None]
CardOf = Callable[[str, Pointer], BookCard | None]


@dataclass(frozen=True, slots=True)
class Change:
    """A build that is about to be published, or a book that is about to be removed: then without a card."""

    id: str
    number: int
    build: str | None
    card: BookCard | None


@dataclass(frozen=True, slots=True)
class Shard:
    """A file of rows, of ids from ``first`` on."""

    key: str
    sha256: str
    first: str
    rows: int


class Catalogue:
    """The list that lies in ``bucket``, its shards copied to ``cache``; good for a second once read."""

    def __init__(self, bucket: Bucket, cache: BuildCache) -> None:
        self._bucket = bucket
        self._cache = cache
        self._tables: dict[str, pyarrow.Table] = {}
        self._changes: dict[str, Change] = {}
        self._read_at = float("-inf")
        self._shards: Sequence[Shard] = ()
        self._lock = threading.Lock()

    def ids(self) -> list[str]:
        """The ids of all books, sorted."""
        return list(self.builds())

    def builds(self) -> dict[str, str]:
        """The names of the builds that serve, by id, sorted."""
        return {id: row["build"] for id, row in self._rows(["id", "number", "build"])}

    def cards(self) -> list[BookCard]:
        """What is said of each book, in the order of the ids."""
        return [_card(row) for _, row in self._rows(None)]

    def note(self, change: Change) -> str:
        """Have the list say what is about to be true; the key by which that is taken back."""
        key = f"{CHANGES}{change.number:020d}-{secrets.token_hex(8)}"
        self._bucket.put(key, json.dumps(asdict(change)).encode())
        self._forget()
        return key

    def take_back(self, key: str) -> None:
        """Forget what was noted and did not come true."""
        self._bucket.delete([key])
        self._forget()

    def changes(self) -> int:
        """How many changes have not been merged into the shards."""
        return sum(1 for _ in self._bucket.listed(CHANGES))

    def compact(
        self, pointer_of: PointerOf, card_of: CardOf, everything: Collection[str] | None = None
    ) -> int:
        """Merge the changes into the shards, as the pointers have it; how many books the list has then.

        The ids of ``everything`` make the list anew. Where another process does the same at the same time,
        one of them gets its way, and the other's work is left to be deleted.
        """
        listed = [(one.key, one.changed_at) for one in self._bucket.listed(CHANGES)]
        noted = self._read_changes([key for key, _ in listed])
        kept = self._bucket.get(CURRENT)
        shards = _shards(kept) if everything is None else []
        ids = sorted({change.id for change in noted.values()} | set(everything or ()))
        if not ids and everything is None:
            return sum(shard.rows for shard in shards)
        cards = {(change.id, change.build): change.card for change in noted.values()}

        def truth(id: str) -> tuple[Pointer, BookCard] | None:
            pointer = pointer_of(id)
            if pointer is None:
                return None
            card = cards.get((id, pointer.build)) or card_of(id, pointer)
            return None if card is None else (pointer, card)

        found: Found = dict(zip(ids, self._bucket.together(truth, ids), strict=True))
        made = self._merged(shards, found)
        content = {"format": FORMAT, "token": secrets.token_hex(8), "shards": [asdict(one) for one in made]}
        if self._bucket.replace(CURRENT, kept, json.dumps(content).encode()) is not None:
            now = datetime.now(UTC)
            gone = _settled(noted.values(), found)
            old = (key for key, at in listed if (now - at).total_seconds() > _PENDING_S)
            self._bucket.delete({*(key for key, change in noted.items() if change in gone), *old})
        self._forget()
        return sum(shard.rows for shard in made)

    def shard_keys(self) -> set[str]:
        """The objects that hold the list."""
        return {shard.key for shard in _shards(self._bucket.get(CURRENT))}

    def _merged(self, shards: Sequence[Shard], found: Found) -> list[Shard]:
        """The shards with what was found in them: those that nothing changes in as they are."""
        firsts = ["", *(shard.first for shard in shards[1:])]
        inside: dict[int, list[str]] = {}
        for id in found:
            inside.setdefault(max(0, bisect_right(firsts, id) - 1), []).append(id)
        made: list[Shard] = []
        for number in range(max(1, len(shards))):
            if number not in inside and number < len(shards):
                made.append(shards[number])
                continue
            rows = {}
            if number < len(shards):
                rows = {row["id"]: row for row in self._table(shards[number]).to_pylist()}
            for id in inside.get(number, ()):
                rows.pop(id, None)
                if (one := found[id]) is not None:
                    rows[id] = {"number": one[0].number, "build": one[0].build, **asdict(one[1])}
            ordered = [rows[id] for id in sorted(rows)]
            made += [
                self._put_shard(ordered[first : first + _MOST_ROWS])
                for first in range(0, len(ordered), _MOST_ROWS)
            ]
        return made

    def _put_shard(self, rows: Sequence[Mapping[str, Any]]) -> Shard:
        import pyarrow as pa
        import pyarrow.parquet as pq

        content = io.BytesIO()
        pq.write_table(pa.Table.from_pylist(list(rows), _schema()), content, compression="zstd")
        sha256 = hashlib.sha256(content.getbuffer()).hexdigest()
        shard = Shard(f"{SHARDS}{sha256}-{secrets.token_hex(8)}.parquet", sha256, rows[0]["id"], len(rows))
        self._bucket.put(shard.key, content.getvalue())
        return shard

    def _rows(self, columns: list[str] | None) -> Iterable[tuple[str, dict[str, Any]]]:
        shards, changes = self._read()
        rows = {}
        for shard in shards:
            table = self._table(shard)
            for row in (table if columns is None else table.select(columns)).to_pylist():
                rows[row["id"]] = row
        for change in sorted(changes, key=lambda one: one.number):
            # What the shards have of a book may be later than a change that was listed before they were read.
            if change.number > rows.get(change.id, {"number": 0})["number"]:
                rows.pop(change.id, None)
                if change.card is not None:
                    rows[change.id] = {"number": change.number, "build": change.build, **asdict(change.card)}
        return sorted(rows.items())

    def _read(self) -> tuple[Sequence[Shard], Collection[Change]]:
        with self._lock:
            if time.monotonic() - self._read_at > _FRESH_S:
                try:
                    # Changes first: those that are merged meanwhile are in the shards that are read then.
                    keys = [one.key for one in self._bucket.listed(CHANGES)]
                    self._changes = self._read_changes(keys)
                    self._shards = _shards(self._bucket.get(CURRENT))
                except StoreUnreachable:
                    if self._read_at == float("-inf"):
                        raise
                self._read_at = time.monotonic()
            return self._shards, list(self._changes.values())

    def _read_changes(self, keys: Sequence[str]) -> dict[str, Change]:
        known = self._changes
        fresh = [key for key in keys if key not in known]
        read = zip(fresh, self._bucket.together(self._bucket.get, fresh), strict=True)
        found = {key: known[key] for key in keys if key in known}
        return found | {key: _change(kept) for key, kept in read if kept is not None}

    def _table(self, shard: Shard) -> pyarrow.Table:
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
                raise _damaged(f"{shard.key} is missing") from error
            if sha256 != shard.sha256:
                raise _damaged(f"{shard.key} is damaged (its SHA-256 differs)")

        return self._cache.get(shard.sha256, fetch)

    def _forget(self) -> None:
        with self._lock:
            if self._read_at != float("-inf"):
                self._read_at = time.monotonic() - 2 * _FRESH_S


def _settled(changes: Collection[Change], found: Found) -> set[Change]:
    """The changes that have come true, and those before them."""
    latest = {id: 0 if one is None else one[0].number for id, one in found.items()}
    for change in changes:
        if change.card is None and found[change.id] is None:
            latest[change.id] = max(latest[change.id], change.number)
    return {change for change in changes if change.number <= latest[change.id]}


def _card(row: Mapping[str, Any]) -> BookCard:
    return BookCard(**{name: value for name, value in row.items() if name not in ("number", "build")})


def _change(kept: Kept) -> Change:
    try:
        content = json.loads(kept.content)
        card = content["card"]
        return Change(str(content["id"]), int(content["number"]), content["build"], card and BookCard(**card))
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(f"a change cannot be read ({error})") from error


def _shards(kept: Kept | None) -> list[Shard]:
    if kept is None:
        return []
    try:
        content = json.loads(kept.content)
        if content["format"] != FORMAT:
            raise ValueError("of another format")
        return [Shard(**one) for one in content["shards"]]
    except (ValueError, TypeError, KeyError) as error:
        raise _damaged(f"{CURRENT} cannot be read ({error})") from error


def _damaged(problem: str) -> IndexMismatch:
    return IndexMismatch(f"the catalogue of the store: {problem}; build it anew: storyqa catalogue --rebuild")


def _schema() -> pyarrow.Schema:
    import pyarrow as pa

    texts = ("id", "build", "title", "author", "language", "source", "version", "built_at")
    counts = ("number", "characters", "words", "passages")
    return pa.schema(
        [
            *((name, pa.string()) for name in texts),
            *((name, pa.int64()) for name in counts),
            ("has_cover", pa.bool_()),
        ]
    )

"""What the list of a bucket's books is made of: rows in parquet shards, and the changes since then."""

from __future__ import annotations

import hashlib
import io
import json
import secrets
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from indexing.card import BookCard
from indexing.errors import IndexMismatch
from indexing.object_store.bucket import Bucket, Kept

if TYPE_CHECKING:
    import pyarrow

FORMAT = 1
CURRENT = "catalogue/current"
SHARDS = "catalogue/shards/"
CHANGES = "catalogue/changes/"
_GROUP = 10_000  # rows, which are read at once for a page of them


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


def place_of(id: str, shards: Sequence[Shard]) -> int:
    """The number of the shard that has the row of ``id``, or would have it; 0 where there are none."""
    return max(0, bisect_right(shards, id, key=lambda one: one.first) - 1)


def row_of(number: int, build: str | None, card: BookCard) -> dict[str, Any]:
    """The row of a book whose ``build`` was published with ``number``."""
    return {"number": number, "build": build, **asdict(card)}


def card_of(row: Mapping[str, Any]) -> BookCard:
    """What a row says of its book."""
    return BookCard(**{name: value for name, value in row.items() if name not in ("number", "build")})


def parsed_change(kept: Kept) -> Change:
    """The change that an object holds; raises IndexMismatch."""
    try:
        content = json.loads(kept.content)
        card = content["card"]
        return Change(str(content["id"]), int(content["number"]), content["build"], card and BookCard(**card))
    except (ValueError, TypeError, KeyError) as error:
        raise damaged(f"a change cannot be read ({error})") from error


def parsed_shards(kept: Kept | None) -> list[Shard]:
    """The shards that ``catalogue/current`` names, in order; raises IndexMismatch."""
    if kept is None:
        return []
    try:
        content = json.loads(kept.content)
        if content["format"] != FORMAT:
            raise ValueError("of another format")
        return [Shard(**one) for one in content["shards"]]
    except (ValueError, TypeError, KeyError) as error:
        raise damaged(f"{CURRENT} cannot be read ({error})") from error


def put_shard(bucket: Bucket, rows: Sequence[Mapping[str, Any]]) -> Shard:
    """Write rows, one at least and in the order of their ids, as a shard."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    content = io.BytesIO()
    table = pa.Table.from_pylist(list(rows), _schema())
    pq.write_table(table, content, compression="zstd", row_group_size=_GROUP)
    sha256 = hashlib.sha256(content.getbuffer()).hexdigest()
    shard = Shard(f"{SHARDS}{sha256}-{secrets.token_hex(8)}.parquet", sha256, rows[0]["id"], len(rows))
    bucket.put(shard.key, content.getvalue())
    return shard


def damaged(problem: str) -> IndexMismatch:
    """The error for a list that cannot be read."""
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

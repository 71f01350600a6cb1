"""The changes of the list of a bucket's books merged into its shards; or the shards made anew."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from indexing.card import BookCard
from indexing.object_store.bucket import Bucket
from indexing.object_store.catalogue import Catalogue
from indexing.object_store.catalogue_shards import (
    CHANGES,
    CURRENT,
    FORMAT,
    Change,
    Shard,
    parsed_shards,
    place_of,
    put_shard,
    row_of,
)
from indexing.object_store.pointers import Pointer

_MOST_ROWS = 100_000  # a shard, of some 100 bytes each
_PENDING_S = 600.0  # for so long what was noted may still be published

# The build that serves and its card, by id; None where the book is gone.
Found = Mapping[str, tuple[Pointer, BookCard] | None]
# The build of a book that serves; and the card of one, None where it is damaged.
PointerOf = Callable[[str], Pointer | None]
CardOf = Callable[[str, Pointer], BookCard | None]


def compact(
    bucket: Bucket,
    catalogue: Catalogue,
    pointer_of: PointerOf,
    card_of: CardOf,
    now: datetime,
    everything: Collection[str] | None = None,
) -> int:
    """Merge the changes into the shards, as the pointers have it; how many books the list has then.

    The ids of ``everything`` make the list anew, and changes that are damaged are deleted then. ``now`` is
    the time by the server's clock. Where another process does the same at the same time, one of them gets
    its way, and the other's work is left to be deleted.
    """
    listed = [(one.key, one.changed_at) for one in bucket.listed(CHANGES)]
    noted = catalogue.read_changes([key for key, _ in listed], whole=everything is None)
    kept = bucket.get(CURRENT)
    shards = parsed_shards(kept) if everything is None else []
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

    found: Found = dict(zip(ids, bucket.together(truth, ids), strict=True))
    made = _merged(bucket, catalogue, shards, found)
    content = {"format": FORMAT, "token": secrets.token_hex(8), "shards": [asdict(one) for one in made]}
    if bucket.replace(CURRENT, kept, json.dumps(content).encode()) is not None:
        settled = _settled(noted.values(), found)
        # By the time at which the pointers had not been read: what was published since is not in the shards.
        old = (key for key, at in listed if (now - at).total_seconds() > _PENDING_S)
        damaged = (key for key, _ in listed if key not in noted)  # or merged by another process meanwhile
        bucket.delete({*(key for key, change in noted.items() if change in settled), *damaged, *old})
    catalogue.forget()
    return sum(shard.rows for shard in made)


def _merged(bucket: Bucket, catalogue: Catalogue, shards: Sequence[Shard], found: Found) -> list[Shard]:
    """The shards with what was found in them: those that nothing changes in as they are."""
    inside: dict[int, list[str]] = {}
    for id in found:
        inside.setdefault(place_of(id, shards), []).append(id)
    made: list[Shard] = []
    for number in range(max(1, len(shards))):
        if number not in inside and number < len(shards):
            made.append(shards[number])
            continue
        rows: dict[str, dict[str, Any]] = {}
        if number < len(shards):
            rows = {row["id"]: row for row in catalogue.rows(shards[number])}
        for id in inside.get(number, ()):
            rows.pop(id, None)
            if (one := found[id]) is not None:
                rows[id] = row_of(one[0].number, one[0].build, one[1])
        ordered = [rows[id] for id in sorted(rows)]
        made += [
            put_shard(bucket, ordered[first : first + _MOST_ROWS])
            for first in range(0, len(ordered), _MOST_ROWS)
        ]
    return made


def _settled(changes: Collection[Change], found: Found) -> set[Change]:
    """The changes that have come true, and those before them."""
    latest = {id: 0 if one is None else one[0].number for id, one in found.items()}
    for change in changes:
        if change.card is None and found[change.id] is None:
            latest[change.id] = max(latest[change.id], change.number)
    return {change for change in changes if change.number <= latest[change.id]}

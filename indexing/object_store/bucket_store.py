"""The indexes of many books in a bucket: builds as objects that never change, and a pointer a book.

Layout: ``builds/SHA256-TOKEN`` holds a build's files in one pack, ``manifests/SHA256-TOKEN`` its manifest,
``books/ID`` says which build serves. A build is put there whole before the pointer to it, which is replaced
only as it was known when the book was claimed: of two machines that index one book, one publishes. The token
is a publication's own, so that what no pointer names will never be named again, and can be deleted.
``catalogue/`` lists the books, ``shelves/`` holds shelves, and ``merged`` points to the merged index.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

from indexing.card import BookCard
from indexing.errors import IndexMismatch
from indexing.ids import check_id, is_id
from indexing.locking import locked
from indexing.manifest import MANIFEST, Manifest, parsed_manifest
from indexing.object_store.bucket import Bucket, Patience
from indexing.object_store.build_cache import BuildCache
from indexing.object_store.catalogue import MANY_CHANGES, Catalogue
from indexing.object_store.catalogue_shards import SHARDS
from indexing.object_store.compaction import compact
from indexing.object_store.pointers import (
    BOOKS,
    BUILDS,
    MANIFESTS,
    Pointer,
    Pointers,
    book_key,
    broken,
    parsed,
)
from indexing.object_store.publishing import BucketClaim, BucketParts
from indexing.object_store.shelf_objects import ShelfObjects
from indexing.packing import PACK
from indexing.shelves import Shelves
from indexing.store_protocol import Collected, Store, unreadable

_MERGED = "merged"
_MERGED_MANIFEST = "merged.json"
_CLOCK = "clock"

log = logging.getLogger(__name__)


class BucketStore(Store):
    """The indexes of many books at an ``address`` such as ``s3://bucket/prefix``.

    Copies of the builds that are opened are kept in the folder ``cache``, up to ``cache_bytes``.
    """

    def __init__(self, address: str, cache: Path, cache_bytes: int, patience: Patience | None = None) -> None:
        self._given = (address, cache, cache_bytes, patience)
        self.bucket = Bucket(address, patience or Patience())
        self.cache = BuildCache(cache, cache_bytes)
        self.catalogue = Catalogue(self.bucket, self.cache)
        self.pointers = Pointers(self.bucket)
        self._workspace = cache / "new"  # of builds that this machine has in hand

    def __reduce__(self) -> tuple[Any, ...]:
        return BucketStore, self._given  # connections stay in the process that has them

    @property
    def address(self) -> str:
        """See ``Store.address``."""
        return self.bucket.address

    def ids(self, start: str = "", most: int | None = None) -> list[str]:
        """See ``Store.ids``."""
        return self.catalogue.ids(start, most)

    def builds(self, of: Collection[str] | None = None) -> dict[str, str]:
        """See ``Store.builds``."""
        return self.catalogue.builds(of)

    def cards(self, start: str = "", most: int | None = None) -> tuple[list[BookCard], list[IndexMismatch]]:
        """See ``Store.cards``; damage is found by ``verify`` alone."""
        return self.catalogue.cards(start, most), []

    def holds(self, id: str) -> bool:
        """See ``Store.holds``: one request."""
        return is_id(id) and self.pointers.get(book_key(id)) is not None

    def current(self, id: str) -> str:
        """See ``Store.current``."""
        pointer = self.pointers.get(book_key(id)) if is_id(id) else None
        if pointer is None:
            raise self._unknown(id)
        return pointer.build

    def folder(self, id: str, build: str) -> Path:
        """See ``Store.folder``; fetched where this machine has no copy."""
        pointer = self.pointers.get(book_key(id))
        if pointer is None or pointer.build != build:
            raise unreadable(id, "it was replaced while it was opened")
        return self._fetched(book_key(id), pointer, MANIFEST)

    def checked_manifest(self, id: str) -> Manifest:
        """See ``Store.checked_manifest``: two requests, and the build itself is not fetched."""
        pointer = self.pointers.get(book_key(id)) if is_id(id) else None
        if pointer is None:
            raise self._unknown(id)
        kept = self.bucket.get(pointer.manifest_key)
        if kept is None or hashlib.sha256(kept.content).hexdigest() != pointer.manifest_sha256:
            raise unreadable(id, f"{pointer.manifest_key} is missing or damaged")
        return parsed_manifest(kept.content, pointer.manifest_key, id)

    def forget(self, id: str, build: str) -> bool:
        """See ``Store.forget``."""
        pointer = self._pointer(id)  # as it is now: the build may have been replaced, and its objects deleted
        if pointer is not None and pointer.build == build:
            self.cache.drop(pointer.manifest_sha256)
        return pointer is not None

    def merged(self) -> Path | None:
        """See ``Store.merged``."""
        pointer = self.pointers.get(_MERGED)
        return None if pointer is None else self._fetched(_MERGED, pointer, _MERGED_MANIFEST)

    @contextmanager
    def claim(self, id: str, wait: bool = True) -> Iterator[BucketClaim]:
        """See ``Store.claim``; whoever publishes after another machine did meanwhile gets Overtaken."""
        with locked(self.cache.folder / "locks", f"book-{check_id(id)}", f"indexes {id}", wait):
            yield BucketClaim(self._parts(), book_key(id), MANIFEST)

    @contextmanager
    def claim_merged(self, wait: bool = True) -> Iterator[BucketClaim]:
        """See ``Store.claim_merged``."""
        with locked(self.cache.folder / "locks", "merged", "merges the books", wait):
            yield BucketClaim(self._parts(), _MERGED, _MERGED_MANIFEST)

    def sweep(self) -> None:
        """See ``Store.sweep``; what lies in the bucket is for ``collect``.

        Where many changes wait to be merged into the list, they are.
        """
        prefix = book_key("").replace("/", "-")
        for folder in self._workspace.glob(f"{prefix}*"):
            with suppress(BlockingIOError), self.claim(folder.name.removeprefix(prefix), wait=False) as claim:
                claim.sweep()
        if self.catalogue.changes() >= MANY_CHANGES:
            self.list_anew(from_builds=False)

    def list_anew(self, from_builds: bool) -> int:
        """See ``Store.list_anew``."""
        now = self._now()
        everything = self._pointed_ids() if from_builds else None
        return compact(self.bucket, self.catalogue, self._pointer, self._card, now, everything)

    def collect(self, grace_s: float) -> Collected:
        """See ``Store.collect``; raises IndexMismatch where a pointer is damaged: all of them must be known.

        A publication's objects are its own, and named by its pointer within moments. So those that are
        ``grace_s`` old, by the server's own clock, and that no pointer names afterwards never will be.
        """
        now = self._now()
        old = [
            one
            for prefix in (BUILDS, MANIFESTS, SHARDS)
            for one in self.bucket.listed(prefix)
            if (now - one.changed_at).total_seconds() >= grace_s
        ]
        named = self.catalogue.shard_keys()
        keys = [_MERGED, *map(book_key, self._pointed_ids())]
        for key, kept in zip(keys, self.bucket.together(self.bucket.get, keys), strict=True):
            if kept is not None:
                pointer = parsed(key, kept)
                named |= {pointer.pack_key, pointer.manifest_key}
        garbage = [one for one in old if one.key not in named]
        self.bucket.delete(one.key for one in garbage)
        return Collected(len(garbage), sum(one.bytes for one in garbage))

    def shelves(self) -> Shelves:
        """See ``Store.shelves``."""
        return Shelves(ShelfObjects(self.bucket))

    def _parts(self) -> BucketParts:
        compact = partial(self.list_anew, from_builds=False)
        return BucketParts(self.bucket, self.pointers, self.catalogue, self._workspace, compact)

    def _now(self) -> datetime:
        """The time by the clock of the server."""
        self.bucket.put(_CLOCK, b"")
        now = self.bucket.changed_at(_CLOCK)
        assert now is not None, "it has just been put there"
        return now

    def _pointed_ids(self) -> list[str]:
        ids = (one.key.removeprefix(BOOKS) for one in self.bucket.listed(BOOKS))
        return sorted(filter(is_id, ids))

    def _pointer(self, id: str) -> Pointer | None:
        kept = self.pointers.read(book_key(id))
        try:
            return None if kept is None else parsed(book_key(id), kept)
        except IndexMismatch as error:
            log.error("%s", error)  # and is left out of the list
            return None

    def _card(self, id: str, pointer: Pointer) -> BookCard | None:
        kept = self.bucket.get(pointer.manifest_key)
        try:
            if kept is None:
                raise unreadable(id, f"{pointer.manifest_key} is missing")
            return BookCard.of(parsed_manifest(kept.content, pointer.manifest_key, id))
        except IndexMismatch as error:
            log.error("%s", error)  # and is left out of the list
            return None

    def _fetched(self, pointed: str, pointer: Pointer, manifest: str) -> Path:
        def fetch(folder: Path) -> None:
            wanted = [
                (pointer.manifest_key, folder / manifest, pointer.manifest_sha256),
                (pointer.pack_key, folder / PACK, pointer.pack_sha256),
            ]
            found = self.bucket.together(lambda one: self._downloaded(pointed, one[0], one[1]), wanted)
            for (key, _, sha256), got in zip(wanted, found, strict=True):
                if got != sha256:
                    raise broken(pointed, f"{key} is damaged (its SHA-256 differs)")

        return self.cache.get(pointer.manifest_sha256, fetch)

    def _downloaded(self, pointed: str, key: str, path: Path) -> str:
        try:
            return self.bucket.download(key, path)
        except FileNotFoundError as error:
            raise broken(pointed, f"{key} is missing") from error

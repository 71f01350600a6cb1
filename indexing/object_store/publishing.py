"""One publication into a bucket: a build's objects, a change of the list, and last the pointer."""

from __future__ import annotations

import hashlib
import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from indexing.card import BookCard
from indexing.errors import IndexMismatch, Overtaken
from indexing.manifest import Manifest
from indexing.object_store.bucket import Bucket
from indexing.object_store.catalogue import MANY_CHANGES, Catalogue
from indexing.object_store.catalogue_shards import Change
from indexing.object_store.pointers import BOOKS, Pointer, Pointers, parsed
from indexing.packing import PACK, write_pack
from indexing.store_protocol import Claim, Published


@dataclass(frozen=True, slots=True)
class BucketParts:
    """What publishing needs of a store; ``workspace`` is a folder of this machine, for builds in hand."""

    bucket: Bucket
    pointers: Pointers
    catalogue: Catalogue
    workspace: Path
    compact: Callable[[], object]


class BucketClaim(Claim):
    """What may be done to the builds that the pointer ``key`` names one after the other."""

    def __init__(self, parts: BucketParts, key: str, manifest: str) -> None:
        self._parts = parts
        self._key = key
        self._manifest = manifest
        self._folder = parts.workspace / key.replace("/", "-")
        self._before = parts.pointers.read(key)

    def publish(self, write: Callable[[Path], Published]) -> Published:
        """See ``Claim.publish``; raises Overtaken unless what another process published is the same."""
        parts = self._parts
        self.sweep()
        try:
            workspace = self._folder / "build"
            workspace.mkdir(parents=True)
            made = write(workspace)
            pack = self._folder / PACK
            pack_sha256 = write_pack(workspace, made.files, pack)
            manifest = (workspace / self._manifest).read_bytes()
            pointer = Pointer(
                build=f"{made.version}-{secrets.token_hex(8)}",
                number=self._next_number(),
                manifest_sha256=hashlib.sha256(manifest).hexdigest(),
                pack_sha256=pack_sha256,
            )
            parts.bucket.put(pointer.pack_key, pack)
        finally:
            self.sweep()
        parts.bucket.put(pointer.manifest_key, manifest)
        noted = None
        if isinstance(made, Manifest):  # the merged index is no book of the list
            card = BookCard.of(made)
            noted = parts.catalogue.note(Change(made.id, pointer.number, pointer.build, card))
        if not parts.pointers.replace(self._key, self._before, pointer):
            if noted is not None:
                parts.catalogue.take_back(noted)
            self._check_same(made.version)
        # Now and then, by chance: of a thousand machines that publish none need count for the others.
        if noted is not None and secrets.randbelow(MANY_CHANGES) == 0:
            parts.compact()
        return made

    def withdraw(self) -> None:
        """See ``Claim.withdraw``; objects are left to ``storyqa gc``."""
        id = self._key.removeprefix(BOOKS)
        if id != self._key:
            self._parts.catalogue.note(Change(id, self._next_number(), None, None))
        self._parts.pointers.delete(self._key)

    def sweep(self) -> None:
        """See ``Claim.sweep``."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _next_number(self) -> int:
        """Later than that of the pointer before, whatever the clocks of the machines say."""
        try:
            last = 0 if self._before is None else parsed(self._key, self._before).number
        except IndexMismatch:  # damaged, and to be replaced
            last = 0
        return max(last + 1, time.time_ns() // 1000)

    def _check_same(self, version: str) -> None:
        """Raise Overtaken unless what another process published is a build of the same version."""
        there = self._parts.pointers.get(self._key)
        if there is None or not there.build.startswith(version):
            raise Overtaken(
                f"{self._key.rpartition('/')[2]!r} was changed by another process meanwhile, and stays as "
                "that left it; run the same command again"
            )

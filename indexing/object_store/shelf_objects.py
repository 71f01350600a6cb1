"""Shelves in a bucket: an object each."""

from __future__ import annotations

import json
import secrets

from indexing.errors import Overtaken
from indexing.object_store.bucket import Bucket
from indexing.shelf_files import Change, ShelfFiles

_PREFIX = "shelves/"
_ATTEMPTS = 10


class ShelfObjects(ShelfFiles):
    """Objects under ``shelves/``, each changed only as it was read."""

    def __init__(self, bucket: Bucket) -> None:
        self._bucket = bucket

    def names(self) -> list[str]:
        """See ``ShelfFiles.names``."""
        return [one.key.removeprefix(_PREFIX) for one in self._bucket.listed(_PREFIX)]

    def read(self, name: str) -> bytes:
        """See ``ShelfFiles.read``."""
        kept = self._bucket.get(_PREFIX + name)
        if kept is None:
            raise FileNotFoundError(name)
        return kept.content

    def change(self, name: str, change: Change) -> None:
        """See ``ShelfFiles.change``: made again where another process changed it meanwhile."""
        key = _PREFIX + name
        for _ in range(_ATTEMPTS):
            before = self._bucket.get(key)
            after = change(None if before is None else before.content)
            if after is None:
                self._bucket.delete([key])
                return
            # With something of its own in it, as ``replace`` wants it.
            content = json.dumps(json.loads(after) | {"token": secrets.token_hex(8)}).encode()
            if self._bucket.replace(key, before, content) is not None:
                return
        raise Overtaken(f"the shelf {name!r} is being changed by others; do the same again")

"""The store at an address: a folder, or the bucket of an object store."""

from __future__ import annotations

from pathlib import Path

from indexing.store import IndexStore
from indexing.store_address import BadAddress, StoreAddress, checked_address
from indexing.store_protocol import Store


def open_store(address: StoreAddress, cache: Path, cache_bytes: int) -> Store:
    """The store at ``address``; raises BadAddress, of a file too, and StoryQAError where an extra is missing.

    Copies of an object store's builds are kept in ``cache``, up to ``cache_bytes``.
    """
    address = checked_address(address)
    if isinstance(address, Path):
        if address.is_file():
            raise BadAddress(f"{address} is a file; wanted the folder of a store, which need not exist yet")
        return IndexStore(address)
    from indexing.object_store.bucket_store import BucketStore

    return BucketStore(address, cache / "store", cache_bytes)

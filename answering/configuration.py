"""What a process answers with: read from the environment by the service, and passed down as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from answering.ask import ANSWERABLE, SURE
from indexing.store_address import StoreAddress

if TYPE_CHECKING:
    from indexing.store_protocol import Store

OPEN_BYTES = 2**30
STORE_CACHE_BYTES = 2**32


@dataclass(frozen=True, slots=True)
class Configuration:
    """Where books and models are found, and the limits that answers are given within.

    ``store`` is the folder of the indexes, or the address of their object store, of which copies are kept
    up to ``store_cache_bytes``; ``cache`` is the folder of what was fetched or can be made again. Books
    stay open up to ``open_bytes`` of index files. An answer may be one from the confidence ``answerable`` on,
    and is called one from ``sure`` on. ``reader_settings`` are those that ``open_reader`` is given for
    readers of a kind, such as the key for ``chat``.
    """

    store: StoreAddress
    cache: Path
    open_bytes: int = OPEN_BYTES
    store_cache_bytes: int = STORE_CACHE_BYTES
    answerable: float = ANSWERABLE
    sure: float = SURE
    reader_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def index_store(self) -> Store:
        """The store; raises StoryQAError where what it needs is not installed."""
        from indexing.stores import open_store

        return open_store(self.store, self.cache, self.store_cache_bytes)

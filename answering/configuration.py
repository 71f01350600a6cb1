"""What a process answers with: read from the environment by the service, and passed down as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from answering.ask import ANSWERABLE, SURE

OPEN_BYTES = 2**30


@dataclass(frozen=True, slots=True)
class Configuration:
    """Where books and models are found, and the limits that answers are given within.

    ``store`` is the folder of the indexes, ``cache`` that of what was fetched or can be made again. Books
    stay open up to ``open_bytes`` of index files. An answer may be one from the confidence ``answerable`` on,
    and is called one from ``sure`` on. ``reader_settings`` are those that ``open_reader`` is given for
    readers of a kind, such as the key for ``chat``.
    """

    store: Path
    cache: Path
    open_bytes: int = OPEN_BYTES
    answerable: float = ANSWERABLE
    sure: float = SURE
    reader_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

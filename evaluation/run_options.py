"""What is evaluated: the options of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from answering.open_books import configured_reader
from readers.reading import Reader
from text.errors import StoryQAError


@dataclass(frozen=True, slots=True)
class Options:
    """What is evaluated on which questions; ``mrr`` None ranks where the reader can.

    ``reader_settings`` are by the reader's kind what it is opened with, such as a chat's key.
    """

    retriever: str
    reader: str
    k: int = 5
    limit: int | None = None
    seed: int = 0
    mrr: bool | None = None
    reader_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise StoryQAError(f"--limit {self.limit}; wanted 1 or more questions")

    def open_reader(self) -> Reader:
        """The reader, opened once per process; raises as ``readers.open_reader`` does."""
        return configured_reader(self.reader, self.reader_settings)

"""What a list of books says of each."""

from __future__ import annotations

from dataclasses import dataclass

from indexing.manifest import Manifest


@dataclass(frozen=True, slots=True)
class BookCard:
    """A book of the store in a line; sizes are of its current build."""

    id: str
    title: str
    author: str | None
    language: str | None
    source: str
    version: str
    characters: int
    words: int
    passages: int
    has_cover: bool
    built_at: str

    @classmethod
    def of(cls, manifest: Manifest) -> BookCard:
        """The card of one build."""
        return cls(
            id=manifest.id,
            title=manifest.title,
            author=manifest.author,
            language=manifest.language,
            source=manifest.source,
            version=manifest.version,
            characters=manifest.counts.characters,
            words=manifest.counts.words,
            passages=manifest.counts.passages,
            has_cover=manifest.has_cover,
            built_at=manifest.built_at,
        )

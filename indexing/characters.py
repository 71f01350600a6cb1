"""Who and what a book names, as far as it has been read, kept in the user's cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import astuple
from pathlib import Path

from indexing.kept_rows import FORM, kept
from text.memo import memoized
from text.named_entities import Entity, entities
from text.proper_names import proper_names

_IN_MEMORY = 32  # texts: who asks once of a book asks again, and others of other books meanwhile
VERSION = 5  # of what is kept: other names are looked for again


def named(text: str, cache: Path | None = None) -> list[Entity]:
    """Whom and what a text names, the most frequent first; kept in the folder ``cache``, where there is one.

    The text ends where nothing may be known of what follows, and has spaces for what is no part of the story
    (``answering.quotes.story_text``): places are then the book's.
    """
    if cache is None:
        return list(_found(text))
    digest = hashlib.sha256(f"{FORM} {VERSION}\n{text}".encode("utf-8", "surrogatepass")).hexdigest()
    path = cache / "names" / f"{digest[:20]}.jsonl"
    rows = kept(path, lambda: map(astuple, _found(text)))
    return [
        Entity(name, tuple(aliases), tuple((start, end) for start, end in places), *signs)
        for name, aliases, places, *signs in rows
    ]


@memoized(_IN_MEMORY)
def _found(text: str) -> tuple[Entity, ...]:
    return tuple(entities(text, proper_names(text)))


def persons(found: Sequence[Entity]) -> list[Entity]:
    """Those who are somebody."""
    return [one for one in found if one.is_person]

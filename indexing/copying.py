"""Books from one store to another, of any kind; what is there already is passed over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from indexing.errors import IndexMismatch, UnknownBook
from indexing.store_protocol import Store
from text.errors import StoryQAError


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of one book; ``message`` says why it failed."""

    id: str
    status: Literal["copied", "there", "failed"]
    bytes: int = 0
    message: str = ""


def copy_books(source: Store, target: Store, ids: Sequence[str]) -> Iterator[Copied]:
    """Make each of the books in ``target`` what it is in ``source``; the outcome of each as it is known.

    A book is published whole when it has been copied, then read back and checked; so that a copy that was
    stopped at any moment goes on when it is made again. One that fails does not stop the others.
    """
    for id in ids:
        try:
            yield _copied(source, target, id)
        except (StoryQAError, OSError) as error:
            yield Copied(id, "failed", message=str(error))


def _copied(source: Store, target: Store, id: str) -> Copied:
    manifest = source.manifest(id)
    with suppress(UnknownBook, IndexMismatch):
        if target.manifest(id) == manifest:
            return Copied(id, "there", manifest.bytes)
    with target.claim(id) as claim:
        manifest = claim.publish(lambda into: source.copy_out(id, into))
    problems = target.verify(id)
    if problems:
        return Copied(id, "failed", message=problems[0])
    return Copied(id, "copied", manifest.bytes)

"""The books of a question, and how far they may be read, as a command line has them, or a model's name."""

from __future__ import annotations

from answering.ask import BadRequest
from answering.scope import EVERY_BOOK, SHELF, Before
from indexing.ids import LONGEST
from indexing.store_protocol import Store


def full_ids(store: Store, given: str) -> str:
    """The books of ``given``, in which an id may be how only that one begins; a name of several as it is."""
    if given == EVERY_BOOK or given.startswith(SHELF):
        return given
    return ",".join(store.full_id(id.strip()) for id in given.split(","))


def limits(given: str | None) -> Before | dict[str, Before]:
    """``40%`` and the like, or ``a=40%,b=0``: by book id, in which ``*`` stands for all others."""
    if given is None or "=" not in given:
        return given
    found: dict[str, Before] = {}
    for one in given.split(","):
        id, equals, before = (step.strip() for step in one.rpartition("="))
        if not equals or not before or not 0 < len(id) <= LONGEST or id in found:
            raise BadRequest(
                "before", f"{one[:100]!r} is no limit of a book; wanted such as ID=40%, each once"
            )
        found[id] = before
    return found

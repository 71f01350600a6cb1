"""A question and passages in story order in, ranked answers out."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from indexing.tables import resolve

if TYPE_CHECKING:
    from readers.reading import Reader

READERS: dict[str, str] = {
    "span": "readers.span:SpanReader",
    "seq2seq": "readers.seq2seq:Seq2SeqReader",
    "overlap": "readers.overlap:OverlapReader",
}
DEFAULT_READER = "span"

_opened: dict[str, Reader] = {}
_opening = threading.Lock()


def open_reader(name: str) -> Reader:
    """The reader called ``name``: ``"span"``, or ``"span:ARGUMENT"`` for a model of one's own.

    The argument is a folder or a Hugging Face hub name. Every class of the table is made by
    ``load(argument: str | None)``, once per process and full name. Raises ``UnknownName`` where
    the table has no such reader and ``ModelError`` where the argument leads to no usable model.
    """
    if name in _opened:  # not behind the lock: another model may take minutes to fetch
        return _opened[name]
    kind, colon, argument = name.partition(":")
    with _opening:  # two requests that arrive together must not load one model twice
        if name not in _opened:
            _opened[name] = resolve("reader", kind, READERS).load(argument if colon else None)
        return _opened[name]

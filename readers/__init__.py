"""A question and passages in story order in, ranked answers out."""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any

from text.registry import resolve

if TYPE_CHECKING:
    from readers.reading import Reader

READERS: dict[str, str] = {
    "auto": "readers.default.auto:AutoReader",
    "span": "readers.default.span:SpanReader",
    "generate": "readers.default.generate:GenerateReader",
    "seq2seq": "readers.external.seq2seq:Seq2SeqReader",
    "overlap": "readers.baselines.overlap:OverlapReader",
    "chat": "readers.external.chat:ChatReader",
    "ir-bleu1": "readers.baselines.similarity:Bleu1Reader",
    "ir-rouge-l": "readers.baselines.similarity:RougeLReader",
    "ir-cosine": "readers.baselines.similarity:CosineReader",
    "random-rank": "readers.baselines.random_rank:RandomReader",
    "seq2seq-lstm": "readers.neural.seq2seq_lstm:Seq2SeqLstmReader",
    "attention-sum": "readers.neural.attention_sum:AttentionSumReader",
    "bidaf": "readers.neural.bidaf:BidafReader",
}
DEFAULT_READER = "auto"
# Whose models run behind an address: what they answer may change from one time to the next.
ELSEWHERE = frozenset({"chat"})

_opened: dict[tuple[object, ...], Reader] = {}
_opening = threading.Lock()


def kind_of(name: str) -> str:
    """The line of the table that a reader's full name begins with: what stands before a colon or an @."""
    return re.split("[:@]", name, maxsplit=1)[0]


def open_reader(name: str, **settings: Any) -> Reader:
    """The reader called ``name``: ``"span"``, or ``"span:ARGUMENT"`` for a model of one's own.

    The argument is a folder or a Hugging Face hub name, or for ``chat`` an address and a model; it may
    end in options (``@beams=4``), which are the whole of it where a reader has no model
    (``ir-rouge-l@span=4``). Every class of the table is made by ``load(argument: str | None, **settings)``,
    once per process, full name and settings, which are the keywords that the class has besides. Raises
    ``UnknownName`` where the table has no such reader and ``ModelError`` where the argument leads to no
    usable model.
    """
    key = (name, *sorted(settings.items()))
    if key in _opened:  # not behind the lock: another model may take minutes to fetch
        return _opened[key]
    kind = kind_of(name)
    argument = name[len(kind) :].removeprefix(":") if name != kind else None
    with _opening:  # two requests that arrive together must not load one model twice
        if key not in _opened:
            reader = resolve("reader", kind, READERS).load(argument, **settings)
            _opened[key] = reader
        return _opened[key]

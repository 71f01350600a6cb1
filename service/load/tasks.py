"""What the service is asked to do, question by question: which batch it may be in, how much is to be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from answering.ask import Ask
from answering.book_qa import Searched
from answering.opened_scope import Extent
from readers.reading import OnWords
from retrieval import retriever_class

ANSWER, SEARCH = "answer", "search"
_CHARACTERS_PER_TOKEN = 4


class BatchKey(NamedTuple):
    """What may be read in one batch, and goes at one speed: a kind of work by one retriever and one reader.

    ``work`` is ``ANSWER``, or ``SEARCH``, which no reader takes part in: ``reader`` is then empty.
    """

    work: str
    retriever: str
    reader: str


@dataclass(frozen=True, slots=True)
class Task:
    """A question made ready: what to do, the index ``version`` asked of, and about how much is to be read.

    ``on_found`` is called in the thread that runs the models with what was found for an ``ANSWER``, before
    it is read; more than once where a batch is read again, never where the answer is known. ``on_words``
    hears the answer there as a language model writes it.
    """

    key: BatchKey
    ask: Ask
    version: str
    tokens: int
    on_found: Callable[[Searched], None] | None = field(default=None, compare=False)
    on_words: OnWords | None = field(default=None, compare=False)


def make_task(work: str, ask: Ask, extent: Extent) -> Task:
    """The ``work`` that ``ask`` is, to what is of that ``extent``."""
    key = BatchKey(work, ask.retriever, ask.reader if work == ANSWER else "")
    return Task(key, ask, extent.version, tokens_to_read(work, ask, extent))


def tokens_to_read(work: str, ask: Ask, extent: Extent) -> int:
    """About how many tokens the models will read: the question beside each passage, by their mean length.

    A retriever reads as many as it says. A reader reads ``k`` passages, and those that the retriever read
    are not read twice.
    """
    searched = retriever_class(ask.retriever).passages_read
    passages = min(max(searched, ask.k if work == ANSWER else 0), extent.passages)
    return 1 + round(passages * (extent.characters + len(ask.question)) / _CHARACTERS_PER_TOKEN)

"""How much there is to read for a question, before anything is searched."""

from __future__ import annotations

from answering.ask import Ask
from indexing.manifest import Manifest
from retrieval import retriever_class
from service.load.queueing import ANSWER, SEARCH, Lane, Task

_CHARACTERS_PER_TOKEN = 4


def task(work: str, ask: Ask, manifest: Manifest) -> Task:
    """The ``work`` that ``ask`` is, to the build of ``manifest``; searches share one lane."""
    lane = Lane(ANSWER, ask.reader) if work == ANSWER else Lane(SEARCH, "")
    return Task(lane, ask, manifest.version, tokens_to_read(work, ask, manifest))


def tokens_to_read(work: str, ask: Ask, manifest: Manifest) -> int:
    """About how many tokens the models will read: the question beside each passage, by their mean length.

    A retriever reads as many as it says. A reader reads ``k`` passages, and those that the retriever read
    are not read twice.
    """
    searched = retriever_class(ask.retriever).passages_read
    passages = min(max(searched, ask.k if work == ANSWER else 0), manifest.counts.passages)
    mean = manifest.counts.characters / max(1, manifest.counts.passages)
    return 1 + round(passages * (mean + len(ask.question)) / _CHARACTERS_PER_TOKEN)

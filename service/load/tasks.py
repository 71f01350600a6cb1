"""How much there is to read for a question, before anything is searched."""

from __future__ import annotations

from answering.ask import Ask
from indexing.manifest import Manifest
from retrieval.rerank import CANDIDATES
from service.load.queueing import ANSWER, SEARCH, Lane, Task

_CHARACTERS_PER_TOKEN = 4


def task(work: str, ask: Ask, manifest: Manifest) -> Task:
    """The ``work`` that ``ask`` is, to the build of ``manifest``; searches share one lane."""
    lane = Lane(ANSWER, ask.reader) if work == ANSWER else Lane(SEARCH, "")
    return Task(lane, ask, manifest.version, tokens_to_read(work, ask, manifest))


def tokens_to_read(work: str, ask: Ask, manifest: Manifest) -> int:
    """About how many tokens the models will read: the question beside each passage, by their mean length.

    A reranker reads its candidates. A reader reads ``k`` passages, and those that were reranked are
    not read twice.
    """
    reranked = CANDIDATES if ask.retriever == "rerank" else 0
    passages = min(max(reranked, ask.k if work == ANSWER else 0), manifest.counts.passages)
    mean = manifest.counts.characters / max(1, manifest.counts.passages)
    return 1 + round(passages * (mean + len(ask.question)) / _CHARACTERS_PER_TOKEN)

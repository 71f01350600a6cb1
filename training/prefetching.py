"""Batches made ahead by other processes, so that a card does not wait for them."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import torch
from torch.utils.data import DataLoader, Dataset

Batch = TypeVar("Batch")
MOST = 9  # processes
AHEAD = 3  # chunks that each has ready


def spare_processes(device: torch.device) -> int:
    """How many processes may make batches for a model trained on ``device``: none beside a CPU, whose cores
    are busy; else those cores that are not needed to tell the card what to do."""
    if device.type == "cpu":
        return 0
    return max(1, min(MOST, len(os.sched_getaffinity(0)) - 4))


class _Chunks(Dataset[list[Batch]]):
    """The batches of each of some chunks."""

    def __init__(self, make: Callable[[int], Iterable[Batch]], chunks: Sequence[int]) -> None:
        self._make, self._chunks = make, chunks

    def __len__(self) -> int:
        return len(self._chunks)

    def __getitem__(self, number: int) -> list[Batch]:
        return list(self._make(self._chunks[number]))


def prefetched(
    make: Callable[[int], Iterable[Batch]], chunks: Sequence[int], workers: int
) -> Iterator[Iterable[Batch]]:
    """``make(chunk)`` of each of the ``chunks``, in order; with ``workers`` made by so many processes.

    They are forks of this one, which costs no copy of the data: ``make`` must then touch nothing that is on a
    card, and what it gives must be what one process can send another.
    """
    if not workers:
        yield from map(make, chunks)
        return
    with warnings.catch_warnings():
        # From Python 3.12 on of any fork where there are threads; these only read what is there.
        warnings.simplefilter("ignore", DeprecationWarning)
        yield from DataLoader(
            _Chunks(make, chunks),
            batch_size=None,
            collate_fn=_as_it_is,
            num_workers=workers,
            prefetch_factor=AHEAD,
            worker_init_fn=_begin,
            multiprocessing_context="fork",
        )


def _as_it_is(batches: list[Batch]) -> list[Batch]:
    return batches


def _begin(_: int) -> None:
    # Otherwise the tokenizer tells that it was forked; each process has one core as it is.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"

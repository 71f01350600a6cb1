"""Batches that other processes make are those that this one would, in the same order."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import folktales
import pytest
import torch

from training.corpora.loading import load_corpus
from training.objectives.cross_encoder import CrossEncoderTask
from training.objectives.cross_encoder_settings import CrossEncoderSettings
from training.prefetching import prefetched, spare_processes


def _numbered(chunk: int) -> Iterator[tuple[int, int, int]]:
    for number in range(chunk % 3):
        yield chunk, number, os.getpid()


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_chunks_come_in_order_each_with_all_of_its_batches(workers: int) -> None:
    chunks = [list(batches) for batches in prefetched(_numbered, range(2, 13), workers)]
    assert [[batch[:2] for batch in batches] for batches in chunks] == [
        [(chunk, number) for number in range(chunk % 3)] for chunk in range(2, 13)
    ]
    makers = {batch[2] for batches in chunks for batch in batches}
    assert (
        (makers == {os.getpid()}) if not workers else (len(makers) == workers and os.getpid() not in makers)
    )


def _failing(chunk: int) -> Iterator[int]:
    if chunk == 2:
        raise LookupError("the story is lost")
    yield chunk


@pytest.mark.parametrize("workers", [0, 2])
def test_what_goes_wrong_there_is_raised_here(workers: int) -> None:
    def make_all() -> None:
        for batches in prefetched(_failing, range(5), workers):
            list(batches)

    with pytest.raises(LookupError, match="the story is lost"):
        make_all()


def test_a_task_makes_the_same_batches_wherever_they_are_made(tmp_path: Path) -> None:
    corpus = load_corpus([folktales.write_many_tales(tmp_path, "train", stories=6)])
    task = CrossEncoderTask(CrossEncoderSettings(chunk=4, elsewhere=0.2, articles=0), corpus)
    chunks = range(min(4, task.chunks))
    here, there = (
        [list(batches) for batches in prefetched(task.batches, chunks, workers)] for workers in (0, 2)
    )
    assert here == there
    assert sum(map(len, here))


def test_beside_a_cpu_no_process_is_spared_for_batches() -> None:
    assert spare_processes(torch.device("cpu")) == 0
    assert spare_processes(torch.device("cuda")) >= 1

"""Many books into the store, on the machines of a Ray cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from encoders.bi_encoder import NAMES, load_encoder
from encoders.errors import ModelError
from indexing.build import BookTask, BuildSettings, Outcome, failed, resolved
from indexing.build_many import build_one
from indexing.cluster import mapped
from indexing.store import IndexStore
from indexing.store_protocol import Store
from text.errors import StoryQAError


def build_on_ray(
    tasks: Sequence[BookTask],
    settings: BuildSettings,
    store: Store,
    workers: int | None = None,
    force: bool = False,
) -> Iterator[Outcome]:
    """As ``build_many``, in processes of the cluster that this one is ``connected`` to.

    Tasks are read there: files, the store, the encoder and storyqa itself have to be where they are here. No
    two tasks may be of one id. A book that was published by a process that died before it could say so is
    ``skipped``. Raises ModelError where there is no such encoder here.
    """
    settings = resolved(settings)
    if settings.encoder not in NAMES and not Path(settings.encoder).is_dir():
        load_encoder(settings.encoder)  # says what is wanted; any other is left to the processes that need it
    if isinstance(store.address, Path):
        store = IndexStore(store.address.absolute())
    do = partial(_outcome, settings=settings, store=store, force=force)
    for number, outcome in mapped("storyqa index", do, tasks, workers):
        yield _lost(tasks[number]) if outcome is None else outcome


def _outcome(task: BookTask, settings: BuildSettings, store: Store, force: bool) -> Outcome:
    try:
        return build_one(task, settings, store, force)
    except ModelError as error:  # on this node
        return failed(task, None, error)


def _lost(task: BookTask) -> Outcome:
    died = StoryQAError(
        "the processes died that had this book in hand, one after the other (out of memory?); index it by "
        "itself to see why"
    )
    return failed(task, None, died)

"""Work mapped over the processes of a Ray cluster by Ray Data; results come as they are known."""

from __future__ import annotations

import logging
import os
import pickle
import socket
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from typing import Any, TypeVar

from text.errors import StoryQAError

_RETRIES = 3  # of what a process had in hand that died
_CONNECT_S = 5.0
_IN_HAND = 2  # blocks of each process: one that it works on, and the next
_BLOCKS_PER_WORKER = 32  # so that all end at about the same time
_LARGEST_BLOCK = 16  # items, which are done again when a process dies
T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger(__name__)


@contextmanager
def connected(address: str) -> Iterator[None]:
    """A connection to the Ray cluster at ``address``, or with ``local`` to one that is started for it.

    Raises ``StoryQAError`` where the extra is missing or no cluster answers.
    """
    # Ray tells its makers of its use, unless it is told not to; nobody was asked.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    try:
        import ray
    except ImportError as error:
        raise StoryQAError(
            "--ray needs Ray, which is not installed: pip install 'storyqa[cluster]'"
        ) from error
    host, _, port = address.rpartition(":")
    try:
        if host and port.isdigit():
            socket.create_connection((host, int(port)), _CONNECT_S).close()  # Ray would wait for minutes
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (OSError, ValueError, RuntimeError, OverflowError) as error:
        raise StoryQAError(
            f"no Ray cluster at {address!r} ({str(error).splitlines()[0]}); wanted auto for the one of this "
            "machine, HOST:PORT of its head, or local to start one here; where it asks for Ray's token, set "
            "RAY_AUTH_MODE=token"
        ) from error
    try:
        yield
    finally:
        with redirect_stdout(sys.stderr):
            ray.shutdown()


def mapped(
    name: str, do: Callable[[T], R], items: Sequence[T], workers: int | None = None
) -> Iterator[tuple[int, R | None]]:
    """Each item's number and what ``do`` gives for it, in any order, of ``workers`` processes or one a CPU.

    Ray shows the work under ``name``. A process lives while there is work for it, so that ``do`` may keep
    what takes long to load. One that dies is started anew, here or on another node, and what it had in hand
    is done again. An item at which one dies over and over gives None. ``do`` and items are pickled.
    To be called while ``connected``.
    """
    import ray

    if workers is None:
        workers = max(1, int(ray.cluster_resources().get("CPU", 1)))
    block = max(1, min(_LARGEST_BLOCK, len(items) // (workers * _BLOCKS_PER_WORKER)))
    missing = set(range(len(items)))
    # The second time each alone, so that no item suffers from its neighbours or what waits before it.
    for size, in_hand, then in ((block, _IN_HAND, "; each is done again by itself"), (1, 1, "")):
        for number, result in _one_pass(name, do, items, sorted(missing), workers, size, in_hand):
            missing.discard(number)
            yield number, result
        if not missing:
            return
        log.warning("%d of %d items were lost with their processes%s", len(missing), len(items), then)
    for number in sorted(missing):
        yield number, None


class _Worker:
    """What a process of Ray holds."""

    def __init__(self, do: Callable[[Any], Any]) -> None:
        self._do = do

    def __call__(self, block: Any) -> Any:
        from ray import cloudpickle

        done = [cloudpickle.dumps(self._do(pickle.loads(item))) for item in block["item"].to_pylist()]
        return _table(block["number"].to_pylist(), done)


def _one_pass(
    name: str,
    do: Callable[[T], R],
    items: Sequence[T],
    numbers: Sequence[int],
    workers: int,
    size: int,
    in_hand: int,
) -> Iterator[tuple[int, R]]:
    from ray import cloudpickle, data

    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setLevel(logging.CRITICAL)  # the files of Ray's session have it all, with stack traces
    context = data.DataContext.get_current()
    context.enable_progress_bars = False  # ours are shown
    context.print_on_execution_start = False
    context.max_errored_blocks = -1  # what is lost is seen by its absence
    parts = [numbers[first : first + size] for first in range(0, len(numbers), size)]
    blocks = [_table(part, [cloudpickle.dumps(items[number]) for number in part]) for part in parts]
    warnings.filterwarnings("ignore", ".*ray_remote_args.*")  # by which alone retries are bounded
    results = data.from_arrow(blocks).map_batches(
        _Worker,
        batch_size=None,
        batch_format="pyarrow",
        fn_constructor_args=(do,),
        compute=data.ActorPoolStrategy(
            min_size=1, max_size=workers, initial_size=workers, max_tasks_in_flight_per_actor=in_hand
        ),
        num_cpus=1,
        max_restarts=-1,  # one that had to stay away would leave its share to the others, or to nobody
        max_task_retries=_RETRIES,
    )
    results.set_name(name)
    for done in _aside(results.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)):
        for number, result in zip(done["number"].to_pylist(), done["item"].to_pylist(), strict=True):
            yield number, pickle.loads(result)


def _aside(blocks: Iterable[Any]) -> Iterator[Any]:
    """The same, and what Ray prints while it is waited for goes to standard error: a thread of it prints."""
    iterator = iter(blocks)
    while True:
        with redirect_stdout(sys.stderr):
            block = next(iterator, None)
        if block is None:
            return
        yield block


def _table(numbers: Sequence[int], pickled: Sequence[bytes]) -> Any:
    import pyarrow

    columns = [pyarrow.array(numbers, pyarrow.int64()), pyarrow.array(pickled, pyarrow.large_binary())]
    return pyarrow.table(columns, names=["number", "item"])

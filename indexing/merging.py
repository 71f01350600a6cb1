"""The merged index of a store's books, written from their builds: nothing is read or encoded again."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexing.errors import IndexMismatch, Overtaken, UnknownBook
from indexing.index import BookIndex
from indexing.merged_index import (
    POSTING,
    VECTORS,
    MergedBook,
    MergedManifest,
    merged_key,
    read_merged_manifest,
    write_merged_manifest,
)
from indexing.store_protocol import Store
from indexing.term_table import term_arrays
from indexing.vectors import faiss_module
from indexing.write import file_record, flush

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_TRAINED_ON = 100_000  # vectors, of all books alike, whose range the codes span
_ATTEMPTS = 5

log = logging.getLogger(__name__)


class _Replaced(Overtaken):
    """A book that is not in the build any more that was to be merged."""


class _Damaged(IndexMismatch):
    """A book whose files turned out to be damaged when it was opened, and its id."""

    def __init__(self, id: str, error: IndexMismatch) -> None:
        super().__init__(str(error))
        self.id = id


def merge_store(
    store: Store, force: bool = False, on_progress: Callable[[int, int], None] | None = None
) -> tuple[MergedManifest, bool]:
    """Publish the merged index of the store's books, and whether it was built: not where it is there already.

    Books whose index is damaged, or was made with another encoder than most, are left out and searched
    alone. Where one is indexed anew meanwhile, they are merged again as they are then. Raises ``UnknownBook``
    for a store without any that is fit, and ``Overtaken`` where books go on changing.
    """
    with store.claim_merged() as claim:
        builds = _fit_builds(store)
        if not force:
            with suppress(IndexMismatch):  # what is damaged is there to be replaced
                folder = store.merged()
                there = None if folder is None else read_merged_manifest(folder)
                if there is not None and there.key == merged_key(builds):
                    return there, False

        def publish(builds: Mapping[str, str]) -> MergedManifest:
            opened = partial(_open_build, store, builds)
            return claim.publish(lambda into: write_merged(builds, opened, into, on_progress))

        attempts, damaged = 1, set[str]()
        while True:
            try:
                return publish(builds), True
            except _Replaced as error:
                if attempts == _ATTEMPTS:
                    raise
                log.info("%s", error)
                attempts += 1
                builds = {id: build for id, build in _fit_builds(store).items() if id not in damaged}
            except _Damaged as error:
                log.warning("left out of what is merged: %s", error)
                damaged.add(error.id)
                del builds[error.id]
                _require_books(builds)


def _open_build(store: Store, builds: Mapping[str, str], id: str) -> BookIndex:
    """The book in the build that is named; raises ``_Replaced`` and ``_Damaged``."""
    with suppress(UnknownBook):
        try:
            index = store.open(id)
        except IndexMismatch as error:
            raise _Damaged(id, error) from error
        # A build that was replaced never serves again: one that still does is the one that was opened.
        if store.current(id) == builds[id]:
            return index
    raise _Replaced(
        f"the book {id!r} was indexed anew, or removed, while the books were merged; merge them again once "
        "that is over: storyqa shelves index"
    )


def _fit_builds(store: Store) -> dict[str, str]:
    """The builds of the books that can be merged, by id; raises ``UnknownBook`` where there is none."""
    fit = []
    for id in store.ids():
        with suppress(IndexMismatch, UnknownBook):
            fit.append((id, store.current(id), store.manifest(id).encoder_hash))
    usual = most_common([encoder for _, _, encoder in fit])
    builds = {id: build for id, build, encoder in fit if encoder == usual}
    _require_books(builds)
    return builds


def _require_books(builds: Mapping[str, str]) -> None:
    if not builds:
        raise UnknownBook("the store has no book to merge; fill it with: storyqa index PATH")


def most_common(encoders: Sequence[str]) -> str | None:
    """The encoder that most of the books were indexed with, for a merged index has one."""
    return max(sorted(set(encoders)), key=encoders.count, default=None)


def write_merged(
    builds: Mapping[str, str],
    open: Callable[[str], BookIndex],
    directory: Path,
    on_progress: Callable[[int, int], None] | None = None,
) -> MergedManifest:
    """Merge the ``builds`` (their names by book id), all of one encoder, into the empty ``directory``.

    Each book is opened three times, in the build that is named or ``open`` has to raise, and held no longer
    than it is read. ``on_progress(books done, of)`` counts each of these. Vectors are kept as 8-bit codes: a
    quarter of the bytes, which are what a search takes time to read. Flushed to disk.
    """
    import numpy as np

    steps = 3 * len(builds)

    def books(step: int) -> Iterator[BookIndex]:
        for done, id in enumerate(builds):
            if on_progress is not None:
                on_progress(step * len(builds) + done, steps)
            yield open(id)

    numbers: dict[bytes, int] = {}
    merged: list[MergedBook] = []
    ends: list[NDArray[Any]] = []
    windows: list[NDArray[Any]] = []
    holding = np.zeros(1, dtype="i8")
    samples = []
    first: BookIndex | None = None
    for index in books(0):
        first = first or index
        terms, of_book, _, _ = index.sparse.columns()
        known = _numbered(terms, numbers)
        if len(numbers) > len(holding):
            holding = np.concatenate([holding, np.zeros(2 * len(numbers) - len(holding), dtype="i8")])
        holding[known] += of_book
        counts = index.manifest.counts
        merged.append(MergedBook(index.id, builds[index.id], counts.passages, counts.characters))
        ends.append(index.passages.ends.copy())  # a view would keep the book's file open
        windows.append(np.diff(index.window_begins))
        vectors = index.dense.vectors()
        samples.append(vectors[:: max(1, len(vectors) * len(builds) // _TRAINED_ON)])
    assert first is not None, "no book to merge"
    vocabulary = sorted(numbers)
    ranks = np.empty(len(vocabulary), dtype="i8")
    ranks[[numbers[term] for term in vocabulary]] = np.arange(len(vocabulary))
    at = np.zeros(len(vocabulary) + 1, dtype="i8")
    at[1:][ranks] = holding[: len(vocabulary)]
    at = np.cumsum(at)
    arrays = {
        "ends": np.concatenate(ends).astype("<u4"),
        "windows": np.concatenate([[0], np.cumsum(np.concatenate(windows))]).astype("<i4"),
        **term_arrays(vocabulary, at),
        "postings": _postings(books(1), numbers, ranks, at),
    }
    for name, array in arrays.items():
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        (directory / f"{name}.npy").write_bytes(content.getbuffer())
    faiss = faiss_module()
    codes = faiss.IndexScalarQuantizer(
        first.manifest.width, faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT
    )
    codes.train(np.concatenate(samples))
    for index in books(2):
        codes.add(index.dense.vectors())
    (directory / VECTORS).write_bytes(faiss.serialize_index(codes).data)
    manifest = MergedManifest(
        key=merged_key(builds),
        books=tuple(merged),
        encoder=first.manifest.settings.encoder,
        encoder_hash=first.manifest.encoder_hash,
        width=first.manifest.width,
        windows=int(codes.ntotal),
        files={path.name: file_record(path) for path in sorted(directory.iterdir())},
    )
    write_merged_manifest(manifest, directory)
    for path in (*directory.iterdir(), directory):
        flush(path)
    return manifest


def _numbered(terms: Sequence[bytes], numbers: dict[bytes, int]) -> list[int]:
    """The number of each term in the order of their coming, which new ones are given here."""
    return [numbers.setdefault(term, len(numbers)) for term in terms]


def _postings(
    books: Iterator[BookIndex], numbers: Mapping[bytes, int], ranks: NDArray[np.int64], at: NDArray[np.int64]
) -> NDArray[Any]:
    """The postings of all books by term, sorted, and then by passage; those of term i begin ``at[i]``."""
    import numpy as np

    postings = np.zeros(int(at[-1]), dtype=POSTING)
    free = at[:-1].copy()
    passages = 0
    for index in books:
        terms, holding, of_book, weights = index.sparse.columns()
        ranked = ranks[[numbers[term] for term in terms]]
        local = np.cumsum(holding) - holding
        places = np.arange(len(of_book)) + np.repeat(free[ranked] - local, holding)
        postings["passage"][places] = of_book + passages
        postings["weight"][places] = weights
        free[ranked] += holding
        passages += len(index.passages)
    return postings

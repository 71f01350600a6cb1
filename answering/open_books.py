"""What is open: the books used last, as many as fit, in their current builds, and readers as configured."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indexing.errors import IndexMismatch, UnknownBook
from indexing.index import BookIndex, BookText
from indexing.store_protocol import Store
from readers import kind_of, open_reader
from readers.reading import Reader
from retrieval import open_retriever
from retrieval.hits import Retriever

if TYPE_CHECKING:
    from indexing.merged_index import MergedIndex

log = logging.getLogger(__name__)

_TEXTS_SHARE = 16  # texts take at most this part of what books may
_REFUSED_S = 60.0  # for so long a merged index that is damaged in its bucket is not fetched again


class OpenBook:
    """One build of a book and the retrievers over it, made on first use."""

    def __init__(self, build: str, index: BookIndex) -> None:
        self.build = build
        self.index = index
        self._retrievers: dict[str, Retriever] = {}

    def retriever(self, name: str) -> Retriever:
        """The retriever of that name; raises ``UnknownName``."""
        if name not in self._retrievers:
            self._retrievers[name] = open_retriever(name, self.index)
        return self._retrievers[name]


class OpenBooks:
    """Opens books on first use and keeps those used last.

    They are kept up to ``most_bytes`` of index files, one book at least. Books that are ``held`` are
    read into memory and checked when they are opened, so that damage to their files can never reach an
    answer; others are mapped. So are texts quoted without the rest of their books, which are kept, too, all
    up to a sixteenth as many bytes. Safe to call from several threads.
    """

    def __init__(self, store: Store, most_bytes: int, held: bool = False) -> None:
        self._store = store
        self._most_bytes = most_bytes
        self._held = held
        self._open: OrderedDict[str, OpenBook] = OrderedDict()
        self._texts: OrderedDict[str, tuple[str, BookText]] = OrderedDict()  # each with its build
        self._merged_folder: Path | None = None
        self._merged: MergedIndex | None = None
        self._merged_refused_until = float("-inf")
        self._lock = threading.Lock()
        self._opening: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @property
    def bytes(self) -> int:
        """What the files of the open books come to."""
        with self._lock:
            return sum(book.index.manifest.bytes for book in self._open.values())

    def get(self, book_id: str) -> OpenBook:
        """The book in its current build; raises ``UnknownBook`` and ``IndexMismatch``."""
        build = self._current(book_id)
        book = self._kept(book_id, build)
        if book is None:
            with self._lock:
                opening = self._opening[book_id]
            with opening:  # one book's alone: others need not wait for a long one
                book = self._kept(book_id, build) or self._keep(book_id, build)
        return book

    def text(self, book_id: str) -> BookText:
        """The book's text, in its current build; raises as ``get``. One that is not open is not opened."""
        build = self._current(book_id)
        book = self._kept(book_id, build)
        if book is not None:
            return book.index
        if not self._held:
            return self._store.text(book_id)
        with self._lock:
            kept, text = self._texts.get(book_id, (None, None))
            if text is not None and kept == build:
                self._texts.move_to_end(book_id)
                return text
        text = self._store.text(book_id, held=True)
        with self._lock:
            self._texts[book_id] = build, text
            self._texts.move_to_end(book_id)
            size = sum(one.bytes for _, one in self._texts.values())
            while size > self._most_bytes // _TEXTS_SHARE:
                size -= self._texts.popitem(last=False)[1][1].bytes
        return text

    def merged(self) -> MergedIndex | None:
        """The merged index of the store; None where there is none, or it is damaged, which the log has."""
        if time.monotonic() < self._merged_refused_until:
            return None
        try:
            folder = self._store.merged()
        except IndexMismatch as error:  # which to find out again can take a download
            log.error("%s", error)
            self._merged_refused_until = time.monotonic() + _REFUSED_S
            return None
        with self._lock:
            if folder != self._merged_folder:
                self._merged_folder, self._merged = folder, None if folder is None else _opened(folder)
            return self._merged

    def _current(self, book_id: str) -> str:
        try:
            return self._store.current(book_id)
        except UnknownBook:
            with self._lock:  # a book that was removed takes no more room
                self._open.pop(book_id, None)
                self._texts.pop(book_id, None)
            raise

    def _kept(self, book_id: str, build: str) -> OpenBook | None:
        with self._lock:
            book = self._open.get(book_id)
            if book is None or book.build != build:
                return None
            self._open.move_to_end(book_id)
            return book

    def _keep(self, book_id: str, build: str) -> OpenBook:
        book = OpenBook(build, self._store.open(book_id, self._held))
        with self._lock:
            self._open[book_id] = book
            self._open.move_to_end(book_id)
            size = sum(kept.index.manifest.bytes for kept in self._open.values())
            while size > self._most_bytes and len(self._open) > 1:
                _, dropped = self._open.popitem(last=False)
                size -= dropped.index.manifest.bytes
        return book


def _opened(folder: Path) -> MergedIndex | None:
    from indexing.merged_index import MergedIndex

    try:
        return MergedIndex(folder)
    except IndexMismatch as error:  # books are searched one by one instead: slower, and as well
        log.error("%s", error)
        return None


def configured_reader(name: str, settings: Mapping[str, Mapping[str, Any]]) -> Reader:
    """The reader of that name with the ``settings`` of its kind; raises as ``open_reader`` does."""
    return open_reader(name, **settings.get(kind_of(name), {}))

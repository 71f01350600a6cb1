"""What is open: the books last used, each in its current build, and the readers as configured."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from indexing.errors import IndexMismatch, UnknownBook
from indexing.index import BookIndex
from indexing.manifest import Manifest
from indexing.store import IndexStore
from readers import open_reader
from readers.reading import Reader
from retrieval import open_retriever
from retrieval.hits import Retriever


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
    """Opens books on first use and keeps the ``most`` last used; safe to call from several threads."""

    def __init__(self, store: IndexStore, most: int) -> None:
        self._store = store
        self._most = most
        self._open: OrderedDict[str, OpenBook] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, book_id: str) -> OpenBook:
        """The book in its current build; raises ``UnknownBook`` and ``IndexMismatch``."""
        with self._lock:
            build = self._store.current(book_id)
            book = self._open.get(book_id)
            if book is None or book.build != build:
                book = self._open[book_id] = OpenBook(build, self._store.open(book_id))
            self._open.move_to_end(book_id)
            while len(self._open) > self._most:
                self._open.popitem(last=False)
            return book


def configured_reader(name: str, settings: Mapping[str, Mapping[str, Any]]) -> Reader:
    """The reader of that name with the ``settings`` of its kind; raises as ``open_reader`` does."""
    return open_reader(name, **settings.get(name.partition(":")[0], {}))


def manifests(store: IndexStore) -> tuple[list[Manifest], list[IndexMismatch]]:
    """What every book says about itself, and what is wrong with those that cannot."""
    read: list[Manifest] = []
    damaged: list[IndexMismatch] = []
    for book_id in store.ids():
        try:
            read.append(store.manifest(book_id))
        except IndexMismatch as error:
            damaged.append(error)
        except UnknownBook:  # removed since the ids were read
            continue
    return read, damaged

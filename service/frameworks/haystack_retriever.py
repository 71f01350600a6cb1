"""A retriever for Haystack, a component of its pipelines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from service.client import Client
from service.client_requests import URL
from service.frameworks.searching import MissingFramework, name_of, place_of
from service.local_library import Library

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret
except ImportError as error:
    raise MissingFramework(error.name, "haystack") from None


@component
class StoryQARetriever:
    """The ``top_k`` passages of ``book`` that fit a query, best first, up to ``before`` alone.

    They are those of the books in the folder ``library``, or else of the service at ``url``, with ``key``
    where it wants one. ``book`` is an id, a list of ids, ``shelf:NAME`` or ``*``. ``meta`` of a document is
    the passage's place: ``book_id``, ``title``, ``number``, ``start``, ``end``, ``chapter``.
    """

    def __init__(
        self,
        book: str | list[str],
        *,
        library: Path | str | None = None,
        url: str = URL,
        key: Secret | None = None,
        before: int | str | dict[str, Any] | None = None,
        top_k: int = 5,
        retriever: str | None = None,
    ) -> None:
        self.book = book
        self.library = None if library is None else str(library)  # as it is kept
        self.url = url
        self.key = key
        self.before = before
        self.top_k = top_k
        self.retriever = retriever
        self._opened: Library | None = None

    def warm_up(self) -> None:
        """Open the library, where the books are those of one."""
        if self.library is not None and self._opened is None:
            self._opened = Library(self.library)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, before: int | str | dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, Any]:
        """The passages; ``before`` and ``top_k`` in place of those that the component was made with."""
        self.warm_up()
        limit, k = self.before if before is None else before, self.top_k if top_k is None else top_k
        if self._opened is not None:
            found = self._opened.search(self.book, query, before=limit, k=k, retriever=self.retriever)
        else:  # a connection a call, for a component is never told that it is not needed any more
            with Client(self.url, key=None if self.key is None else self.key.resolve_value()) as client:
                found = client.search(self.book, query, before=limit, k=k, retriever=self.retriever)
        return {
            "documents": [
                Document(id=name_of(hit), content=hit.text, meta=place_of(hit), score=hit.score)
                for hit in found.hits
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        """For a pipeline that is kept as YAML; a key from the environment by its name alone."""
        content: dict[str, Any] = default_to_dict(
            self,
            book=self.book,
            library=self.library,
            url=self.url,
            key=None if self.key is None else self.key.to_dict(),
            before=self.before,
            top_k=self.top_k,
            retriever=self.retriever,
        )
        return content

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StoryQARetriever:
        """The component that ``to_dict`` told of."""
        given = data["init_parameters"]
        if given.get("key") is not None:
            given["key"] = Secret.from_dict(given["key"])
        made: StoryQARetriever = default_from_dict(cls, data)
        return made

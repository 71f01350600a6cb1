"""A retriever for LangChain."""

from __future__ import annotations

from typing import Any

from service.client_requests import Limits
from service.frameworks.searching import MissingFramework, name_of, place_of

try:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
except ImportError as error:
    raise MissingFramework(error.name, "langchain") from None


class StoryQARetriever(BaseRetriever):
    """The ``k`` passages of ``book`` that fit a question, best first, up to ``before`` alone.

    ``source`` is a ``Library`` or a ``Client``; ``book`` an id, a list of ids, ``shelf:NAME`` or ``*``.
    ``metadata`` of a document is the passage's place: ``book_id``, ``title``, ``number``, ``start``, ``end``,
    ``chapter``; and its ``score``.
    """

    source: Any
    book: str | list[str]
    before: Limits = None
    k: int = 5
    retriever: str | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        found = self.source.search(self.book, query, before=self.before, k=self.k, retriever=self.retriever)
        return [
            Document(id=name_of(hit), page_content=hit.text, metadata=place_of(hit) | {"score": hit.score})
            for hit in found.hits
        ]

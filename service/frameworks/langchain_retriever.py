"""A retriever for LangChain."""

from __future__ import annotations

from typing import Any

from pydantic import ConfigDict

from service.client_requests import Limits
from service.frameworks.searching import MissingFramework, name_of, place_of

try:
    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.runnables import run_in_executor
except ImportError as error:
    raise MissingFramework(error.name, "langchain") from None


class StoryQARetriever(BaseRetriever):
    """The ``k`` passages of ``book`` that fit a question, best first, up to ``before`` alone.

    ``source`` is a ``Library`` or a ``Client``; ``book`` an id, a list of ids, ``shelf:NAME`` or ``*``.
    ``metadata`` of a document is the passage's place: ``book_id``, ``title``, ``number``, ``start``, ``end``,
    ``chapter``; and its ``score``. ``invoke`` takes ``before`` and ``k`` in place of those that it was made
    with.
    """

    model_config = ConfigDict(extra="forbid")  # a limit by another name would show the whole book

    source: Any
    book: str | list[str]
    before: Limits = None
    k: int = 5
    retriever: str | None = None

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        before: Limits = None,
        k: int | None = None,
    ) -> list[Document]:
        limit, most = self.before if before is None else before, self.k if k is None else k
        found = self.source.search(self.book, query, before=limit, k=most, retriever=self.retriever)
        return [
            Document(id=name_of(hit), page_content=hit.text, metadata=place_of(hit) | {"score": hit.score})
            for hit in found.hits
        ]

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **given: Any
    ) -> list[Document]:
        found: list[Document] = await run_in_executor(
            None, self._get_relevant_documents, query, run_manager=run_manager.get_sync(), **given
        )
        return found

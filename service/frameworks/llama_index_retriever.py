"""A retriever for LlamaIndex."""

from __future__ import annotations

from service.client_requests import Limits
from service.frameworks.searching import MissingFramework, Searching, name_of, place_of

try:
    from llama_index.core.retrievers import BaseRetriever
    from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
except ImportError as error:
    raise MissingFramework(error.name, "llama-index") from None


class StoryQARetriever(BaseRetriever):
    """The ``k`` passages of ``book`` that fit a question, best first, up to ``before`` alone.

    ``source`` is a ``Library`` or a ``Client``; ``book`` an id, a list of ids, ``shelf:NAME`` or ``*``. Nodes
    know their bounds in the book, Unicode code points, and have the rest of their place as ``metadata``.
    """

    def __init__(
        self,
        source: Searching,
        book: str | list[str],
        *,
        before: Limits = None,
        k: int = 5,
        retriever: str | None = None,
    ) -> None:
        super().__init__()
        self._source = source
        self._book = book
        self._before = before
        self._k = k
        self._named = retriever

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._source.search(
            self._book, query_bundle.query_str, before=self._before, k=self._k, retriever=self._named
        )
        return [
            NodeWithScore(
                node=TextNode(
                    id_=name_of(hit),
                    text=hit.text,
                    metadata=place_of(hit),
                    start_char_idx=hit.start,
                    end_char_idx=hit.end,
                ),
                score=hit.score,
            )
            for hit in found.hits
        ]

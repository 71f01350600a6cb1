"""A question and one book's index in, ranked passages out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from text.registry import resolve

if TYPE_CHECKING:
    from indexing.index import BookIndex
    from retrieval.hits import Retriever

RETRIEVERS = {
    "tfidf": "retrieval.sparse:TfidfRetriever",
    "bm25": "retrieval.sparse:Bm25Retriever",
    "dense": "retrieval.hybrid:DenseRetriever",
    "hybrid": "retrieval.hybrid:HybridRetriever",
    "rerank": "retrieval.rerank:RerankRetriever",
    "rouge-span": "retrieval.span_overlap:RougeSpanRetriever",
    "bleu-span": "retrieval.span_overlap:BleuSpanRetriever",
    "lda": "retrieval.lda:LdaRetriever",
}
DEFAULT_RETRIEVER = "rerank"


def open_retriever(name: str, index: BookIndex) -> Retriever:
    """The retriever of that name, bound to one book; raises UnknownName with the choices."""
    retriever: Retriever = resolve("retriever", name, RETRIEVERS)(index)
    return retriever


def retriever_class(name: str) -> type[Retriever]:
    """The class of the retriever of that name, which says what a search costs; raises UnknownName."""
    found: type[Retriever] = resolve("retriever", name, RETRIEVERS)
    return found

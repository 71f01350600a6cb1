"""A question and one book's index in, ranked passages out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from text.registry import Spec, by_name, resolve

if TYPE_CHECKING:
    from indexing.index import BookIndex
    from retrieval.hits import Retriever

_NARRATIVEQA = "Kočiský et al. 2018"

RETRIEVERS: dict[str, Spec] = by_name(
    Spec(
        "tfidf",
        "retrieval.sparse:TfidfRetriever",
        "the cosine of TF-IDF weights (scikit-learn's)",
        _NARRATIVEQA,
        "5.3",
        public=True,
    ),
    Spec("bm25", "retrieval.sparse:Bm25Retriever", "Okapi BM25 (rank-bm25's weights)", public=True),
    Spec(
        "dense",
        "retrieval.hybrid:DenseRetriever",
        "the best of the overlapping 80-word windows in each passage, by the encoder's vectors (FAISS)",
        public=True,
    ),
    Spec(
        "hybrid", "retrieval.hybrid:HybridRetriever", "the sum of `bm25` and `dense`, z-scored", public=True
    ),
    Spec(
        "rerank",
        "retrieval.rerank:RerankRetriever",
        "the relevance that the cross-encoder gives the best passages of `hybrid`",
        "Nogueira and Cho 2019",
        "3",
        public=True,
    ),
    Spec(
        "rouge-span",
        "retrieval.span_overlap:RougeSpanRetriever",
        "the span of 8 tokens of most ROUGE-L with the question",
        _NARRATIVEQA,
        "5.3",
    ),
    Spec(
        "bleu-span",
        "retrieval.span_overlap:BleuSpanRetriever",
        "the span of 8 tokens of most BLEU-1 with the question",
        _NARRATIVEQA,
        "5.3",
    ),
    Spec(
        "lda",
        "retrieval.lda:LdaRetriever",
        "the symmetric KL divergence of LDA topics, fitted on the book's passages, from the question's",
        _NARRATIVEQA,
        "5.3",
    ),
)
DEFAULT_RETRIEVER = "rerank"


def open_retriever(name: str, index: BookIndex) -> Retriever:
    """The retriever of that name, bound to one book; raises UnknownName with the choices."""
    retriever: Retriever = resolve("retriever", name, RETRIEVERS)(index)
    return retriever


def retriever_class(name: str) -> type[Retriever]:
    """The class of the retriever of that name, which says what a search costs; raises UnknownName."""
    found: type[Retriever] = resolve("retriever", name, RETRIEVERS)
    return found

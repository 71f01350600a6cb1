"""A question and one book's index in, ranked passages out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from encoders.sizes import prefers_large
from text.registry import (
    Spec,
    UnknownName,
    by_name,
    check_name,
    import_object,
    public_names,
    resolve,
)

if TYPE_CHECKING:
    from indexing.index import BookIndex
    from retrieval.hits import Retriever
    from retrieval.several_books import Part


@dataclass(frozen=True, slots=True)
class RetrieverSpec(Spec):
    """A retriever; ``together`` is what makes one over several books at once, None where none does."""

    together: str | None = None


DEFAULT_RETRIEVER = "rerank"
LARGE_RERANK = "rerank-large"
_NARRATIVEQA = "Kočiský et al. 2018"

RETRIEVERS: dict[str, RetrieverSpec] = by_name(
    RetrieverSpec(
        "tfidf",
        "retrieval.sparse:TfidfRetriever",
        "the cosine of TF-IDF weights (scikit-learn's)",
        _NARRATIVEQA,
        "5.3",
        public=True,
    ),
    RetrieverSpec(
        "bm25",
        "retrieval.sparse:Bm25Retriever",
        "Okapi BM25 (rank-bm25's weights)",
        public=True,
        together="retrieval.several_books:bm25",
    ),
    RetrieverSpec(
        "dense",
        "retrieval.hybrid:DenseRetriever",
        "the best of the overlapping 80-word windows in each passage, by the encoder's vectors (FAISS)",
        public=True,
        together="retrieval.several_books:dense",
    ),
    RetrieverSpec(
        "hybrid",
        "retrieval.hybrid:HybridRetriever",
        "the sum of `bm25` and `dense`, z-scored",
        public=True,
        together="retrieval.several_books:hybrid",
    ),
    RetrieverSpec(
        "rerank",
        "retrieval.rerank:RerankRetriever",
        "the relevance that the cross-encoder gives the best passages of `hybrid`",
        "Nogueira and Cho 2019",
        "3",
        public=True,
        together="retrieval.several_books:rerank",
    ),
    RetrieverSpec(
        LARGE_RERANK,
        "retrieval.rerank:LargeRerankRetriever",
        "the same by the large cross-encoder, for which the backbone `mpnet` has to be installed",
        together="retrieval.several_books:rerank_large",
    ),
    RetrieverSpec(
        "rouge-span",
        "retrieval.span_overlap:RougeSpanRetriever",
        "the span of 8 tokens of most ROUGE-L with the question",
        _NARRATIVEQA,
        "5.3",
    ),
    RetrieverSpec(
        "bleu-span",
        "retrieval.span_overlap:BleuSpanRetriever",
        "the span of 8 tokens of most BLEU-1 with the question",
        _NARRATIVEQA,
        "5.3",
    ),
    RetrieverSpec(
        "lda",
        "retrieval.lda:LdaRetriever",
        "the symmetric KL divergence of LDA topics, fitted on the book's passages, from the question's",
        _NARRATIVEQA,
        "5.3",
    ),
)


def retriever_for(name: str) -> str:
    """The retriever that a question goes to: ``name``, and of ``rerank`` the size that is preferred."""
    return LARGE_RERANK if name == DEFAULT_RETRIEVER and prefers_large() else name


def public_retrievers() -> tuple[str, ...]:
    """The names that whoever can ask the service may give: the large one only where that is preferred."""
    return (*public_names(RETRIEVERS), *([LARGE_RERANK] if prefers_large() else []))


def open_retriever(name: str, index: BookIndex) -> Retriever:
    """The retriever of that name, bound to one book; raises UnknownName with the choices."""
    retriever: Retriever = resolve("retriever", name, RETRIEVERS)(index)
    return retriever


def retriever_class(name: str) -> type[Retriever]:
    """The class of the retriever of that name, which says what a search costs; raises UnknownName."""
    found: type[Retriever] = resolve("retriever", name, RETRIEVERS)
    return found


def check_together(name: str) -> None:
    """Raise ``UnknownName``, with the choices, unless that retriever can search several books at once."""
    check_name("retriever", name, RETRIEVERS)
    if RETRIEVERS[name].together is None:
        raise UnknownName(
            "retriever of several books", name, tuple(n for n, s in RETRIEVERS.items() if s.together)
        )


def open_together(name: str, parts: Sequence[Part]) -> Retriever:
    """The retriever of that name over several books; raises ``UnknownName``."""
    check_together(name)
    retriever: Retriever = import_object(str(RETRIEVERS[name].together))(parts)
    return retriever

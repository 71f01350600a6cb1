"""What each line of the table of retrievers does, for people."""

from __future__ import annotations

from text.registry import About

_NARRATIVEQA = "Kočiský et al. 2018"

ABOUT: dict[str, About] = {
    "tfidf": About("cosine of TF-IDF weights", _NARRATIVEQA, "5.3"),
    "bm25": About("Okapi BM25"),
    "dense": About("the best of the overlapping 80-word windows in a passage, by the encoder's vectors"),
    "hybrid": About("the sum of bm25 and dense, z-scored"),
    "rerank": About(
        "the cross-encoder's relevance of the best passages of hybrid", "Nogueira and Cho 2019", "3"
    ),
    "rouge-span": About("the span of 8 tokens of most ROUGE-L with the question", _NARRATIVEQA, "5.3"),
    "bleu-span": About("the span of 8 tokens of most BLEU-1 with the question", _NARRATIVEQA, "5.3"),
    "lda": About("symmetric KL divergence of LDA topics, fitted on the book's passages", _NARRATIVEQA, "5.3"),
}

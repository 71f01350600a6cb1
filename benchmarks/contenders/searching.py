"""The peers that search a book by BM25."""

from __future__ import annotations

import re

from haystack_components import document_store, numbers

Passages = list[str]


class Bm25s:
    """bm25s with its own tokenizer, which drops English stop words."""

    def prepare(self, passages: Passages) -> None:
        import bm25s

        self.bm25s = bm25s
        self.retriever = bm25s.BM25()
        self.retriever.index(bm25s.tokenize(passages, show_progress=False), show_progress=False)

    def run(self, question: str, k: int) -> list[int]:
        tokens = self.bm25s.tokenize([question], show_progress=False)
        found: list[int] = self.retriever.retrieve(tokens, k=k, show_progress=False)[0][0].tolist()
        return found


class Bm25sTokens:
    """bm25s on words that are given: every word counts, and finding them in the question is not timed."""

    def prepare(self, passages: list[list[str]]) -> None:
        import bm25s

        self.retriever = bm25s.BM25(method="atire", k1=1.5, b=0.75)
        self.retriever.index(passages, show_progress=False)

    def run(self, question: list[str], k: int) -> list[int]:
        found: list[int] = self.retriever.retrieve([question], k=k, show_progress=False)[0][0].tolist()
        return found


class RankBm25:
    """rank_bm25's Okapi, which leaves words to its user: here runs of letters and digits."""

    def prepare(self, passages: Passages) -> None:
        from rank_bm25 import BM25Okapi  # type: ignore[import-untyped]

        self.numbers = list(range(len(passages)))
        self.bm25 = BM25Okapi([self.words(passage) for passage in passages])

    def run(self, question: str, k: int) -> list[int]:
        return [int(n) for n in self.bm25.get_top_n(self.words(question), self.numbers, n=k)]

    @staticmethod
    def words(text: str) -> list[str]:
        return re.findall(r"\w+", text.lower())


class HaystackBm25:
    """Haystack's in-memory document store and its BM25 retriever."""

    def prepare(self, passages: Passages) -> None:
        from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

        self.retriever = InMemoryBM25Retriever(document_store(passages))

    def run(self, question: str, k: int) -> list[int]:
        return numbers(self.retriever.run(query=question, top_k=k))

"""The other tools, each as its documentation uses it, run by an interpreter that does not have storyqa.

    python worker.py TOOL

Reads one request per line from stdin, ``{"do": METHOD, "with": {...}}``, and answers each with one line,
``{"seconds": what the method took, "result": what it returned}`` or ``{"error": ...}``. Only the method
itself is timed: neither the pipe nor the JSON.
"""

from __future__ import annotations

import json
import os
import re
import sys
import time
import traceback
from typing import Any

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


class SentenceTransformers:
    """sentence-transformers as it comes: fp32, batches of 32 texts."""

    def prepare(self, model: str) -> None:
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(model)

    def run(self, texts: list[str]) -> None:
        self.vectors = self.model.encode(texts, show_progress_bar=False)

    def last(self) -> list[list[float]]:
        """The unit vectors of the last run."""
        return [(vector / (vector @ vector) ** 0.5).tolist() for vector in self.vectors]


class HaystackReader:
    """Haystack's extractive reader, its settings left alone but for how many answers it gives."""

    def prepare(self, model: str) -> None:
        from haystack import Document

        self.document = Document
        self.reader = extractive_reader(model)
        self.reader.warm_up()

    def run(self, question: str, passages: Passages) -> list[dict[str, Any]]:
        documents = [self.document(content=text, meta={"number": n}) for n, text in enumerate(passages)]
        return answers(self.reader.run(query=question, documents=documents))


class HaystackPipeline:
    """Haystack's BM25 retriever and its extractive reader in one pipeline."""

    def prepare(self, model: str, passages: Passages, books: list[str] | None = None) -> None:
        from haystack import Pipeline
        from haystack.components.retrievers.in_memory import InMemoryBM25Retriever

        self.retriever = InMemoryBM25Retriever(document_store(passages, books))
        self.pipeline = Pipeline()
        self.pipeline.add_component("search", self.retriever)
        self.pipeline.add_component("read", extractive_reader(model))
        self.pipeline.connect("search.documents", "read.documents")

    def search(self, question: str, k: int, book: str | None = None) -> list[int]:
        return numbers(self.retriever.run(query=question, top_k=k, filters=only(book)))

    def run(self, question: str, k: int, book: str | None = None) -> list[dict[str, Any]]:
        search = {"query": question, "top_k": k, "filters": only(book)}
        return answers(self.pipeline.run({"search": search, "read": {"query": question}})["read"])


TOOLS = {
    tool.__name__: tool
    for tool in (
        Bm25s,
        Bm25sTokens,
        RankBm25,
        HaystackBm25,
        SentenceTransformers,
        HaystackReader,
        HaystackPipeline,
    )
}


def document_store(passages: Passages, books: list[str] | None = None) -> Any:
    """A store of the passages, each with its number and, where they are given, its book's id."""
    from haystack import Document
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore()
    meta = [{"number": n, **({"book": books[n]} if books else {})} for n in range(len(passages))]
    store.write_documents(
        [Document(content=text, meta=of_one) for text, of_one in zip(passages, meta, strict=True)]
    )
    return store


def only(book: str | None) -> dict[str, Any] | None:
    """The filter for the documents of one book."""
    return None if book is None else {"field": "meta.book", "operator": "==", "value": book}


def numbers(found: dict[str, Any]) -> list[int]:
    """The numbers of the passages that a retriever returned, best first."""
    return [document.meta["number"] for document in found["documents"]]


def extractive_reader(model: str) -> Any:
    from haystack_integrations.components.readers.transformers import TransformersExtractiveReader

    return TransformersExtractiveReader(model=model, top_k=3, no_answer=False)


def answers(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Text, score, passage and place of every answer, best first."""
    return [
        {
            "text": answer.data,
            "score": float(answer.score),
            "passage": answer.document.meta["number"],
            "start": answer.document_offset.start,
            "end": answer.document_offset.end,
        }
        for answer in result["answers"]
        if answer.data is not None
    ]


def main() -> None:
    # Whatever the tools print goes to stderr; the answers have stdout to themselves.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    tool = TOOLS[sys.argv[1]]()
    for line in sys.stdin:
        request = json.loads(line)
        method, arguments = getattr(tool, request["do"]), request["with"]
        reply: dict[str, Any]
        try:
            began = time.perf_counter()
            result = method(**arguments)
            reply = {"seconds": time.perf_counter() - began, "result": result}
        except Exception:
            reply = {"error": traceback.format_exc()}
        out.write(json.dumps(reply) + "\n")
        out.flush()


if __name__ == "__main__":
    main()

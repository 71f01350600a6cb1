"""Haystack's document store, extractive reader and pipeline, as its documentation uses them."""

from __future__ import annotations

from typing import Any

Passages = list[str]


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

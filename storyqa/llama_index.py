"""The retriever for LlamaIndex; needs the extra ``llama-index``."""

from __future__ import annotations

from service.frameworks.llama_index_retriever import StoryQARetriever

__all__ = ["StoryQARetriever"]

"""The retriever for LangChain; needs the extra ``langchain``."""

from __future__ import annotations

from service.frameworks.langchain_retriever import StoryQARetriever

__all__ = ["StoryQARetriever"]

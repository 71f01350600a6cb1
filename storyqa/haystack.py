"""The retriever for Haystack; needs the extra ``haystack``."""

from __future__ import annotations

from service.frameworks.haystack_retriever import StoryQARetriever

__all__ = ["StoryQARetriever"]

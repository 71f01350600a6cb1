"""Haystack's pipeline as hayhooks serves it; a copy of this file lies beside ``book.json``, its book."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hayhooks import BasePipelineWrapper
from haystack_components import HaystackPipeline


class PipelineWrapper(BasePipelineWrapper):  # type: ignore[misc]
    """``book.json`` holds ``model``, a folder, and ``passages``."""

    def setup(self) -> None:
        book = json.loads(Path(__file__).with_name("book.json").read_text(encoding="utf-8"))
        self.book = HaystackPipeline()
        self.book.prepare(**book)
        self.pipeline = self.book.pipeline

    def run_api(self, question: str, k: int) -> list[dict[str, Any]]:
        return self.book.run(question, k)

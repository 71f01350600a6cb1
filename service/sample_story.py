"""The sample story that comes with storyqa: files that lie with the evaluation, whose code is not run."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

BOOK_ID = "weigher-of-sandry-quay"


def story() -> Path:
    """The story's file: plain text, UTF-8."""
    return _folder() / f"{BOOK_ID}.txt"


def suggested_questions() -> list[str]:
    """Questions that show what can be asked."""
    lines = (_folder() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [record["question"] for record in map(json.loads, lines) if record["demo"]]


def _folder() -> Path:
    return Path(str(resources.files("evaluation"))) / "sample"

"""The tale that comes with storyqa, and questions about it with reference answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

KINDS = ("who", "what", "where", "when", "why", "how", "how many", "unanswerable")


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question about the sample story; ``answers`` is empty where the story does not say.

    ``explicit`` answers stand in the text word for word. ``evidence`` is a quotation that occurs
    once in the story, line breaks read as spaces, inside the chapter numbered ``chapter``.
    ``demo`` marks the questions that ``make demo`` asks.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    kind: str
    explicit: bool
    chapter: int | None
    evidence: str | None
    demo: bool

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"question {self.id} is of kind {self.kind!r}; choose from {', '.join(KINDS)}")
        parts = (
            self.kind != "unanswerable",
            bool(self.answers),
            self.chapter is not None,
            self.evidence is not None,
        )
        if len(set(parts)) > 1:
            raise ValueError(f"question {self.id} wants answers, chapter and evidence, or none of the three")


def sample_story() -> Path:
    """The file of the sample story: plain text, UTF-8."""
    return _file("weigher-of-sandry-quay.txt")


def sample_questions() -> list[SampleQuestion]:
    """All questions about the sample story, in the order in which the story answers them."""
    lines = _file("questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [SampleQuestion(**row | {"answers": tuple(row["answers"])}) for row in map(json.loads, lines)]


def _file(name: str) -> Path:
    return Path(str(files(__name__) / name))

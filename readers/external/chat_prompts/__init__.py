"""What a chat model is told: a file a prompt, whose first line is its version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Prompt:
    """Instructions to a model: ``version`` names the file and which of its texts over time this is."""

    version: str
    text: str


@cache
def load_prompt(name: str) -> Prompt:
    """The prompt in the file ``name.txt`` of this folder."""
    head, _, text = (_FOLDER / f"{name}.txt").read_text(encoding="utf-8").partition("\n\n")
    return Prompt(f"{name} {head.removeprefix('version ')}", text.strip())

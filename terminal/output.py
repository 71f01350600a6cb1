"""How commands print: JSON for machines, rich for people."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

_UNPRINTABLE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")


def print_json(content: Any) -> None:
    """``content`` as JSON on standard output; non-ASCII characters as they are where it can take them."""
    readable = "utf" in (sys.stdout.encoding or "").lower()
    print(json.dumps(content, indent=2, ensure_ascii=not readable), flush=True)


def console() -> Console:
    """A console on standard output; where that is not a terminal, wide enough for whole lines."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False, width=None if sys.stdout.isatty() else 100)


def marks_by_style(out: Console) -> bool:
    """Whether what is printed there can be told apart by its colours: not in a file, nor with NO_COLOR."""
    return out.color_system is not None and not out.no_color


def printable(text: str) -> str:
    """``text`` on one line: every run of space and of characters that steer a terminal is one space."""
    return _UNPRINTABLE.sub(" ", text)


def counted(count: int, noun: str) -> str:
    """``"1 book"``, ``"2,000 books"``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def size(count: int) -> str:
    """A number of bytes for people: ``"1.2 MB"``."""
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000  # type: ignore[assignment]
    return f"{count:.3g} GB"

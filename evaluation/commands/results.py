"""What the measures that are no benchmark leave: a table or JSON, and a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

Draw = Callable[[dict[str, Any], "Console"], None]


def show_result(
    result: dict[str, Any],
    draw: Draw,
    out: Path | None,
    as_json: bool,
    details: Mapping[str, Any] | None = None,
) -> None:
    """Print the result, as JSON or as ``draw`` draws it, and write it to ``out``, if that is given.

    ``details`` stand behind it in the file alone. ``outputs.check_file`` has made the folder of ``out``.
    """
    from terminal.output import console, print_json

    if out is not None:
        text = json.dumps({**result, **(details or {})}, indent=1, ensure_ascii=False)
        out.write_text(text + "\n", encoding="utf-8")
    if as_json:
        print_json(result)
    else:
        draw(result, console())

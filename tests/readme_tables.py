"""The README's tables of readers and retrievers, made from their records.

``python tests/readme_tables.py`` writes them anew between their markers.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path

from readers import DEFAULT_READER, READERS
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS
from text.registry import Spec

README = Path(__file__).parents[1] / "README.md"


def current() -> dict[str, str]:
    """The tables of the code as it is, by the name that their markers have."""
    return {
        "retrievers": _table(("retriever", "ranks passages by"), RETRIEVERS, DEFAULT_RETRIEVER),
        "readers": _table(("reader", "answers with"), READERS, DEFAULT_READER),
    }


def stored(text: str) -> dict[str, str]:
    """The tables that stand in ``text``, by name."""
    return {match["name"]: match["table"] for match in _MARKED.finditer(text)}


def replaced(text: str) -> str:
    """``text`` with the tables of the code as it is."""
    tables = current()
    return _MARKED.sub(lambda m: f"{_start(m['name'])}{tables[m['name']]}{_end(m['name'])}", text)


def _start(name: str) -> str:
    return f"<!-- {name}: make docs-tables -->\n"


def _end(name: str) -> str:
    return f"<!-- end of {name} -->"


_MARKED = re.compile(f"{_start('(?P<name>[a-z]+)')}(?P<table>.*?){_end('(?P=name)')}", re.DOTALL)


def _table(head: tuple[str, str], table: Mapping[str, Spec], default: str) -> str:
    lines = [f"| {head[0]} | {head[1]} | from |", "|---|---|---|"]
    for spec in table.values():
        forms = ", ".join(f"`{form}`" for form in spec.written)
        does = f"{spec.does}; the default" if spec.name == default else spec.does
        lines.append(f"| {forms} | {does} | {spec.source} |")
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    """Write the tables of the code as it is into the README."""
    README.write_text(replaced(README.read_text(encoding="utf-8")), encoding="utf-8")
    print(f"wrote {', '.join(current())} into {README}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

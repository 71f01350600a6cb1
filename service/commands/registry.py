"""``storyqa readers`` and ``storyqa retrievers``: the names that can be given, and what each does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from service.commands.options import AsJson
from terminal.output import console, print_json

if TYPE_CHECKING:
    from text.registry import About


def readers(as_json: AsJson = False) -> None:
    """List the readers: what each answers with, and the paper and section it is from."""
    from readers import DEFAULT_READER
    from readers.about import ABOUT

    _print("reader", ABOUT, DEFAULT_READER, as_json)


def retrievers(as_json: AsJson = False) -> None:
    """List the retrievers: what each ranks passages by, and the paper and section it is from."""
    from retrieval import DEFAULT_RETRIEVER
    from retrieval.about import ABOUT

    _print("retriever", ABOUT, DEFAULT_RETRIEVER, as_json)


def _print(kind: str, lines: Mapping[str, About], default: str, as_json: bool) -> None:
    if as_json:
        print_json(
            [{"name": name, "default": name == default, **line._asdict()} for name, line in lines.items()]
        )
        return
    from rich.table import Table

    table = Table()
    for column in (kind, "does", "from"):
        table.add_column(column, overflow="fold")
    for name, line in lines.items():
        source = "" if line.paper is None else f"{line.paper}, {line.where}"
        table.add_row(f"{name} (default)" if name == default else name, line.does, source)
    console().print(table)

"""``storyqa readers`` and ``storyqa retrievers``: the names that can be given, and what each does."""

from __future__ import annotations

from collections.abc import Mapping

from readers import DEFAULT_READER, READERS
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS
from service.commands.options import AsJson
from terminal.output import console, print_json
from text.registry import Spec


def readers(as_json: AsJson = False) -> None:
    """List the readers: what each answers with, and the paper and section it is from."""
    _print("reader", READERS, DEFAULT_READER, as_json)


def retrievers(as_json: AsJson = False) -> None:
    """List the retrievers: what each ranks passages by, and the paper and section it is from."""
    _print("retriever", RETRIEVERS, DEFAULT_RETRIEVER, as_json)


def _print(kind: str, table: Mapping[str, Spec], default: str, as_json: bool) -> None:
    if as_json:
        print_json(
            [
                {
                    "name": spec.name,
                    "default": spec.name == default,
                    "does": spec.does,
                    "paper": spec.paper,
                    "section": spec.section,
                    "forms": spec.written,
                }
                for spec in table.values()
            ]
        )
        return
    from rich.table import Table

    shown = Table()
    shown.add_column(kind, no_wrap=True)
    shown.add_column("does", overflow="fold")
    shown.add_column("from", overflow="fold")
    for spec in table.values():
        first, *others = spec.written
        forms = [f"{first} (default)" if spec.name == default else first, *others]
        shown.add_row("\n".join(forms), spec.does, spec.source)
    console().print(shown)

"""``storyqa readers`` and ``storyqa retrievers``: the names that can be given, and what each does."""

from __future__ import annotations

from collections.abc import Mapping

from readers import DEFAULT_READER, READERS
from readers.choosing import reader_for
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS, retriever_for
from service.commands.options import AsJson
from terminal.output import console, print_json
from text.registry import Spec


def readers(as_json: AsJson = False) -> None:
    """List the readers: what each answers with, and the paper and section it is from."""
    _print("reader", READERS, DEFAULT_READER, reader_for(DEFAULT_READER, ""), as_json)


def retrievers(as_json: AsJson = False) -> None:
    """List the retrievers: what each ranks passages by, and the paper and section it is from."""
    _print("retriever", RETRIEVERS, DEFAULT_RETRIEVER, retriever_for(DEFAULT_RETRIEVER), as_json)


def _print(kind: str, table: Mapping[str, Spec], default: str, resolved: str, as_json: bool) -> None:
    """``resolved`` is the name of the size that ``default`` stands for here."""
    if as_json:
        print_json(
            [
                {
                    "name": spec.name,
                    "default": spec.name == default,
                    "resolved": resolved if spec.name == default else spec.name,
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
    mark = "default" if resolved == default else f"default, here {resolved}"
    for spec in table.values():
        first, *others = spec.written
        forms = [f"{first} ({mark})" if spec.name == default else first, *others]
        shown.add_row("\n".join(forms), spec.does, spec.source)
    console().print(shown)

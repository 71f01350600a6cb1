"""Options that several commands of the evaluation have."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from answering.configuration import Configuration

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
ReaderName = Annotated[str, typer.Option("--reader", help="As for the benchmarks.")]
RetrieverName = Annotated[str, typer.Option("--retriever", help="As for the benchmarks.")]
Stories = Annotated[Path, typer.Option(help="The folder of NarrativeQA, with its full stories.")]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FOLDER|ADDRESS",
        help="The store for the indexes: a folder, or s3://, gs:// or az:// with bucket and prefix; by "
        "default a folder in the user's cache.",
        show_default=False,
    ),
]


def with_indexes(configuration: Configuration, store: str | None) -> Configuration:
    """The same with the store for the indexes of benchmarks, which never go among the user's own books."""
    from indexing.store_address import checked_address

    place = configuration.cache / "evaluation" if store is None else checked_address(store)
    # Absolute, for processes of a cluster that work in folders of their own.
    return replace(configuration, store=place.absolute() if isinstance(place, Path) else place)


def check_asked(retriever: str, reader: str, k: int = 5, extractor: str | None = None) -> None:
    """Find fault with what answers before any data are read."""
    from answering.ask import Ask
    from readers import READERS, kind_of
    from retrieval import RETRIEVERS
    from text.registry import check_name

    check_name("retriever", retriever, RETRIEVERS)
    for name in filter(None, (reader, extractor)):
        check_name("reader", kind_of(name), READERS)
    Ask("any", "Is k in bounds?", k=k)

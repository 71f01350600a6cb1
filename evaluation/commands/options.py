"""Options that several commands of the evaluation have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]
ReaderName = Annotated[str, typer.Option("--reader", help="As for the benchmarks.")]
RetrieverName = Annotated[str, typer.Option("--retriever", help="As for the benchmarks.")]
Stories = Annotated[Path, typer.Option(help="The folder of NarrativeQA, with its full stories.")]
Store = Annotated[
    Path | None,
    typer.Option("--store", help="The folder for the indexes; by default in the user's cache."),
]

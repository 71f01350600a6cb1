"""The options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Store = Annotated[
    Path | None,
    typer.Option(
        "--store",
        help="The folder of the index store; or STORYQA_STORE; by default the platform's data folder.",
        show_default=False,
        file_okay=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
BookId = Annotated[str, typer.Argument(metavar="ID", help="A book's id, as 'storyqa books' lists it.")]
Question = Annotated[str, typer.Argument(metavar="QUESTION", help="The question, in quotes.")]
Passages = Annotated[int, typer.Option("-k", help="How many passages to find.")]
RetrieverName = Annotated[
    str | None,
    typer.Option(
        "--retriever", metavar="NAME", help="tfidf, bm25, dense or hybrid (the default).", show_default=False
    ),
]
ReaderName = Annotated[
    str | None,
    typer.Option(
        "--reader",
        metavar="NAME",
        help="span (the default), overlap, span:PATH_OR_NAME, seq2seq:PATH_OR_NAME or "
        "chat:BASE_URL@model=NAME.",
        show_default=False,
    ),
]
Before = Annotated[
    str | None,
    typer.Option(
        "--before",
        metavar="40%|CHARS",
        help="How far you have read, as a share or in characters: nothing after it is used.",
        show_default=False,
    ),
]

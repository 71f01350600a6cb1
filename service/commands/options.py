"""The options that several commands share."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from readers import DEFAULT_READER, READERS
from retrieval import DEFAULT_RETRIEVER, RETRIEVERS
from text.registry import Spec

if TYPE_CHECKING:
    pass


def choices(table: Mapping[str, Spec], default: str) -> str:
    """How to write what a table holds, for the help of an option."""
    return f"{', '.join(spec.written[0] for spec in table.values())}; by default {default}."


Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="FOLDER|ADDRESS",
        help="The index store: a folder, or s3://, gs:// or az:// with bucket and prefix; or STORYQA_STORE; "
        "by default the platform's data folder.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for machines.")]
BookId = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="A book's id, as 'storyqa books' lists it, or how only that one begins."
    ),
]
BookIds = Annotated[
    str,
    typer.Argument(
        metavar="ID",
        help="A book's id, as 'storyqa books' lists it, or how only that one begins; or several books at "
        "once: A,B, or shelf:NAME as 'storyqa shelves list' has it, or '*' for all.",
    ),
]


def _question(context: typer.Context, given: str) -> str:
    """The question that was given, or is on standard input; one that is no UTF-8 is left to be refused."""
    if given != "-" or context.resilient_parsing:  # which is how a shell completes
        return given
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape").strip()


Question = Annotated[
    str,
    typer.Argument(
        metavar="QUESTION",
        callback=_question,
        help="The question, in quotes; - for one on standard input.",
    ),
]
Passages = Annotated[int, typer.Option("-k", help="How many passages to find.")]
RetrieverName = Annotated[
    str | None,
    typer.Option(
        "--retriever",
        metavar="NAME",
        help=f"{choices(RETRIEVERS, DEFAULT_RETRIEVER)} See storyqa retrievers.",
        show_default=False,
    ),
]
ReaderName = Annotated[
    str | None,
    typer.Option(
        "--reader",
        metavar="NAME",
        help=f"{choices(READERS, DEFAULT_READER)} See storyqa readers.",
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
Limits = Annotated[
    str | None,
    typer.Option(
        "--before",
        metavar="40%|CHARS|ID=40%,..",
        help="How far you have read, as a share or in characters: nothing after it is used. Of several books "
        "each alike, or by id: those not named are read to their ends, unless '*=0' stands for all others.",
        show_default=False,
    ),
]


def same_store(store: str | None) -> str:
    """What a command that the user is told of ends with, to be about the ``--store`` that was given."""
    return "" if store is None else f" --store {shlex.quote(store)}"

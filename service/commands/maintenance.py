"""``storyqa copy``, ``gc``, ``catalogue``: what a store of many books needs now and then."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import asdict
from typing import Annotated

import typer

from service.commands.options import AsJson, Store
from terminal.output import console, counted, print_json, size
from terminal.progress import ProgressBars

_GRACE_HOURS = 24.0


def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help="A store: its folder or address.")],
    target: Annotated[str, typer.Argument(metavar="TO", help="Another, which need not exist yet.")],
    books: Annotated[
        list[str] | None, typer.Argument(metavar="ID..", help="Books' ids, in full; all books if left out.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy books, and all shelves, from one store to another; the same again goes on where it was stopped.

    Each book is read back and checked. A book that TO has in another build becomes that of FROM; what is
    there as it is in FROM is passed over.
    """
    from indexing.copying import copy_books
    from service.settings import load_settings
    from text.errors import StoryQAError

    here, there = load_settings(source).index_store(), load_settings(target).index_store()
    done = []
    with ProgressBars("copying") as bars:
        ids = books or here.ids()
        shelves, damaged = ([], []) if books else here.shelves().readable()
        if not ids and not shelves and not damaged:  # a mistyped store looks like an empty one
            raise StoryQAError(f"{source!r} holds no books to copy; wanted a store that has some")
        for one in copy_books(here, there, ids):
            done.append(one)
            bars("books", len(done), len(ids))
            if one.status == "failed":
                print(f"storyqa: {one.id}: {one.message}", file=sys.stderr, flush=True)
        for shelf in shelves:
            there.shelves().put(shelf.name, shelf.books, shelf.title)
        for error in damaged:
            print(f"storyqa: {error}", file=sys.stderr, flush=True)
    statuses = Counter(one.status for one in done)
    if as_json:
        print_json([asdict(one) for one in done])
    else:
        copied = sum(one.bytes for one in done if one.status == "copied")
        console().print(
            f"{counted(statuses['copied'], 'book')} copied ({size(copied)}), {statuses['there']} there "
            f"already, {statuses['failed']} failed"
        )
    if statuses["failed"] or damaged:
        raise typer.Exit(1)


def gc(
    grace_hours: Annotated[
        float,
        typer.Option(
            "--grace-hours", min=0, help="In an object store, how old what is deleted must at least be."
        ),
    ] = _GRACE_HOURS,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Delete the builds that no book uses any more, and what killed processes left.

    The time of grace has to be longer than any machine takes to upload one book, and than any takes to
    answer from a build that was just replaced.
    """
    from service.settings import load_settings

    gone = load_settings(store).index_store().collect(grace_hours * 3600)
    if as_json:
        print_json({"deleted": gone.number, "bytes": gone.bytes})
    else:
        console().print(f"{gone.number or 'nothing'} deleted, {size(gone.bytes)}")


def catalogue(
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Make the list anew from the manifests of all builds.")
    ] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Bring an object store's list of books up to date; a folder is its own list."""
    from service.settings import load_settings

    books = load_settings(store).index_store().list_anew(rebuild)
    if as_json:
        print_json({"books": books})
    else:
        console().print(f"{counted(books, 'book')} listed")

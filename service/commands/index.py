"""``storyqa index``: books into the store, as many as there are, stopped and resumed at will."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.commands.options import AsJson, Store
from terminal.output import counted, print_json, size
from terminal.progress import ProgressBars

if TYPE_CHECKING:
    from indexing.build import BookTask, Outcome
    from indexing.sources.locate import Ignored
    from service.settings import Settings

_MOST_TOLD = 20  # files that were passed over


def index(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Files, folders, http(s) addresses or gutenberg:ID."),
    ],
    book_id: Annotated[
        str | None,
        typer.Option("--id", help="The book's id; by default made from its name.", show_default=False),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option("--title", help="The book's title; by default the one it gives.", show_default=False),
    ] = None,
    words: Annotated[int, typer.Option("--words", help="Words per passage.")] = 200,
    overlap: Annotated[int, typer.Option("--overlap", help="Words that neighbouring passages share.")] = 0,
    encoder: Annotated[
        str,
        typer.Option(
            "--encoder",
            metavar="NAME",
            help="story, minilm, or a folder: a run of `storyqa train dense`, or a Hugging Face encoder.",
        ),
    ] = "story",
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers", help="Books indexed at a time; by default one per core.", show_default=False
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Index unchanged books too, and replace others.")
    ] = False,
    everything: Annotated[
        bool,
        typer.Option(
            "--everything",
            help="Search what stands around a story, too: licence, reviews, contents, previews.",
        ),
    ] = False,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Index books; unchanged ones are skipped, so the same command again goes on where it was stopped."""
    outcomes: list[Outcome] = []
    jobs: list[BookTask] = []
    try:
        with ProgressBars("looking for books") as bars:
            from indexing.build import BuildSettings
            from indexing.build_many import build_many
            from service.settings import load_settings

            settings = load_settings(store)
            build_settings = BuildSettings(words=words, overlap=overlap, encoder=encoder)
            jobs, ignored = _jobs(paths, book_id, title, everything, settings)
            _tell_ignored(ignored)
            bars("books", 0, len(jobs))

            def tell(progress: Any) -> None:
                bars(progress.id, progress.done, progress.total)

            index_store = settings.index_store()
            for outcome in build_many(jobs, build_settings, index_store, workers, force, tell):
                outcomes.append(outcome)
                bars.remove(outcome.id or outcome.name)
                bars("books", len(outcomes), len(jobs))
                if outcome.status == "failed":
                    print(f"storyqa: {outcome.name}: {outcome.message}", file=sys.stderr, flush=True)
                elif not as_json:
                    bars.say(_line(outcome))
    except KeyboardInterrupt:
        kept = sum(1 for outcome in outcomes if outcome.manifest is not None)
        print(
            f"storyqa: stopped; {kept} of {len(jobs)} books are indexed, and the same command goes on",
            file=sys.stderr,
        )
        raise typer.Exit(130) from None
    if as_json:
        passed_over = [
            {"name": one.name, "id": None, "status": "ignored", "message": one.why} for one in ignored
        ]
        print_json([*map(_record, outcomes), *passed_over])
    if any(outcome.status == "failed" for outcome in outcomes):
        raise typer.Exit(2)


def _jobs(
    paths: list[str], book_id: str | None, title: str | None, everything: bool, settings: Settings
) -> tuple[list[BookTask], list[Ignored]]:
    """A job per book that the paths lead to, and the files in folders that are none.

    Raises ``StoryQAError`` where there is no book.
    """
    from indexing.build import BookTask
    from indexing.formats.read import read_book
    from indexing.sources.locate import find, ignored_files
    from text.errors import StoryQAError

    sources = [source for path in paths for source in find(path, settings)]
    if len(sources) > 1 and (book_id is not None or title is not None):
        given = "--title" if book_id is None else "--id"
        raise StoryQAError(f"{given} names one book, but {len(sources)} were found; index that one by itself")
    jobs = [
        BookTask(source.name, partial(read_book, source, book_id, title, everything)) for source in sources
    ]
    return jobs, [one for path in paths for one in ignored_files(path)]


def _tell_ignored(ignored: list[Ignored]) -> None:
    """Say on standard error which files were passed over, for they may be books."""
    for one in ignored[:_MOST_TOLD]:
        print(f"storyqa: {one.name}: {one.why}", file=sys.stderr, flush=True)
    if len(ignored) > _MOST_TOLD:
        more = counted(len(ignored) - _MOST_TOLD, "other file")
        print(f"storyqa: {more} passed over; --json names them all", file=sys.stderr, flush=True)


def _line(outcome: Outcome) -> str:
    """What people read of a book that is in the store now."""
    manifest = outcome.manifest
    assert manifest is not None, "only a failed outcome has no manifest"
    if outcome.status == "skipped":
        return f"{outcome.id}: unchanged"
    facts = (
        counted(manifest.counts.words, "word"),
        counted(manifest.counts.passages, "passage"),
        counted(len(manifest.chapters), "chapter"),
        size(manifest.bytes),
        f"{manifest.build_seconds:.1f} s",
    )
    return f"{outcome.id}: {', '.join(facts)}"


def _record(outcome: Outcome) -> dict[str, Any]:
    """What machines read of any outcome."""
    record: dict[str, Any] = {"name": outcome.name, "id": outcome.id, "status": outcome.status}
    if outcome.manifest is None:
        return record | {"message": outcome.message}
    manifest = outcome.manifest
    return record | {
        "title": manifest.title,
        "version": manifest.version,
        "words": manifest.counts.words,
        "passages": manifest.counts.passages,
        "chapters": len(manifest.chapters),
        "bytes": manifest.bytes,
        "seconds": manifest.build_seconds,
    }

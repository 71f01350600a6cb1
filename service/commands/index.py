"""``storyqa index``: books into the store, as many as there are, stopped and resumed at will."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.commands.index_outcomes import Report, complaint, line, record, tell_ignored
from service.commands.options import AsJson, Store
from terminal.output import print_json
from terminal.progress import ProgressBars
from text.errors import Stopped

if TYPE_CHECKING:
    from indexing.build import BookTask, Outcome
    from indexing.sources.locate import Ignored, Source
    from service.settings import Settings

_BAD_BOOKS = 3  # the exit code of a list that has some, which trying again does not mend


def index(
    paths: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH...",
            help="Files, folders, http(s) addresses or gutenberg:ID; - for one book on standard input, which "
            "needs --id or --title.",
        ),
    ] = None,
    manifest: Annotated[
        Path | None,
        typer.Option(
            "--manifest",
            metavar="FILE",
            help="A list of books instead, .parquet, .csv or .jsonl, with the column path and, where wanted, "
            "id and title.",
            show_default=False,
        ),
    ] = None,
    shard: Annotated[
        str | None,
        typer.Option(
            "--shard",
            metavar="I/N",
            help="Only the I-th of N parts of the list, I from 0, wherever it runs: 0/8 to 7/8.",
            show_default=False,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            "--report",
            metavar="FILE",
            help="Write what is wrong with which books here, a line of JSON each. Exit code 2 says that some "
            "are; with --manifest it is 3, and any other but 0 means that the same command should run again.",
            show_default=False,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Index the list on the Ray cluster there: auto, HOST:PORT, or local for one started here; "
            "needs the extra cluster.",
            show_default=False,
        ),
    ] = None,
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
        str | None,
        typer.Option(
            "--encoder",
            metavar="NAME",
            help="story, large, minilm, mpnet, or a folder: a run of `storyqa train dense`, or a Hugging "
            "Face encoder; by default STORYQA_ENCODER, else story.",
            show_default=False,
        ),
    ] = None,
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
    tasks: list[BookTask] = []
    bad = Report(report)
    try:
        with ProgressBars("looking for books") as bars, ExitStack() as resources:
            from encoders.sizes import default_encoder
            from indexing.build import BuildSettings
            from indexing.build_many import build_many
            from service.settings import load_settings

            settings = load_settings(store)
            build_settings = BuildSettings(words, overlap, encoder or default_encoder())
            if manifest is None:
                _refuse_without_list(shard, ray)
                tasks, ignored = _tasks(paths or [], book_id, title, everything, settings)
            else:
                tasks, ignored = _listed(manifest, shard, paths, book_id, title, everything, settings), []
            bad.begin([manifest] if manifest is not None else [task.name for task in tasks])
            tell_ignored(ignored)
            bars("books", 0, len(tasks))

            def tell(progress: Any) -> None:
                bars(progress.id, progress.done, progress.total)

            index_store = settings.index_store()
            if ray is not None:
                from indexing.build_on_ray import build_on_ray
                from indexing.cluster import connected

                resources.enter_context(connected(ray))
                found = build_on_ray(tasks, build_settings, index_store, workers, force)
            else:
                # Of a list other machines may have other parts in hand, whose locks are not seen here.
                sweep = manifest is None
                found = build_many(tasks, build_settings, index_store, workers, force, tell, sweep)
            for outcome in found:
                outcomes.append(outcome)
                bars.remove(outcome.id or outcome.name)
                bars("books", len(outcomes), len(tasks))
                if outcome.status != "failed":
                    if not as_json:
                        bars.say(line(outcome))
                    continue
                print(f"storyqa: {complaint(outcome)}", file=sys.stderr, flush=True)
                if manifest is not None and outcome.transient:
                    print("storyqa: stopped; the same command goes on", file=sys.stderr, flush=True)
                    raise typer.Exit(1)
                bad.add(outcome)
    except KeyboardInterrupt:
        kept = sum(1 for outcome in outcomes if outcome.manifest is not None)
        raise Stopped(f"{kept} of {len(tasks)} books are indexed, and the same command goes on") from None
    if as_json:
        passed_over = [
            {"name": one.name, "id": None, "status": "ignored", "message": one.why} for one in ignored
        ]
        print_json([*map(record, outcomes), *passed_over])
    if bad.number:
        raise typer.Exit(2 if manifest is None else _BAD_BOOKS)


def _refuse_without_list(shard: str | None, ray: str | None) -> None:
    from text.errors import StoryQAError

    for option, given in (("--shard", shard), ("--ray", ray)):
        if given is not None:
            raise StoryQAError(f"{option} is for a list of books; name one with --manifest")


def _tasks(
    paths: list[str],
    book_id: str | None,
    title: str | None,
    everything: bool,
    settings: Settings,
) -> tuple[list[BookTask], list[Ignored]]:
    """A task per book that the paths lead to, and the files in folders that are none.

    Raises ``StoryQAError`` where there is no book.
    """
    from indexing.book_tasks import source_task
    from indexing.sources.locate import PIPED, find, ignored_files
    from text.errors import StoryQAError

    if not paths:
        raise StoryQAError("Missing argument PATH...; wanted files, folders or addresses, or --manifest FILE")
    found: dict[str, Source] = {}
    for path in paths:
        if path == "-":
            found.setdefault(PIPED, _piped(book_id, title))
            continue
        for source in find(path, settings, left_out=settings.own_folders):
            found.setdefault(source.name, source)  # two paths may lead to one book
    sources = list(found.values())
    if len(sources) > 1 and (book_id is not None or title is not None):
        given = "--title" if book_id is None else "--id"
        raise StoryQAError(f"{given} names one book, but {len(sources)} were found; index that one by itself")
    tasks = [source_task(source, book_id, title, everything) for source in sources]
    ignored = (one for path in paths if path != "-" for one in ignored_files(path, settings.own_folders))
    return tasks, list(dict.fromkeys(ignored))


def _piped(book_id: str | None, title: str | None) -> Source:
    """The book on standard input; raises ``StoryQAError`` where nothing says what it is to be called."""
    from indexing.ids import slug
    from indexing.sources.locate import piped
    from text.errors import StoryQAError

    name = book_id or title
    if name is None:
        raise StoryQAError("a book on standard input has no name; give it one with --id or --title")
    return piped(sys.stdin.buffer, slug(name))


def _listed(
    manifest: Path,
    shard: str | None,
    paths: list[str] | None,
    book_id: str | None,
    title: str | None,
    everything: bool,
    settings: Settings,
) -> list[BookTask]:
    """A task per row of the list, or of its part; raises ``StoryQAError`` where the list cannot be read."""
    from indexing.book_tasks import row_task
    from indexing.sources.book_list import Shard, read_rows
    from text.errors import StoryQAError

    if paths or book_id is not None or title is not None:
        raise StoryQAError(
            "--manifest says which books, their ids and titles; leave PATH, --id and --title out"
        )
    part = None if shard is None else Shard.parse(shard)
    return [row_task(row, everything, settings) for row in read_rows(manifest, part)]

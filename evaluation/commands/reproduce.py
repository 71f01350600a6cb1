"""``storyqa reproduce PAPER --table N``: a published table, our figures beside its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evaluation.commands.options import AsJson, Store, with_indexes

if TYPE_CHECKING:
    from evaluation.measured import Measured
    from evaluation.published.figures import Published, Row
    from evaluation.reproduction import Reproduction

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command(no_args_is_help=True)
def reproduce(
    context: typer.Context,
    paper: Annotated[
        str,
        typer.Argument(
            metavar="PAPER",
            help="The data set that the paper is about: narrativeqa, cbt, cnn, babi or wikireading.",
        ),
    ],
    table: Annotated[
        int,
        typer.Option(
            "--table",
            help="The table's number: NarrativeQA's 5 (summaries) or 6 (stories), CBT's 2 or 4 (variants), "
            "CNN's 5 (Hermann et al.) or 3 (Hill et al.), bAbI's 3, WikiReading's 3 or 5 (by property).",
        ),
    ],
    data: Annotated[
        Path, typer.Option("--data", help="The official data, or for cbt and cnn books: as evaluate.")
    ],
    split: Annotated[
        str | None,
        typer.Option(
            "--split",
            help="A split that the paper has; by default its first one, of WikiReading validation.",
            show_default=False,
        ),
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option("--vectors", help="Word vectors in GloVe's format, for the cosine rows."),
    ] = None,
    models: Annotated[
        list[Path] | None,
        typer.Option(
            "--models",
            exists=True,
            file_okay=False,
            help="A folder where storyqa train left a model of the paper, or that has such folders; it is "
            "measured in place of the shipped one. May be repeated.",
        ),
    ] = None,
    row: Annotated[
        list[str] | None, typer.Option("--row", help="Only the rows whose name holds this; may be repeated.")
    ] = None,
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Ask so many questions only.")] = None,
    seed: Annotated[
        int, typer.Option("--seed", help="For the draws of questions and for the intervals.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="The folder for predictions; what it holds is not measured again. "
            "By default one under runs/, named after the options.",
            show_default=False,
        ),
    ] = None,
    store: Store = None,
    workers: Annotated[
        int,
        typer.Option(
            "--workers", min=1, help="Models trained at a time, of a table that trains its own (bAbI)."
        ),
    ] = 1,
    force: Annotated[bool, typer.Option("--force", help="Measure every row anew.")] = False,
    as_json: AsJson = False,
) -> None:
    """Print a paper's table with our figures beside its own, every row on the same questions."""
    from evaluation.metrics.overlap import require_extra
    from evaluation.paper_tables import print_reproduction
    from evaluation.reproduction import Reproduction
    from terminal.output import console, print_json
    from terminal.progress import ProgressBars
    from text.errors import StoryQAError

    published = _published(paper)
    numbered = published.numbered
    if table not in numbered:
        raise StoryQAError(f"--table {table}; wanted {' or '.join(map(str, numbered))}")
    require_extra()
    configuration = context.obj()
    split = split or numbered[table].measured_on or numbered[table].splits[0]
    part = "" if limit is None else f"-limit{limit}"
    if limit is not None or seed != 0:
        part += f"-seed{seed}"
    reproduction = Reproduction(
        published=published,
        number=table,
        data=data,
        out=out or Path("runs") / f"{paper}-table{table}-{split}{part}",
        store=with_indexes(configuration, store).index_store(),
        split=split,
        vectors=vectors,
        models=tuple(models or ()),
        limit=limit,
        seed=seed,
        force=force,
        cache=configuration.cache,
        reader_settings=configuration.reader_settings,
    )
    rows = reproduction.rows(row or ())
    with ProgressBars() as progress:
        loaded = reproduction.load(rows, progress)
    for words in reproduction.training(rows, loaded, workers):
        context.obj.run(words)
    with ProgressBars() as progress:
        measured = list(reproduction.measure(rows, loaded, progress))
    bounds = reproduction.bounds(loaded)
    if as_json:
        print_json(_as_json(reproduction, measured, bounds))
    else:
        print_reproduction(reproduction, measured, bounds, console())


def _published(name: str) -> Published:
    """What is to be reproduced; raises ``UnknownName`` where nothing so named has tables of systems."""
    from evaluation.published.figures import published, reproducible
    from text.registry import UnknownName

    found = published(name)
    if found is None or not found.numbered:
        raise UnknownName("paper", name, reproducible())
    return found


def _as_json(
    reproduction: Reproduction, measured: Sequence[Measured], bounds: Mapping[str, float]
) -> dict[str, Any]:
    """The table for machines; fractions, the paper's too."""
    return {
        "table": reproduction.number,
        "split": reproduction.split,
        "paper_split": reproduction.printed_split,
        "bounds": dict(bounds),
        "notes": list(dict.fromkeys(note for one in measured for note in one.notes)),
        "rows": [
            {
                "system": one.row.system,
                "status": "measured" if one.scores else "missing",
                "missing": one.missing,
                "command": one.command,
                "reader": one.ours.reader or None,
                "trained_on": one.trained_on,
                "questions": one.questions,
                "stories": one.stories,
                "asked": one.asked,
                "parameters": one.parameters,
                "paper_parameters": one.row.parameters,
                "paper": _as_fractions(one.row, reproduction),
                "scores": one.scores,
                "intervals": one.intervals,
            }
            for one in measured
        ],
    }


def _as_fractions(row: Row, reproduction: Reproduction) -> dict[str, float | None] | None:
    """The paper's figures of all columns, but questions counted as they are; None without the split."""
    if reproduction.printed_split is None:
        return None
    figures = row.printed(reproduction.printed_split)
    if row.ours is not None and row.ours.sizes:
        return {measure.name: figures.get(measure.name) for measure in reproduction.table.measures}
    return {
        measure.name: round(measure.as_fraction(figures[measure.name]), 6)
        if measure.name in figures
        else None
        for measure in reproduction.table.measures
    }

"""``storyqa train``: one command per line of ``OBJECTIVES``, its options made of the objective's settings."""

from __future__ import annotations

import inspect
import json
import shlex
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.models import OptionInfo

from text.output_files import make_folder, writing
from text.registry import import_object
from training.objectives import OBJECTIVES, ObjectiveSpec

if TYPE_CHECKING:
    from training.invocation import Outcome

app = typer.Typer(
    help="Train a model.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)

Data = Annotated[
    list[Path],
    typer.Option(
        help="A folder with FairytaleQA, SQuAD v1.1, NarrativeQA, MCTest, the novels of evaluate novels or "
        "everyday texts (evaluation/benchmarks/everyday); give it once for each."
    ),
]
OfficialData = Annotated[
    list[Path],
    typer.Option(
        help="A folder with NarrativeQA (its training split alone is used), FairytaleQA or SQuAD v1.1; "
        "give it once for each."
    ),
]
ClozeData = Annotated[
    list[Path],
    typer.Option(help="The folder of the data set, in its publisher's layout, or with books: as evaluate."),
]
BabiData = Annotated[list[Path], typer.Option(help="The folder with bAbI's files of the train split.")]
PropertyData = Annotated[
    list[Path], typer.Option(help="The folder with WikiReading, its official shards or a set made like it.")
]
Out = Annotated[Path, typer.Option(help="The folder for checkpoint, log.jsonl, its curve and the weights.")]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Go on from the checkpoint in --out; without one, say so and begin.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for machines.")]


@app.callback()
def _root() -> None:
    """Train a model."""


def objective_command(spec: ObjectiveSpec) -> typer.Typer:
    """The command line of one objective: what all have, its settings that are options, and its own."""
    train: Callable[..., Outcome] = import_object(spec.where)
    settings_class: type[Any] | None = import_object(spec.settings) if spec.settings else None
    settings_options = list(_settings_options(settings_class)) if settings_class else []
    own_options = list(_own_options(train, spec.without))

    def command(
        context: typer.Context,
        data: list[Path],
        out: Path,
        as_json: bool,
        resume: bool = False,
        **values: Any,
    ) -> None:
        from training.invocation import Invocation, is_new, tell_beginning

        run = Invocation(data, out, _command_line(), resume, context.obj().cache)
        own = {option.name: values[option.name] for option in own_options}
        with _folder(out):
            if resume and is_new(out):
                tell_beginning(out)
            if settings_class is None:
                outcome = train(run, **own)
            else:
                settings = settings_class(**{option.name: values[option.name] for option in settings_options})
                outcome = train(run, settings, **own)
        _report(outcome, as_json)

    data_option = _data_option(spec)
    common = [_option("context", typer.Context), _option("data", data_option), _option("out", Out)]
    if spec.resumes:
        common.append(_option("resume", Resume, False))
    options = [*common, *settings_options, *own_options, _option("as_json", AsJson, False)]
    command.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    command.__annotations__ = {option.name: option.annotation for option in options}
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    made.command(help=_help(spec))(command)
    return made


@contextmanager
def _folder(out: Path) -> Iterator[None]:
    """The folder ``out``, made before the data are read, which may take minutes; gone if nothing comes of it.

    Raises StoryQAError where there can be no such folder; that a disk is full stays its own error.
    """
    with writing(out):
        is_new = not out.exists()  # which raises, too, for a name that is too long
    make_folder(out)
    try:
        yield
    finally:
        if is_new:
            with suppress(OSError):  # it holds what was made
                out.rmdir()


def _data_option(spec: ObjectiveSpec) -> object:
    if spec.babi:
        return BabiData
    if spec.properties:
        return PropertyData
    return ClozeData if spec.cloze else OfficialData if spec.official else Data


def _settings_options(settings_class: type[Any]) -> Iterator[inspect.Parameter]:
    """The fields that are annotated with a ``typer.Option``; the others are not for the command line."""
    hints = get_type_hints(settings_class, include_extras=True)
    for field in fields(settings_class):
        if any(isinstance(extra, OptionInfo) for extra in getattr(hints[field.name], "__metadata__", ())):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            yield _option(field.name, hints[field.name], default)


def _own_options(train: Callable[..., Any], without: Collection[str]) -> Iterator[inspect.Parameter]:
    """The keyword-only parameters: what is no setting, such as the folder of the weights to begin with."""
    for parameter in inspect.signature(train, eval_str=True).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name not in without:
            yield parameter


def _option(name: str, annotation: object, default: object = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _help(spec: ObjectiveSpec) -> str:
    paper = f"\n\n{spec.paper}, section {spec.section}." if spec.paper else ""
    return f"{spec.does}{paper}\n\nThe weights are for: {spec.used_as}"


def _report(outcome: Outcome, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(outcome.describe()) + "\n")
        return
    from rich.console import Console

    console = Console(stderr=True)
    for line in outcome.lines():
        console.print(line, markup=False)


def _command_line() -> str:
    """What was typed, folders by their last name: a card names no machine's paths."""
    return shlex.join(["storyqa", *map(_without_folders, sys.argv[1:])])


def _without_folders(word: str) -> str:
    option, equals, value = word.partition("=")
    if equals and option.startswith("--"):
        return f"{option}={_without_folders(value)}"
    return (Path(word).name or word) if "/" in word else word


def _passing_on(spec: ObjectiveSpec) -> Callable[[typer.Context], None]:
    """A command that makes the objective's, which imports its model, only when it is called."""

    def run(context: typer.Context) -> None:
        code = objective_command(spec)(
            context.args, prog_name=context.command_path, standalone_mode=False, obj=context.obj
        )
        if isinstance(code, int):
            raise typer.Exit(code)

    return run


for _name, _spec in OBJECTIVES.items():
    app.command(
        _name,
        help=_spec.does,
        add_help_option=False,
        context_settings={
            "ignore_unknown_options": True,
            "allow_extra_args": True,
            "allow_interspersed_args": False,
        },
    )(_passing_on(_spec))

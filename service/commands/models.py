"""``storyqa models``: the pretrained backbones that our models stand beside."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.commands.options import AsJson
from terminal.output import console, print_json
from terminal.progress import ProgressBars

if TYPE_CHECKING:
    from encoders.backbone import Backbone

app = typer.Typer(name="models", help="List, fetch and verify pretrained backbones.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The backbone's name, such as mpnet.")]


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the backbones, and which of them are installed."""
    rows = [_record(backbone) for backbone in _known().values()]
    if as_json:
        print_json(rows)
        return
    from rich.table import Table
    from rich.text import Text

    table = Table()
    for column in ("name", "model", "installed", "how to get it"):
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(row["name"], row["model"], Text(row["folder"] or "no"), Text(row["remedy"] or ""))
    console().print(table)


@app.command()
def fetch(
    name: Name,
    source: Annotated[
        Path | None,
        typer.Option("--from", metavar="FOLDER", help="A folder that has its files; the hub by default."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch a backbone into the folder of models (STORYQA_MODELS), its SHA-256 checked."""
    from encoders.fetching import fetch_backbone

    backbone = _named(name)
    with ProgressBars(f"fetching {backbone.title}"):
        fetch_backbone(backbone, source)
    _tell(backbone, as_json)


@app.command()
def verify(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The backbone's name; all that are there if left out."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the SHA-256 of a backbone that is installed, or of all; exit code 2 if one is damaged."""
    from encoders.errors import ModelError

    if name is not None:
        backbone = _named(name)
        _check(backbone)
        _tell(backbone, as_json)
        return
    right, damaged = [], []
    for backbone in _there():
        try:
            _check(backbone)
            right.append(backbone)
        except ModelError as error:  # the others are checked all the same
            damaged.append(error)
    if as_json:
        print_json([_record(backbone) for backbone in right])
    else:
        for backbone in right:
            _tell(backbone, as_json)
    for problem in damaged:
        print(f"storyqa: {problem}", file=sys.stderr, flush=True)
    if damaged:
        raise typer.Exit(2)


def _check(backbone: Backbone) -> None:
    """Raise ModelError where it is not installed, or another than we know."""
    from encoders.backbone import check_weights

    with ProgressBars(f"reading {backbone.title}"):
        check_weights(backbone, backbone.folder())


def _there() -> list[Backbone]:
    """The backbones that come with a package, and those that have a folder, whole or not."""
    from encoders.backbone import models_folder

    folder = models_folder()
    return [one for one in _known().values() if one.package is not None or (folder / one.name).is_dir()]


def _named(name: str) -> Backbone:
    from text.registry import check_name

    known = _known()
    check_name("backbone", name, known)
    return known[name]


def _known() -> dict[str, Backbone]:
    """The backbones by name, and the language models."""
    from encoders.backbone import BACKBONES, LANGUAGE_MODELS

    return {**BACKBONES, **LANGUAGE_MODELS}


def _tell(backbone: Backbone, as_json: bool) -> None:
    record = _record(backbone)
    if as_json:
        print_json(record)
    else:
        said = f"{record['folder']}: {backbone.title}, SHA-256 {backbone.sha256}"
        console().print(said, markup=False, soft_wrap=True)


def _record(backbone: Backbone) -> dict[str, Any]:
    from encoders.errors import ModelError

    try:
        folder, remedy = str(backbone.folder()), None
    except ModelError:
        folder, remedy = None, backbone.remedy
    return {
        "name": backbone.name,
        "model": backbone.title,
        "sha256": backbone.sha256,
        "width": backbone.width,
        "folder": folder,
        "remedy": remedy,
    }

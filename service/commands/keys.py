"""``storyqa keys``: the API keys of the service over a store."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from service.commands.options import AsJson, Store, same_store
from terminal.output import console, print_json

if TYPE_CHECKING:
    from service.access.api_keys import Key

app = typer.Typer(name="keys", help="Make, list and revoke API keys.", no_args_is_help=True)


class _Scope(enum.StrEnum):
    READ = "read"
    ADMIN = "admin"


@app.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Who or what the key is for.")],
    scope: Annotated[
        _Scope, typer.Option("--scope", help="read asks questions; admin also adds and removes books.")
    ] = _Scope.READ,
    per_minute: Annotated[
        int | None,
        typer.Option(
            "--per-minute", help="Requests it may make a minute; or STORYQA_RATE.", show_default=False
        ),
    ] = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and show it: this once, for only its hash is kept."""
    from service.access.api_keys import KeyFile, make_key
    from service.settings import load_settings

    secret, key = make_key(name, scope.value, per_minute)
    file = KeyFile(load_settings(store).key_file)
    file.add(key)
    if as_json:
        print_json(_record(key) | {"key": secret, "environment": key.in_environment()})
        return
    out = console()
    for line in (
        secret,
        "",
        f"Send it as: Authorization: Bearer {secret}",
        f"It is not shown again; its hash is in {file.path}.",
        f"For another machine: STORYQA_KEYS={key.in_environment()!r}",
    ):
        out.print(line, markup=False, soft_wrap=True)


@app.command("list")
def list_(store: Store = None, as_json: AsJson = False) -> None:
    """List the keys: their names and what they may do, never the keys themselves."""
    from rich.table import Table
    from rich.text import Text

    from service.access.api_keys import KeyFile
    from service.settings import load_settings

    keys = KeyFile(load_settings(store).key_file).read()
    if as_json:
        print_json([_record(key) for key in keys])
        return
    if not keys:
        said = f"No keys yet; make one: storyqa keys create NAME{same_store(store)}"
        console().print(said, markup=False, soft_wrap=True)
        return
    table = Table()
    for column in ("id", "name", "scope", "a minute", "made at", ""):
        table.add_column(column, overflow="fold")
    for key in keys:
        rate = "" if key.per_minute is None else f"{key.per_minute:,}"
        revoked = "revoked" if key.revoked else ""
        table.add_row(key.id, Text(key.name), key.scope, rate, key.created_at, revoked)
    console().print(table)


@app.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The key's name or id.")],
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Have a key refused from the next request on."""
    from service.access.api_keys import KeyFile
    from service.settings import load_settings

    key = KeyFile(load_settings(store).key_file).revoke(name)
    if as_json:
        print_json(_record(key))
    else:
        console().print(f"revoked {key.name}", markup=False)


def _record(key: Key) -> dict[str, Any]:
    """What machines read of a key; its hash is nobody's business."""
    return {
        "id": key.id,
        "name": key.name,
        "scope": key.scope,
        "per_minute": key.per_minute,
        "created_at": key.created_at,
        "revoked": key.revoked,
    }

"""The manual page: what ``--help`` of every command says, as ``man`` shows it.

``python deploy/man_page.py build/man/man1`` writes ``storyqa.1`` there. Typer describes the commands in
Markdown, pandoc makes a manual page of that. Not click-man: it knows click's classes alone, and Typer has
classes of its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import pypandoc
import typer
from typer.cli import get_docs_for_click
from typer.core import TyperGroup

from service.cli import COMMANDS, app
from service.version import installed_version


def described() -> str:
    """Every command with its options in Markdown, those of other packages, too."""
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    for name, place in COMMANDS.items():
        module, _, attribute = place.partition(":")
        command = typer.main.get_command(getattr(import_module(module), attribute))
        command.name = name
        root.commands[name] = command
    context = typer.Context(root, info_name="storyqa")
    return get_docs_for_click(obj=root, ctx=context, name="storyqa", title="storyqa")


def man_page() -> str:
    """The page in the language of ``man``."""
    # The sections that every manual page has; its first line is what ``man -k`` looks through.
    text = described().replace("# storyqa\n\n", "# NAME\n\nstoryqa - ", 1)
    text = text.replace("**Usage**:", "# SYNOPSIS", 1).replace("\n## ", "\n# COMMANDS\n\n## ", 1)
    heading = {"title": "STORYQA", "section": "1", "header": "storyqa", "footer": installed_version()}
    variables = [f"--variable={name}:{value}" for name, value in heading.items()]
    page: str = pypandoc.convert_text(text, "man", format="gfm", extra_args=["--standalone", *variables])
    return page


def main() -> None:
    """The command line."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "storyqa.1").write_text(man_page(), encoding="utf-8")
    print(f"man -l {folder / 'storyqa.1'}")


if __name__ == "__main__":
    main()

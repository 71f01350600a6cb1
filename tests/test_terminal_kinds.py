"""What commands print on terminals of all kinds: narrow ones, those without colours, and none."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from pathlib import Path

import pytest
import shelf
from test_book_lists import STORYQA
from test_cli import QUICK, ROOT, Run, storyqa

from indexing.store import IndexStore
from service.access.api_keys import KeyFile, make_key

__all__ = ["storyqa"]  # a fixture

STYLES = re.compile(r"\x1b\[[0-9;]*m")

on_terminals = pytest.mark.processes


def on_terminal(store: Path, *arguments: str, **environment: str) -> str:
    """What the command writes to a terminal, which is its output and its errors."""
    ours, theirs = pty.openpty()
    given = {"TERM": "xterm-256color", "COLUMNS": "100", "STORYQA_STORE": str(store)} | environment
    without = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    with subprocess.Popen(
        [*STORYQA, *arguments], cwd=ROOT, env=without | given, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        shown = b""
        while piece := _read(ours):
            shown += piece
    os.close(ours)
    assert process.returncode == 0, shown
    return shown.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 2**16)
    except OSError:  # Linux's way to say that the other end is closed
        return b""


@on_terminals
@pytest.mark.parametrize(
    ("environment", "by_style"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_the_answer_is_marked_in_its_sentence_with_colours_or_without(
    shelf_store: IndexStore, environment: dict[str, str], by_style: bool
) -> None:
    shown = on_terminal(shelf_store.root, "ask", *shelf.QUESTIONS[2], *QUICK, **environment)
    assert ("**" in shown) != by_style
    assert ("\x1b[1;30;43m" in shown) == by_style


@on_terminals
def test_no_figure_and_no_id_is_cut_off_where_a_terminal_is_narrow(
    shelf_store: IndexStore, tmp_path: Path
) -> None:
    _, key = make_key("reading room", "read", None)
    KeyFile(tmp_path / "keys.json").add(key)
    book, question = shelf.QUESTIONS[2]
    for arguments, wanted in (
        (("keys", "list"), (key.id, key.created_at)),
        (("books",), shelf_store.ids()),
        (("search", book, question, "--retriever", "bm25", "-k", "1"), ()),
        (("characters", book), ()),
    ):
        shown = STYLES.sub(
            "", on_terminal(shelf_store.root, *arguments, COLUMNS="36", STORYQA_STATE=str(tmp_path))
        )
        rows = [line.split("│")[1:-1] for line in shown.splitlines() if line.startswith("│")]
        columns = ["".join(cell.strip() for cell in column) for column in zip(*rows, strict=True)]
        assert rows
        assert all(any(one in column for column in columns) for one in wanted), shown
        figures = [cell for row in rows for cell in row[:-1]]  # the last column tells how a text begins
        assert not any("…" in cell for cell in figures), shown


def test_sentences_that_are_piped_are_not_broken_into_lines(storyqa: Run) -> None:
    [name, *_] = json.loads(storyqa("characters", "lantern", "--json"))
    told = json.loads(storyqa("who", "lantern", name["name"], "--json"))["sentences"]
    chapters = json.loads(storyqa("recap", "lantern", "--json"))["chapters"]
    recapped = [one for part in chapters for one in part["sentences"]]
    assert any(len(one["text"]) > 60 for one in [*told, *recapped])
    for command, quotes in ((("who", "lantern", name["name"]), told), (("recap", "lantern"), recapped)):
        lines = storyqa(*command).splitlines()
        for one in quotes:
            assert " ".join(one["text"].split()) in lines
            assert any(line.endswith(f" · passage {one['passage']}") for line in lines)
            assert f"{one['start']:,} to {one['end']:,}" in storyqa(*command)

"""``storyqa ask`` on a terminal shows a language model's words as it writes them."""

from __future__ import annotations

import codecs
import json
import os
import pty
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chat_server import Asked, Handler, chatting, reply, stream, streamed

from answering.spoilers import LEAKED
from indexing.store import IndexStore

ROOT = Path(__file__).parents[1]
STEERS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
STYLES = re.compile(r"\x1b\[[0-9;]*m")
BEGUN = "The key was made for "
REST = "the bride of\nthe mill, who \x1b[2Jnever came."
QUESTION = "Whose is the key?"

pytestmark = pytest.mark.processes


class Terminal:
    """What has been written to a terminal so far, read from its other end."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self.text = ""

    def until(self, seen: Callable[[str], bool]) -> str:
        """What is there once ``seen`` is true of it; fails where the terminal is closed before."""
        while not seen(self.text):
            assert self._reads_on(), self.text
        return self.text

    def rest(self) -> str:
        """All of it, once whoever wrote has gone."""
        while self._reads_on():
            pass
        return self.text

    def _reads_on(self) -> bool:
        try:
            more = os.read(self._descriptor, 65536)
        except OSError:  # which Linux says for the end
            return False
        self.text += self._decoder.decode(more)
        return bool(more)


def after_bars(text: str) -> str:
    """What stays on the screen: a busy machine draws progress bars before, and takes them away."""
    return STEERS.split(STYLES.sub("", text))[-1]


def command(store: IndexStore, reader: str, *more: str) -> list[str]:
    code = "from service.cli import main; main()"
    asked = ["ask", "well", QUESTION, "--retriever", "bm25", "--reader", reader, "--store", str(store.root)]
    return [sys.executable, "-c", code, *asked, *more]


@contextmanager
def on_terminal(arguments: list[str]) -> Iterator[tuple[subprocess.Popen[bytes], Terminal]]:
    """The command with a terminal for its output and its errors."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm-256color", "COLUMNS": "400", "LINES": "50", "PYTHONPATH": ""}
    try:
        with subprocess.Popen(
            arguments, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs
        ) as process:
            os.close(theirs)
            yield process, Terminal(ours)
    finally:
        os.close(ours)


def test_words_are_shown_while_the_model_writes_and_no_bar_is_drawn_over_them(
    shelf_store: IndexStore,
) -> None:
    bar, shown = threading.Event(), threading.Event()

    def slow(handler: Handler, asked: Asked) -> None:
        assert bar.wait(60)  # until the progress bar of long work is drawn
        pieces = streamed(f"ANSWER: {BEGUN}{REST}\nPASSAGE: 1\nQUOTE:", size=5)
        half = len(f"ANSWER: {BEGUN}") // 5 + 2
        stream(handler, [*pieces[:half], b": half\n\n"])
        assert shown.wait(60)
        for piece in pieces[half:]:
            handler.wfile.write(piece)

    with chatting(slow) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with on_terminal(command(shelf_store, reader)) as (process, terminal):
            terminal.until(lambda text: "answering" in text)
            bar.set()
            begun = terminal.until(lambda text: BEGUN[:-9] in STYLES.sub("", text))
            assert "╭" not in begun  # the panel with the checked answer
            shown.set()
            whole = terminal.rest()
        assert process.returncode == 0
    written = STYLES.sub("", whole)
    draft, panel = written[written.index(BEGUN[:8]) :].split("\r\n", 1)
    assert draft == f"{BEGUN}the bride of the mill, who [2Jnever came."
    assert STEERS.findall(draft + panel) == []  # nothing is drawn over it, and the model steers nothing
    assert draft in panel


def test_words_behind_the_limit_are_not_shown(shelf_store: IndexStore) -> None:
    def knows(handler: Handler, asked: Asked) -> None:
        reply(handler, asked, "ANSWER: The key that Hale kept was made for Gallus, who came.\nPASSAGE: 1")

    with chatting(knows) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with on_terminal(command(shelf_store, reader, "--before", "75%")) as (_, terminal):
            whole = terminal.rest()
    written = after_bars(whole)
    assert written.startswith("The key that Hale kept was made for \r\n")
    assert "Gallus" not in whole
    assert LEAKED in written


def test_an_error_in_the_middle_begins_on_a_line_of_its_own(shelf_store: IndexStore) -> None:
    def breaks_off(handler: Handler, asked: Asked) -> None:
        stream(handler, streamed(f"ANSWER: {BEGUN}")[:-3])

    with chatting(breaks_off) as endpoint:
        reader = f"chat:{endpoint.url}@model=parrot"
        with on_terminal(command(shelf_store, reader)) as (process, terminal):
            lines = after_bars(terminal.rest()).split("\r\n")
    assert process.returncode == 2
    assert lines[0].startswith("The key")
    assert [line for line in lines if line.startswith("storyqa: ")]


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_nobody_listens_where_output_is_a_pipe_or_json(
    shelf_store: IndexStore, more: tuple[str, ...]
) -> None:
    def says(handler: Handler, asked: Asked) -> None:
        reply(handler, asked, f"ANSWER: {BEGUN}nobody.\nPASSAGE: 1")

    with chatting(says) as endpoint:
        arguments = command(shelf_store, f"chat:{endpoint.url}@model=parrot", *more)
        if more:
            with on_terminal(arguments) as (_, terminal):
                written = terminal.rest()
        else:
            written = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        [asked] = endpoint.asked
    assert not asked.body.get("stream")
    if more:
        assert json.loads(after_bars(written))["answer"] == f"{BEGUN}nobody."
    else:
        assert written.startswith("╭")
        assert written.count(f"{BEGUN}nobody.") == 1

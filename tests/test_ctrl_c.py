"""Ctrl-C: the command that it ends says so, what is kept of its work, and how to go on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import folktales
import pytest
import shelf
from chat_server import Asked, ChatServer, Handler, chatting, parrot

from evaluation.worlds.stories import Asked as AskedInStory
from evaluation.worlds.stories import Story, write_stories
from indexing.store import IndexStore
from service.cli import run
from text.errors import Stopped
from training.corpora.loading import load_corpus
from training.invocation import Invocation
from training.objectives.bidaf import BidafObjective, BidafSettings
from training.objectives.from_scratch import NeuralTask
from training.trainer import Trainer

ROOT = Path(__file__).parents[1]
PATIENCE_S = 120


@pytest.fixture(autouse=True)
def _python_hears_ctrl_c() -> Iterator[None]:
    """A shell that starts tests in the background has them ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    """A chat model while which answers somebody presses Ctrl-C."""

    def interrupt(handler: Handler, asked: Asked) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        parrot(handler, asked)

    with chatting(interrupt) as server:
        yield server


def test_a_command_that_keeps_nothing_says_that_it_was_stopped(
    shelf_store: IndexStore, server: ChatServer, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["ask", *shelf.QUESTIONS[2], "--store", str(shelf_store.root), "--retriever", "bm25"]
    assert run([*asked, "--reader", f"chat:{server.url}@model=parrot"]) == 130
    assert capsys.readouterr().err == "storyqa: stopped\n"


# Somebody presses Ctrl-C as soon as the module that is named begins to be imported.
IMPORTING = """
import signal, sys
from service.console_script import main

class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            signal.raise_signal(signal.SIGINT)

module = sys.argv.pop()
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupted())
main()
"""


@pytest.mark.parametrize("module", ["typer", "service.commands.index", "service.settings"])
def test_ctrl_c_while_the_command_is_loaded_is_one_line(module: str, tmp_path: Path) -> None:
    command = [sys.executable, "-c", IMPORTING, "books", "--store", str(tmp_path), module]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE_S)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "storyqa: stopped\n")


def test_an_evaluation_says_that_the_same_command_goes_on(
    server: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")  # METEOR's Java takes half a minute to start
    context = " ".join(folktales.GOOSE)
    answers = [{"text": "Osk", "answer_start": context.index("Osk")}]
    asked = [{"id": "1", "question": "What was the goose called?", "answers": answers}]
    data, out = tmp_path / "set.json", tmp_path / "out"
    article = {"title": "goose", "paragraphs": [{"context": context, "qas": asked}]}
    data.write_text(json.dumps({"data": [article]}), "utf-8")
    reader = f"chat:{server.url}@model=parrot"
    command = ["evaluate", "squad", "--data", str(data), "--out", str(out), "--reader", reader]
    assert run(command) == 130
    said = f"storyqa: stopped; {out} keeps what is answered, and the same command goes on\n"
    assert capsys.readouterr().err == said
    assert run([*command, "--force"]) == 130
    assert capsys.readouterr().err == said.replace("command goes", "command without --force goes")
    server.script = parrot
    assert run(command) == 0


@pytest.mark.training
def test_a_command_that_runs_others_begins_none_after_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = Story(("Nell went to the mill.",), (AskedInStory("Where is Nell?", ("mill",), (0,), 1),))
    for split in ("train", "test"):
        (tmp_path / f"qa1_ours_{split}.txt").write_text(write_stories([told] * 40, 1), "utf-8")
    out = tmp_path / "out"

    def interrupt() -> None:
        until = time.monotonic() + PATIENCE_S
        while not list(out.rglob("qa1")) and time.monotonic() < until:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    watching = threading.Thread(target=interrupt)
    watching.start()
    places = ("--data", str(tmp_path), "--out", str(out), "--store", str(out / "store"))
    assert run(["reproduce", "babi", "--table", "3", *places, "--row", "MemNN"]) == 130
    watching.join()
    assert capsys.readouterr().err == "storyqa: stopped\n"
    assert len(list((out / "models").iterdir())) == 1


@pytest.mark.training
def test_training_says_how_to_go_on_from_its_checkpoint(tmp_path: Path) -> None:
    class Interrupted(NeuralTask):
        def validate(self) -> dict[str, float]:
            raise KeyboardInterrupt

    corpus = load_corpus([folktales.write_fairytaleqa(tmp_path / "data", "train")])
    task = Interrupted(BidafObjective(), BidafSettings(epochs=2, words=60, width=8, chunk=7), corpus)
    invocation = Invocation([tmp_path / "data"], tmp_path / "out", "storyqa train bidaf")
    with pytest.raises(KeyboardInterrupt):
        invocation.train(task)
    Trainer(task, invocation.out).save()
    with pytest.raises(Stopped, match="the same command with --resume goes on from the last checkpoint"):
        replace(invocation, resume=True).train(task)

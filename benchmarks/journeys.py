"""How many of the project's own files a question passes, over HTTP and on the command line, and a book.

    python -m benchmarks.journeys

The sample story is indexed, asked about on the command line, and asked about over HTTP once the service is
warm. A file counts where one of its functions is called in any thread; what runs when a module is imported
does not count, nor do the methods that dataclasses generate.
"""

from __future__ import annotations

import argparse
import inspect
import multiprocessing
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from starlette.testclient import TestClient
from typer.testing import CliRunner

from evaluation.sample import sample_questions, sample_story

STORY = sample_story()
ROOT = Path(__file__).resolve().parent.parent
FIRST, SECOND = (one.question for one in sample_questions() if one.demo and one.kind in ("who", "where"))


class Journey:
    """Notes the project's files whose functions are called, by this thread or by those that begin later."""

    def __init__(self) -> None:
        self._entered: set[str] | None = None
        self._within = f"{ROOT}{os.sep}"
        threading.setprofile(self)  # threads that begin from now on
        sys.setprofile(self)

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        """Told by Python of every call."""
        entered = self._entered
        if entered is not None and event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            entered.add(frame.f_code.co_filename)  # the bodies of modules and classes are not optimised

    @contextmanager
    def noting(self) -> Iterator[list[str]]:
        """The files, in the list once the block has ended."""
        found: list[str] = []
        entered: set[str] = set()
        self._entered = entered
        yield found
        self._entered = None
        inside = (name.removeprefix(self._within) for name in entered if name.startswith(self._within))
        found += sorted(name for name in inside if not name.startswith((".", f"benchmarks{os.sep}")))


def index(folder: Path) -> list[str]:
    """The files that ``storyqa index`` passes, the encoder's loading included."""
    note = Journey()
    with note.noting() as found:
        _command(folder, "index", str(STORY))
    return found


def ask(folder: Path) -> list[str]:
    """The files that ``storyqa ask`` passes, loading included."""
    note = Journey()
    with note.noting() as found:
        _command(folder, "ask", STORY.stem, FIRST)
    return found


def post_answer(folder: Path) -> list[str]:
    """The files that a question passes from ``POST /answer`` on, in a service that answered one before."""
    from service.app import create_app
    from service.settings import load_settings

    note = Journey()  # before the service begins its threads
    application = create_app(load_settings(folder), listens_warm=True)
    with TestClient(application, "http://localhost", client=("127.0.0.1", 1)) as client:
        _post(client, FIRST)  # opens the book
        with note.noting() as found:
            _post(client, SECOND)
    return found


def _command(folder: Path, *words: str) -> None:
    from service.cli import app

    result = CliRunner().invoke(app, [*words, "--store", str(folder)])
    if result.exit_code:
        raise RuntimeError(f"storyqa {' '.join(words)} failed: {result.output}") from None


def _post(client: TestClient, question: str) -> None:
    response = client.post("/answer", json={"book_id": STORY.stem, "question": question})
    if not response.is_success:
        raise RuntimeError(f"POST /answer failed: {response.text}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Count the project's own files that a question passes, and a book."
    )
    parser.parse_args()
    spawn = multiprocessing.get_context("spawn")  # a process for each: none finds models loaded
    with (
        tempfile.TemporaryDirectory() as folder,
        ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as processes,
    ):
        for name, journey in (("index", index), ("ask", ask), ("POST /answer", post_answer)):
            files = processes.submit(journey, Path(folder)).result()
            print(f"{name}: {len(files)} files")
            print("".join(f"  {file}\n" for file in files))


if __name__ == "__main__":
    main()

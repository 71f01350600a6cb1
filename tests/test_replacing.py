"""A book that is replaced while questions about it are asked: every answer is of one build, whole."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import shelf
from server import serving

from answering.book_qa import Ask, BookQA
from indexing.build import BuildSettings, build_book
from indexing.manifest import Manifest
from indexing.store import IndexStore
from service.settings import Settings

TEXTS = [f"Edition {number}.\n\n{shelf.LANTERN}{shelf.CLOCK * number}" for number in range(4)]
QUESTION = "Where had Ines hidden the good oil?"
REPLACEMENTS = 40

Quotation = tuple[str, int, int]  # the text, and where in the book it is said to stand


class Editions:
    """A book whose editions are built beforehand, to be published one after the other at once."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self.store = IndexStore(folder / "store")
        self.text_of: dict[str, str] = {}  # by version
        self._built: list[tuple[Path, Manifest]] = []
        for number, text in enumerate(TEXTS):
            beside = IndexStore(folder / str(number))
            book = replace(shelf.story("lantern"), text=text, chapters=())
            build_book(book, BuildSettings(words=30, encoder=str(encoder)), beside)
            manifest = beside.manifest("lantern")
            self.text_of[manifest.version] = text
            self._built.append((beside.root / "books" / "lantern" / beside.current("lantern"), manifest))

    def publish(self, turn: int) -> None:
        folder, manifest = self._built[turn % len(self._built)]

        def write(workspace: Path) -> Manifest:
            shutil.copytree(folder, workspace, dirs_exist_ok=True)
            return manifest

        with self.store.claim("lantern") as claim:
            claim.publish(write)


@pytest.fixture
def editions(tmp_path: Path, tiny_bert: Path) -> Editions:
    editions = Editions(tmp_path, tiny_bert)
    editions.publish(0)
    return editions


def asked_meanwhile(ask: Callable[[], tuple[str, list[Quotation]]], editions: Editions) -> set[str]:
    """The versions that answered while the book was replaced over and over; every quotation is checked."""
    done = threading.Event()
    seen: set[str] = set()
    wrong: list[object] = []

    def ask_on() -> None:
        while not done.is_set():
            try:
                version, quotations = ask()
                text = editions.text_of[version]
                wrong.extend(one for one in quotations if one[0] != text[one[1] : one[2]])
                seen.add(version)
            except Exception as error:
                wrong.append(error)

    threads = [threading.Thread(target=ask_on) for _ in range(3)]
    for thread in threads:
        thread.start()
    # So often, and on a busy machine until more than one of them has answered.
    late = time.monotonic() + 30
    for turn in count():
        editions.publish(turn)
        if turn >= REPLACEMENTS and (len(seen) > 1 or time.monotonic() > late):
            break
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    return seen


def test_over_http(editions: Editions) -> None:
    settings = Settings(store=editions.store.root, retriever="bm25", reader="overlap")
    with serving(settings) as client:

        def ask(path: str, **more: str) -> dict[str, Any]:
            response = client.post(path, json={"book_id": "lantern", "question": QUESTION, **more})
            assert response.status_code == 200, response.text
            return dict(response.json())

        def answer() -> tuple[str, list[Quotation]]:
            content = ask("/answer")
            evidence = [one["evidence"] for one in (content, *content["candidates"])]
            return content["versions"]["index"], [
                *((one["text"], one["start"], one["end"]) for one in evidence),
                *((one["sentence"], one["sentence_start"], one["sentence_end"]) for one in evidence),
            ]

        def search() -> tuple[str, list[Quotation]]:
            content = ask("/search")
            hits = [(one["text"], one["start"], one["end"]) for one in content["hits"]]
            return content["versions"]["index"], hits

        for ask_once in (answer, search):
            assert len(asked_meanwhile(ask_once, editions)) > 1


def test_offline(editions: Editions) -> None:
    offline = threading.local()  # one thread at a time may use a BookQA

    def ask() -> tuple[str, list[Quotation]]:
        if not hasattr(offline, "qa"):
            offline.qa = BookQA(editions.store)
        cited = offline.qa.answer(Ask("lantern", QUESTION, retriever="bm25", reader="overlap"))
        evidence = cited.evidence
        return cited.versions["index"], [(evidence.text, evidence.start, evidence.end)]

    assert len(asked_meanwhile(ask, editions)) > 1

"""``storyqa probe --url``: a running service is lent the stories as books, and keeps none of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import shelf
from server import new_key, running
from test_cli import PATIENCE_S, ROOT, STORYQA

from evaluation.probing.asking import LENT, ask_service
from evaluation.probing.fresh_questions import fresh
from evaluation.probing.story_books import plain_books
from service.app import create_app
from service.cli import run
from service.lent_books import BookLender
from service.settings import Settings

pytestmark = pytest.mark.processes

FEW = ("--tasks", "1,6", "--per-task", "4")


def settings(tmp_path: Path, **more: Any) -> Settings:
    return Settings(store=shelf.stock(tmp_path / "store").root, retriever="bm25", reader="overlap", **more)


def books(url: str, key: str | None = None) -> list[str]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    return [one["id"] for one in httpx.get(f"{url}/books", headers=headers).json()]


def test_a_service_answers_as_its_reader_does_and_is_left_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["probe", *FEW, "--out", str(tmp_path / "out"), "--json"]
    with running(create_app(settings(tmp_path))) as url:
        assert run([*asked, "--url", url]) == 0
        served = json.loads(capsys.readouterr().out)
        assert books(url) == sorted(shelf.STORIES)
    assert (served["reader"], served["url"], served["answered_by"]) == (None, url, ["overlap"])
    assert run([*asked, "--reader", "overlap"]) == 0
    assert json.loads(capsys.readouterr().out)["skills"][0]["right"] == served["skills"][0]["right"]


def test_a_service_with_keys_takes_books_of_administrators_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    served = settings(tmp_path)
    admin, reader = (new_key(served.key_file, name, name) for name in ("admin", "read"))
    with running(create_app(served)) as url:
        asked = ["probe", *FEW, "--url", url, "--out", str(tmp_path / "out"), "--json"]
        for key, status in ((None, 401), (reader, 403)):
            if key is not None:
                monkeypatch.setenv("STORYQA_SERVICE_KEY", key)
            assert run(asked) == 2
            said = capsys.readouterr().err
            assert f"answered {status}" in said
            assert said.count("\n") == 1
        monkeypatch.setenv("STORYQA_SERVICE_KEY", admin)
        assert run(asked) == 0
        assert books(url, admin) == sorted(shelf.STORIES)


def test_all_questions_are_answered_a_few_books_at_a_time(tmp_path: Path) -> None:
    told: list[tuple[str, int, int]] = []
    questions = fresh(1, 20, 0).questions
    with running(create_app(settings(tmp_path))) as url, BookLender(url, None) as service:
        books = plain_books(questions)
        said = list(ask_service(books, service, {"k": 1}, lambda *step: told.append(step)))
    assert [one.question for one in said] == list(questions)
    assert {one.reader for one in said} == {"overlap"}
    assert [done for _, done, _ in told] == list(range(0, len(books), LENT))


def test_books_are_taken_back_where_the_service_refuses_the_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running(create_app(settings(tmp_path))) as url:
        asked = ["probe", *FEW, "--url", url, "--retriever", "bm52", "--out", str(tmp_path / "out")]
        assert run(asked) == 2
        assert "bm52" in capsys.readouterr().err
        assert books(url) == sorted(shelf.STORIES)


def test_books_are_taken_back_on_ctrl_c(tmp_path: Path) -> None:
    with running(create_app(settings(tmp_path))) as url:
        process = subprocess.Popen(
            [*STORYQA, "probe", "--tasks", "1", "--url", url, "--out", str(tmp_path / "out")],
            cwd=ROOT,
            env=dict(os.environ),
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + PATIENCE_S
        while not any(id.startswith("probe-") for id in books(url)):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 130, err
        assert err.count("\n") <= 1
        assert books(url) == sorted(shelf.STORIES)

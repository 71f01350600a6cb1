"""The Model Context Protocol as its inspector's command line sees it.

It is a package of npm, some 150 MB: these tests run where ``mcp-inspector`` is on the path and fetch nothing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import shelf
from server import new_key, serving, wait_until_ready

from indexing.store import IndexStore
from service.settings import Settings

pytest.importorskip("mcp", reason="these tests need the extra mcp")

ROOT = Path(__file__).parents[1]
INSPECTOR = shutil.which("mcp-inspector")
BOOK, QUESTION = shelf.QUESTIONS[2]
TEXT = shelf.STORIES[BOOK][1]
LIMIT = len(TEXT) * 40 // 100
ASKED = ["--method", "tools/call", "--tool-name", "ask", "--tool-arg", f"book_id={BOOK}"]
ASKED += ["--tool-arg", f"question={QUESTION}", "--tool-arg", "before=40%"]

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        INSPECTOR is None,
        reason="there is no inspector here: npm install --global @modelcontextprotocol/inspector",
    ),
]


def inspected(*arguments: str) -> dict[str, Any]:
    """What one call of the inspector prints."""
    assert INSPECTOR is not None
    done = subprocess.run(
        [INSPECTOR, "--cli", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def command(shelf_store: IndexStore, tmp_path: Path) -> list[str]:
    """``storyqa mcp`` as the inspector is given it, which takes no options among a command's arguments."""
    script = tmp_path / "storyqa"
    script.write_text(f"#!{sys.executable}\nfrom service.cli import main\nmain()\n", "utf-8")
    script.chmod(0o755)
    variables = {
        "STORYQA_RETRIEVER": "bm25",
        "STORYQA_READER": "overlap",
        "STORYQA_STORE": shelf_store.root,
        "PYTHONPATH": ROOT,
    }
    given = [part for name, value in variables.items() for part in ("-e", f"{name}={value}")]
    return [*given, str(script), "mcp"]


def test_the_command_shows_its_tools_and_its_books(command: list[str]) -> None:
    tools = inspected(*command, "--method", "tools/list")["tools"]
    assert [one["name"] for one in tools if "before" not in one["inputSchema"]["properties"]] == ["books"]
    books = inspected(*command, "--method", "resources/list")["resources"]
    assert [one["name"] for one in books] == sorted(shelf.STORIES)


def test_the_command_answers_up_to_the_limit(command: list[str]) -> None:
    answer = json.loads(inspected(*command, *ASKED)["content"][0]["text"])
    place = answer["evidence"]
    assert place["text"] == TEXT[place["start"] : place["end"]]
    assert max(one["end"] for one in [place, *answer["passages"]]) <= LIMIT


def test_the_service_answers_an_inspector_that_has_its_key(shelf_store: IndexStore, tmp_path: Path) -> None:
    key = new_key(tmp_path / "keys.json", "inspector", "read")
    settings = Settings(store=shelf_store.root, retriever="bm25", reader="overlap", state=tmp_path)
    with serving(settings) as http:
        wait_until_ready(http)
        address = [f"{http.base_url}/mcp", "--transport", "http", "--header", f"Authorization: Bearer {key}"]
        answer = inspected(*address, *ASKED)["structuredContent"]
        headers = {"Authorization": f"Bearer {key}"}
        asked = {"book_id": BOOK, "question": QUESTION, "before": "40%"}
        by_call = http.post("/answer", json=asked, headers=headers).json()
    assert answer | {"timings_ms": 0} == by_call | {"timings_ms": 0}

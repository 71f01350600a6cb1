"""Variables that are called as ours are: of those that nothing reads somebody is warned, and of no other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from service.settings import Settings, load_settings, warn_of_unknown

ROOT = Path(__file__).parents[1]
PATIENCE_S = 300
STORYQA = [sys.executable, "-c", "from service.console_script import main; main()"]
UNKNOWN = "STORYQA_READR is no variable that storyqa knows, and changes nothing; did you mean STORYQA_READER?"
# Where users learn names from, and what reads them; CHANGELOG.md has names of before, too.
PLACES = ("README.md", "Makefile", "docs", "deploy", "service", "encoders", "tests/conftest.py", ".ci")


def warned(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, *variables: str) -> list[str]:
    """What is said twice asked where these variables are set to something."""
    for name in [name for name in os.environ if name.upper().startswith("STORYQA_")]:
        monkeypatch.delenv(name)
    for name in variables:
        monkeypatch.setenv(name, "1")
    warn_of_unknown.cache_clear()
    caplog.clear()
    for _ in range(2):
        warn_of_unknown()
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("STORYQA_READR", "STORYQA_READER"),
        ("STORYQA_MODEL", "STORYQA_MODELS"),
        ("STORYQA_KEY", "STORYQA_KEYS"),
        ("STORYQA_LARGEST_UPLOAD", "STORYQA_LARGEST_UPLOAD_MB"),
        ("STORYQA_ENCODR", "STORYQA_ENCODER"),
        ("storyqa_stor", "STORYQA_STORE"),
    ],
)
def test_a_mistyped_variable_is_told_once_with_the_one_that_is_meant(
    variable: str, meant: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    [said] = warned(monkeypatch, caplog, variable)
    assert said == f"{variable} is no variable that storyqa knows, and changes nothing; did you mean {meant}?"


def test_a_variable_that_is_like_none_of_ours_is_told_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    [said] = warned(monkeypatch, caplog, "STORYQA_XYZZY")
    assert said == "STORYQA_XYZZY is no variable that storyqa knows, and changes nothing"


def test_no_variable_that_anything_of_ours_reads_or_that_is_written_of_is_unknown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    found = (file for place in PLACES for file in (ROOT / place, *(ROOT / place).rglob("*")))
    files = (file for file in found if file.is_file() and file.suffix != ".pyc")
    texts = (file.read_bytes().decode("utf-8", "replace") for file in files)
    named = {name for text in texts for name in re.findall(r"(?<!_)STORYQA_[A-Z][A-Z_]*[A-Z]", text)}
    assert len(named) > 30
    named |= {f"STORYQA_{field.upper()}" for field in Settings.model_fields}
    links = ("STORYQA_SERVICE_HOST", "STORYQA_SERVICE_PORT_HTTP", "STORYQA_PORT_8000_TCP_ADDR")  # Kubernetes'
    of_others = ("STORY", "XSTORYQA_READR", "STORYQA", "_STORYQA_COMPLETE")
    assert warned(monkeypatch, caplog, *named, *links, "STORYQA_API_SERVICE_HOST", *of_others) == []


def test_the_settings_are_read_whatever_is_unknown(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    warned(monkeypatch, caplog, "STORYQA_READR")
    warn_of_unknown.cache_clear()
    caplog.clear()
    assert load_settings().reader == "auto"
    assert [record.getMessage() for record in caplog.records] == [UNKNOWN]


def test_the_command_line_warns_in_a_line_of_its_own(tmp_path: Path) -> None:
    done = subprocess.run(
        [*STORYQA, "copy", str(tmp_path / "one"), str(tmp_path / "other")],
        cwd=ROOT,
        env=os.environ | {"STORYQA_READR": "span"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    first, *rest = done.stderr.splitlines()
    assert first == f"storyqa: {UNKNOWN}"
    assert all("STORYQA_" not in line for line in rest)


@pytest.mark.processes
@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_service_warns_in_its_log(tmp_path: Path, workers: str) -> None:
    server = subprocess.Popen(
        [*STORYQA, "serve", "--port", "0", "--workers", workers, "--store", str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"STORYQA_READR": "span", "STORYQA_LOG_FORMAT": "json"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert server.stderr is not None
        said = json.loads(server.stderr.readline())
        assert (said["level"], said["message"]) == ("WARNING", UNKNOWN)
    finally:
        server.kill()
        server.communicate(timeout=PATIENCE_S)

"""How a command line is told of itself: the manual page, and what the Tab key completes in bash."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from service.cli import COMMANDS, app

ROOT = Path(__file__).parents[1]
# What bash does for the Tab key; it must not depend on the package bash-completion.
PRESS_TAB = """
eval "$(_STORYQA_COMPLETE=source_bash storyqa)"
complete -p storyqa >&2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=${#COMP_LINE}
_storyqa_completion storyqa
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The manual page as ``make docs`` writes it."""
    pytest.importorskip("pypandoc", reason="pandoc is not installed: pip install pypandoc_binary")
    folder = tmp_path_factory.mktemp("man1")
    subprocess.run(
        [sys.executable, "deploy/man_page.py", str(folder)],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return folder / "storyqa.1"


@pytest.mark.processes
def test_the_manual_page_has_every_command_and_its_options(page: Path) -> None:
    source = page.read_text(encoding="utf-8")
    text = re.sub(r"\\f\[?\w+\]?|\\f\w", "", source).replace("\\-", "-")
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    sections = re.split(r"(?m)^\.S[SH] ", text)
    headed = {section.partition("\n")[0].strip('"'): section for section in sections}
    for name, command in root.commands.items():
        section = headed[f"storyqa {name}"]
        if name not in COMMANDS:
            for parameter in command.params:
                assert all(option in section for option in parameter.opts if option.startswith("-"))
    assert "--data" in headed["storyqa evaluate narrativeqa"]
    assert headed["NAME"].splitlines()[1].startswith("storyqa - Answers questions about whole books")


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff here: apt-get install groff")
def test_the_manual_page_is_shown_without_a_warning(page: Path) -> None:
    shown = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", str(page)], capture_output=True, text=True, check=True
    )
    assert shown.stderr == ""
    assert "STORYQA(1)" in shown.stdout


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash here")
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        (["sh"], ["show", "shelves"]),
        (["shelves", "cr"], ["create"]),
        (["ask", "--ret"], ["--retriever"]),
        (["evaluate", "nov"], ["novels"]),
        (["evaluate", "squad", "--li"], ["--limit"]),
        (["train", "bid"], ["bidaf"]),
        (["prepare", "wiki"], ["wikireading"]),
        (["worlds", "--act"], ["--actors"]),
        (["reproduce", "--vec"], ["--vectors"]),
    ],
)
def test_bash_completes_commands_and_options(tmp_path: Path, typed: list[str], completed: list[str]) -> None:
    script = tmp_path / "storyqa"
    script.write_text(f"#!{sys.executable}\nfrom service.cli import main\nmain()\n", "utf-8")
    script.chmod(0o755)
    environment = os.environ | {
        "PYTHONPATH": str(ROOT),
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "--norc", "-c", PRESS_TAB, "bash", "storyqa", *typed],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == completed, done.stderr

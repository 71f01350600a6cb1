"""Figures are of this code: what changed since is named beside them, and why it does not matter."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MEASURED = ("encoders", "readers/default", "retrieval")  # what the figures depend on
COMMIT = re.compile(r"^Measured at commit `([0-9a-f]{7,40})`", re.M)
ROW = re.compile(r"^\| `([^`]+)` \| ([0-9a-f]{7}|gone) \| (\S.*\S) \|$", re.M)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def is_measured(path: str) -> bool:
    return path.endswith((".py", ".safetensors", ".npz", ".toml", ".json"))


def blobs_then(commit: str) -> dict[str, str]:
    """What each file was: its path and the first digits of its blob."""
    lines = git("ls-tree", "-r", commit, "--", *MEASURED).splitlines()
    found = {path: info.split()[2][:7] for info, _, path in (line.partition("\t") for line in lines)}
    return {path: blob for path, blob in found.items() if is_measured(path)}


def blobs_now() -> dict[str, str]:
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *MEASURED).splitlines()
    paths = [path for path in listed if is_measured(path) and (ROOT / path).is_file()]
    return dict(zip(paths, (blob[:7] for blob in git("hash-object", "--", *paths).split()), strict=True))


def missing_rows(text: str, then: dict[str, str], now: dict[str, str]) -> list[str]:
    """The rows that a page lacks, to be given their reasons."""
    named = {(path, blob) for path, blob, _ in ROW.findall(text)}
    changed = {path: now.get(path, "gone") for path in then.keys() | now if now.get(path) != then.get(path)}
    return [
        f"| `{path}` | {blob} | WHY |" for path, blob in sorted(changed.items()) if (path, blob) not in named
    ]


@pytest.mark.parametrize("page", ["performance.md", "results.md"])
def test_what_changed_since_the_figures_were_measured_is_named_with_the_reason_why_they_stand(
    page: str,
) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("no git repository: what was measured cannot be compared")
    text = (ROOT / "docs" / page).read_text("utf-8")
    commits = COMMIT.findall(text)
    assert len(commits) == 1, f"docs/{page}: {len(commits)} lines say at which commit it was measured"
    if subprocess.run(["git", "cat-file", "-e", commits[0]], cwd=ROOT, capture_output=True).returncode:
        pytest.skip(f"a shallow clone: {commits[0]} is not in it")
    missing = missing_rows(text, blobs_then(commits[0]), blobs_now())
    assert not missing, f"measure docs/{page} again, or add to it:\n" + "\n".join(missing)


def test_a_change_a_new_file_and_one_that_is_gone_each_want_a_row_of_their_present_state() -> None:
    then = {"a.py": "1111111", "b.py": "2222222", "c.py": "3333333"}
    now = {"a.py": "1111111", "b.py": "4444444", "d.py": "5555555"}
    rows = ["| `b.py` | 4444444 | WHY |", "| `c.py` | gone | WHY |", "| `d.py` | 5555555 | WHY |"]
    assert missing_rows("", then, now) == rows
    assert missing_rows("\n".join(rows), then, now) == []
    assert missing_rows("| `b.py` | 2222222 | renamed |", then, now) == rows

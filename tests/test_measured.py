"""Figures are of this code: what changed since is named beside them, and why it does not matter."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
READING = ("encoders", "readers/default", "retrieval")
# What the figures of a page depend on: those of answers also on what is looked up, put otherwise or parsed.
MEASURED = {
    "performance.md": READING,
    "results.md": (*READING, "answering", "indexing", "readers/choosing.py", "text"),
}
COMMIT = re.compile(r"^Measured at commit `([0-9a-f]{7,40})`", re.M)
ROW = re.compile(r"^\| `([^`]+)` \| ([0-9a-f]{7}|gone) \| (\S.*\S) \|$", re.M)


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def is_measured(path: str) -> bool:
    return path.endswith((".py", ".safetensors", ".npz", ".toml", ".json"))


def blobs_then(commit: str, measured: Sequence[str]) -> dict[str, str]:
    """What each file was: its path and the first digits of its blob."""
    lines = git("ls-tree", "-r", commit, "--", *measured).splitlines()
    found = {path: info.split()[2][:7] for info, _, path in (line.partition("\t") for line in lines)}
    return {path: blob for path, blob in found.items() if is_measured(path)}


def blobs_now(measured: Sequence[str]) -> dict[str, str]:
    listed = git("ls-files", "--cached", "--others", "--exclude-standard", "--", *measured).splitlines()
    paths = [path for path in listed if is_measured(path) and (ROOT / path).is_file()]
    return dict(zip(paths, (blob[:7] for blob in git("hash-object", "--", *paths).split()), strict=True))


def missing_rows(text: str, then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The rows that a page lacks, to be given their reasons: one a file that is another than it was.

    A row of a folder, such as ``text/``, stands for all such files in it but those that have a row of their
    own, or a folder within it has; it holds as long as they all are what they were when it was written.
    """
    named = {path: blob for path, blob, _ in ROW.findall(text)}
    changed = {path: now.get(path, "gone") for path in then.keys() | now if now.get(path) != then.get(path)}
    states: dict[str, dict[str, str]] = defaultdict(dict)
    for path, blob in changed.items():
        folders = [name for name in named if name.endswith("/") and path.startswith(name)]
        states[path if path in named else max(folders, key=len, default=path)][path] = blob
    rows = []
    for name, files in sorted(states.items()):
        state = digest(files) if name.endswith("/") else files[name]
        if named.get(name) != state:
            rows.append(f"| `{name}` | {state} | WHY |")
    return rows


def digest(blobs: Mapping[str, str]) -> str:
    """Seven digits for what several files are."""
    listed = "\n".join(f"{path} {blob}" for path, blob in sorted(blobs.items()))
    return hashlib.sha256(listed.encode()).hexdigest()[:7]


@pytest.mark.parametrize("page", MEASURED)
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
    measured = MEASURED[page]
    missing = missing_rows(text, blobs_then(commits[0], measured), blobs_now(measured))
    assert not missing, (
        f"measure docs/{page} again, or look at what changed and say in these rows why its figures stand:\n"
        + "\n".join(missing)
    )


def test_a_change_a_new_file_and_one_that_is_gone_each_want_a_row_of_their_present_state() -> None:
    then = {"a.py": "1111111", "b.py": "2222222", "c.py": "3333333"}
    now = {"a.py": "1111111", "b.py": "4444444", "d.py": "5555555"}
    rows = ["| `b.py` | 4444444 | WHY |", "| `c.py` | gone | WHY |", "| `d.py` | 5555555 | WHY |"]
    assert missing_rows("", then, now) == rows
    assert missing_rows("\n".join(rows), then, now) == []
    assert missing_rows("| `b.py` | 2222222 | renamed |", then, now) == rows


def test_a_row_of_a_folder_holds_until_any_file_in_it_is_another_again() -> None:
    then = {"text/a.py": "1111111", "text/b.py": "2222222", "text/words/c.py": "3333333"}
    now = {"text/a.py": "4444444", "text/b.py": "2222222", "text/words/c.py": "5555555"}
    begun = "| `text/` | 0000000 | looked at |\n"
    [row] = missing_rows(begun, then, now)
    assert missing_rows(row, then, now) == []
    later = [
        now | {"text/a.py": "6666666"},
        now | {"text/b.py": "6666666"},  # which was as it had been
        now | {"text/new.py": "6666666"},
        {path: blob for path, blob in now.items() if path != "text/b.py"},
        now | {"text/a.py": "1111111"},  # back to what it was, beside others that changed
    ]
    for state in later:
        [again] = missing_rows(row, then, state)
        assert again.startswith("| `text/` | ")
        assert again != row
    inner = missing_rows(f"{begun}| `text/words/` | 0000000 | looked at |", then, now)
    assert [one.split("`")[1] for one in inner] == ["text/", "text/words/"]
    assert missing_rows("\n".join(inner), then, now) == []
    assert len(missing_rows("\n".join(inner), then, now | {"text/words/c.py": "6666666"})) == 1
    own = missing_rows(f"{row}\n| `text/a.py` | 0000000 | WHY |", then, now)
    assert [one.split("`")[1] for one in own] == ["text/", "text/a.py"]  # a row of its own goes before

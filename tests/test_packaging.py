"""What gets installed is what the repository holds."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: list[str] = PROJECT["tool"]["setuptools"]["packages"]
ROOMS = [ROOT / room / "weights" for room in ("encoders", "readers")]
# Selectors are no tensors, and are fitted all the same.
WEIGHTS = sorted(
    path for room in ROOMS for kind in ("safetensors", "json") for path in room.rglob(f"*.{kind}")
)
ON_A_CARD = {
    *("Data", "Licence", "Seed", "Command", "Time", "Processor", "Scores on held-out questions", "Size"),
}
NOT_INSTALLED = {"tests", "benchmarks", "deploy", "docs"}
PINS = dict(
    line.split(";")[0].strip().lower().replace("_", "-").split("==")
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)


def test_every_folder_of_code_is_a_listed_package() -> None:
    top = {package.partition(".")[0] for package in PACKAGES}
    folders = {
        ".".join(init.parent.relative_to(ROOT).parts)
        for name in top
        for init in (ROOT / name).rglob("__init__.py")
    }
    assert set(PACKAGES) == folders


def test_every_top_level_package_is_installed_or_known_not_to_be() -> None:
    found = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert found - NOT_INSTALLED == {package for package in PACKAGES if "." not in package}


def test_no_module_hides_one_of_the_standard_library_or_of_a_dependency() -> None:
    names = {path.stem for path in ROOT.glob("*.py")} | {package.partition(".")[0] for package in PACKAGES}
    assert not names & {"types", "datasets", "tokenizers", "evaluate"}


@pytest.mark.parametrize("command", PROJECT["project"]["scripts"])
def test_the_console_script_leads_to_a_function(command: str) -> None:
    module, _, function = PROJECT["project"]["scripts"][command].partition(":")
    assert callable(getattr(import_module(module), function))


def test_every_dependency_is_pinned() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    pinned = (extra for name, extra in extras.items() if name != "gpu")
    wanted = [*PROJECT["project"]["dependencies"], *(one for extra in pinned for one in extra)]
    names = {canonicalize_name(Requirement(one).name) for one in wanted}
    assert names <= PINS.keys()


@pytest.mark.parametrize("weights", WEIGHTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_all_that_was_learnt_comes_with_a_card_that_says_how(weights: Path) -> None:
    card = weights.with_suffix(".md").read_text(encoding="utf-8")
    assert set(re.findall(r"^- \*\*([^*]+)\*\*", card, re.MULTILINE)) >= ON_A_CARD
    assert "  - none" not in card
    assert f"{weights.stat().st_size:,} bytes" in card


def test_the_weights_are_small_enough_to_come_with_the_code() -> None:
    sizes = {path: path.stat().st_size for path in WEIGHTS}
    assert len(sizes) > 20
    assert sum(sizes.values()) <= 52e6
    assert 0 < sum(size for path, size in sizes.items() if path.parent.name == "large") <= 14e6

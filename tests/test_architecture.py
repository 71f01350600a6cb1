"""The arrows between the packages, read from their imports, and what importing a package must not cost."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What each package may import besides itself: whole packages, or single modules.
ARROWS: dict[str, tuple[str, ...]] = {
    "text": (),
    "encoders": ("text",),
    "indexing": ("text", "encoders"),
    "retrieval": ("text", "encoders", "indexing"),
    # A reader sees strings, never a book or an index.
    "readers": ("text", "encoders"),
    "answering": ("text", "encoders", "indexing", "retrieval", "readers"),
    "terminal": (),
    "service": ("text", "encoders", "indexing", "retrieval", "readers", "answering", "terminal"),
    "evaluation": (
        "text",
        "encoders",
        "indexing",
        "retrieval",
        "readers",
        "answering",
        "terminal",
    ),
    "training": (
        *("text", "encoders", "indexing", "retrieval", "readers", "answering", "terminal"),
        "evaluation",
    ),
}
HEAVY = ("torch", "numpy", "transformers", "faiss", "sklearn", "pydantic", "fastapi", "rich")


def imports(file: Path) -> Iterator[str]:
    """Every module that a file imports, wherever in it the import stands."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            assert node.module is not None
            for alias in node.names:
                part = ROOT.joinpath(*node.module.split("."), alias.name)
                is_module = part.with_suffix(".py").exists() or part.is_dir()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def allowed(package: str, module: str) -> bool:
    """Whether a file of ``package`` may import ``module``."""
    if module.partition(".")[0] not in ARROWS:
        return True  # not ours
    return any(module == one or module.startswith(f"{one}.") for one in (package, *ARROWS[package]))


@pytest.mark.parametrize("package", ARROWS)
def test_a_package_imports_only_what_the_architecture_allows(package: str) -> None:
    files = sorted((ROOT / package).rglob("*.py"))
    assert files
    against = [
        f"{file.relative_to(ROOT)} imports {module}"
        for file in files
        for module in imports(file)
        if not allowed(package, module)
    ]
    assert against == []


def test_every_top_level_package_has_its_arrows() -> None:
    packages = {init.parent.name for init in ROOT.glob("*/__init__.py")}
    assert packages - {"tests", "benchmarks"} == set(ARROWS)


def test_the_reading_of_imports_sees_a_forbidden_one(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "def f():\n    from indexing import index\n    import service.app as app\n    import torch\n"
    )
    found = list(imports(file))
    assert found == ["indexing.index", "service.app", "torch"]
    assert [allowed("readers", module) for module in found] == [False, False, True]


def loaded_by(modules: Sequence[str]) -> dict[str, set[str]]:
    """Per module what is loaded once it, and those before it, have been imported in a new Python."""
    code = (
        "import importlib, json, sys\n"
        "for module in sys.argv[1:]:\n"
        "    importlib.import_module(module)\n"
        "    print(json.dumps([module, [name.partition('.')[0] for name in sys.modules]]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *modules], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return {module: set(loaded) for module, loaded in map(json.loads, done.stdout.splitlines())}


def test_importing_a_package_loads_nothing_heavy() -> None:
    for package, loaded in loaded_by(list(ARROWS)).items():
        assert not loaded.intersection(HEAVY), package


def test_importing_what_the_command_line_needs_loads_neither_torch_nor_numpy() -> None:
    modules = [
        "service.cli",
        "answering.book_qa",
        "indexing.build",
        "retrieval.hybrid",
        "readers.baselines.overlap",
    ]
    for module, loaded in loaded_by(modules).items():
        assert not loaded.intersection({"torch", "numpy", "transformers", "faiss"}), module

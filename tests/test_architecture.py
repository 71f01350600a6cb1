"""The arrows between the rooms, read from imports and by importing, and what importing must not cost."""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# What each room may import besides itself: whole rooms, or packages of one.
_UP_TO_ANSWERING = ("text", "encoders", "indexing", "retrieval", "readers", "answering")
ARROWS: dict[str, tuple[str, ...]] = {
    "text": (),
    "encoders": ("text",),
    "indexing": ("text", "encoders"),
    "retrieval": ("text", "encoders", "indexing"),
    "readers": ("text", "encoders"),  # a reader sees strings, never a book or an index
    "answering": ("text", "encoders", "indexing", "retrieval", "readers"),
    "terminal": (),
    "service": (*_UP_TO_ANSWERING, "terminal"),
    "evaluation": (*_UP_TO_ANSWERING, "terminal"),
    # Of evaluation the data loaders and stories, and the metrics by which the best checkpoint is chosen.
    "training": (
        *_UP_TO_ANSWERING,
        "terminal",
        "evaluation.benchmarks",
        "evaluation.metrics",
        "evaluation.wikireading",
        "evaluation.worlds",
    ),
    "storyqa": (*_UP_TO_ANSWERING, "terminal", "service"),  # the public names
}
# The command line lists the commands of the rooms above it by name, and imports one when it is run.
MAIN = "service.cli"
STARTS_MAIN = "service.console_script"
COMMANDS = ("evaluation.commands", "training.commands")

# Modules that share a name, and why. A reader looks a name up once, so there must be a reason.
SHARED_NAMES = {
    "commands": "every room that has commands keeps them there",
    "errors": "every room that has errors of its own keeps them there",
    "weights": "every room that ships weights keeps them there",
    "index": "the command is called what it makes",
    "shelves": "what is kept of them, and their command",
    "overviews": "what is told without a question, by the service and by commands",
    "metrics": "scores of answers, and Prometheus's: the field's word for both",
    "overlap": "the reader is called after the measure",
    "similarity": "the reader is called after the measure",
    "sparse": "the retriever is called after the index that it searches",
    "babi": "the data set: its questions, its stories to learn from, and the training of its systems",
    "cloze": "the field's word: its text, a reading of one, and the questions made of books",
    "options": "of a reader's name, and of the command line",
    "wikireading": "the data set: its benchmark, and what is read, made and counted of it",
    "worlds": "the simulated worlds, and the command that writes their stories",
    "natural": "the questions, and the command that asks them",
    "facts": "what a book says, what scores it, and the sentences that bAbI's readers infer from",
    "unanswerable": "questions that have no answer: to learn from, to be scored on, and their command",
}
# An objective is called as the model that it trains, a corpus as the benchmark that it is cut from.
NAMESAKES = {
    "training.objectives": ("readers.neural", "readers.default", "readers.baselines", "encoders"),
    "training.corpora": ("evaluation.benchmarks",),
}
HEAVY = ("torch", "numpy", "transformers", "faiss", "sklearn", "pydantic", "fastapi", "rich")


def modules() -> dict[str, Path]:
    """Every module of the rooms by its dotted name; a package stands for its ``__init__``."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for room in ARROWS
        for file in sorted((ROOT / room).rglob("*.py"))
    }


MODULES = modules()
_NAMED = re.compile(rf"((?:{'|'.join(ARROWS)})(?:\.\w+)+)(?::\w+)?")


def imports(file: Path, typing_too: bool = True) -> Iterator[str]:
    """Every module that a file imports, wherever in it the import stands.

    A string that names a module of ours (``"readers.default.auto:AutoReader"``, as the registries
    have it) is an import that happens later. Imports under ``if TYPE_CHECKING`` only ``typing_too``.
    """
    pending: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not typing_too:
            pending += node.orelse
            continue
        pending += ast.iter_child_nodes(node)
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            named = _NAMED.fullmatch(node.value)
            if named and named[1] in MODULES:
                yield named[1]


def allowed(importer: str, imported: str) -> bool:
    """Whether the module ``importer`` may import ``imported``."""
    if imported.partition(".")[0] not in ARROWS:
        return True  # not ours
    room = importer.partition(".")[0]
    targets = (room, *ARROWS[room], *(COMMANDS if importer == MAIN else ()))
    return any(imported == one or imported.startswith(f"{one}.") for one in targets)


@cache
def graph(typing_too: bool) -> dict[str, list[str]]:
    """What each module of ours imports of ours."""
    return {
        module: sorted({name for name in imports(file, typing_too) if name in MODULES and name != module})
        for module, file in MODULES.items()
    }


def reached(starts: Sequence[str], arrows: dict[str, list[str]]) -> set[str]:
    """The modules that importing ``starts`` loads sooner or later, the packages around them too."""
    found: set[str] = set()
    pending = list(starts)
    while pending:
        module = pending.pop()
        if module in arrows and module not in found:
            found.add(module)
            pending += [*arrows[module], module.rpartition(".")[0]]
    return found


@pytest.mark.parametrize("room", ARROWS)
def test_a_room_imports_only_what_the_architecture_allows(room: str) -> None:
    against = [
        f"{module} imports {name}"
        for module, file in MODULES.items()
        if module.partition(".")[0] == room
        for name in sorted(set(imports(file)))
        if not allowed(module, name)
    ]
    assert against == []


@pytest.mark.parametrize("room", ARROWS)
def test_what_a_room_imports_leads_nowhere_that_the_room_may_not_go(room: str) -> None:
    inside = [module for module in MODULES if module.partition(".")[0] == room]
    inside = [module for module in inside if module not in (MAIN, STARTS_MAIN)]
    onward = graph(typing_too=False)
    rooms = {one.partition(".")[0] for one in (room, *ARROWS[room])}
    assert {module for module in reached(inside, onward) if module.partition(".")[0] not in rooms} == set()


def test_no_two_files_import_each_other() -> None:
    # Types count: whoever reads one of two files would have to read the other first, and it them.
    arrows = graph(typing_too=True)
    circles = []
    for module in arrows:
        found: set[str] = set()
        pending = list(arrows[module])
        while pending:
            one = pending.pop()
            if one not in found:
                found.add(one)
                pending += arrows[one]
        if module in found:
            circles.append(module)
    assert circles == []


def test_no_two_modules_share_a_name_without_need() -> None:
    by_name: dict[str, list[str]] = defaultdict(list)
    for module in MODULES:
        if "." in module:  # rooms have one each
            by_name[module.rpartition(".")[2]].append(module)
    shared = {name: both for name, both in by_name.items() if len(both) > 1 and not _is_namesake(both)}
    assert {name: both for name, both in shared.items() if name not in SHARED_NAMES} == {}
    assert set(SHARED_NAMES) <= set(shared), "a reason for what is no longer so"


def test_modules_are_named_by_nouns_of_the_field() -> None:
    none = {"asked", "told", "shown", "works", "laps", "lessons", "shelving"}
    assert [module for module in MODULES if not none.isdisjoint(re.split(r"[._]", module))] == []


def _is_namesake(both: Sequence[str]) -> bool:
    if len(both) != 2:
        return False
    one, other = (module.rpartition(".")[0] for module in both)
    return other in NAMESAKES.get(one, ()) or one in NAMESAKES.get(other, ())


def test_no_file_is_without_a_room() -> None:
    folders = {file.relative_to(ROOT).parts[0] for file in ROOT.glob("*/**/*.py")}
    ours = {folder for folder in folders if not folder.startswith(".")}
    assert ours - {"tests", "benchmarks", "deploy", "build"} <= set(ARROWS)
    assert list(ROOT.glob("*.py")) == []
    unreached = [file for room in ARROWS for file in (ROOT / room).rglob("*.py") if not _in_packages(file)]
    assert unreached == []


def _in_packages(file: Path) -> bool:
    """Whether every folder from the root to the file is a package."""
    inside = file.relative_to(ROOT).parents
    return all((ROOT / folder / "__init__.py").exists() for folder in inside if folder != Path())


def test_the_reading_of_imports_sees_a_forbidden_one(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from indexing.book import Book\n"
        "def f():\n    from indexing import index\n    import service.app as app\n    import torch\n"
        "TABLE = {'sparse': 'retrieval.sparse:Bm25', 'none': 'retrieval.nothing:None'}\n"
    )
    found = {name: allowed("readers.reading", name) for name in imports(file, typing_too=False)}
    forbidden = dict.fromkeys(("indexing.index", "service.app", "retrieval.sparse"), False)
    assert found == {"typing": True, "torch": True} | forbidden
    assert "indexing.book" in set(imports(file))


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


def test_importing_a_room_loads_nothing_heavy() -> None:
    for room, loaded in loaded_by(list(ARROWS)).items():
        assert not loaded.intersection(HEAVY), room


@pytest.mark.parametrize("room", ["indexing", "retrieval", "readers"])
def test_all_modules_of_a_room_together_load_no_room_that_it_may_not_import(room: str) -> None:
    modules = [module for module in MODULES if module.partition(".")[0] == room]
    if importlib.util.find_spec("openvino") is None:  # those that run in it import it at once
        modules = [module for module in modules if "openvino" not in module]
    *_, loaded = loaded_by(modules).values()
    assert loaded & set(ARROWS) <= {room, *ARROWS[room]}


def test_importing_what_the_command_line_needs_loads_neither_torch_nor_numpy() -> None:
    modules = [
        "service.cli",
        "answering.book_qa",
        "indexing.build_many",
        "retrieval.hybrid",
        "readers.baselines.overlap",
    ]
    for module, loaded in loaded_by(modules).items():
        assert not loaded.intersection({"torch", "numpy", "transformers", "faiss"}), module

"""The build backend (PEP 517): a wheel in which the rooms are sub-packages of ``storyqa``.

In the repository the rooms are folders of their own at the top, and import one another as ``text``,
``service`` and so on. Installed so, they would meet the user's own packages of such names. A wheel therefore
has them as ``storyqa.text``, ``storyqa.service``, ..., with every import of one rewritten as the file is
copied. An editable installation, which is ours to develop in, leaves them where they are.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from setuptools import build_meta

ROOT = Path(__file__).parents[1]
PUBLIC = "storyqa"
_COPIED = ("README.md", "LICENSE")

get_requires_for_build_wheel = build_meta.get_requires_for_build_wheel
get_requires_for_build_sdist = build_meta.get_requires_for_build_sdist
get_requires_for_build_editable = build_meta.get_requires_for_build_editable
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable
build_sdist = build_meta.build_sdist
build_editable = build_meta.build_editable


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Build the wheel into ``wheel_directory`` and return its name."""
    into = Path(wheel_directory).resolve()
    with tempfile.TemporaryDirectory() as folder:
        stage(Path(folder))
        with _inside(Path(folder)):
            name: str = build_meta.build_wheel(str(into), config_settings)
    return name


def stage(into: Path) -> None:
    """Lay out what the wheel is made of in the empty folder ``into``."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    packages: list[str] = tomllib.loads(project)["tool"]["setuptools"]["packages"]
    rooms = {package.partition(".")[0] for package in packages} - {PUBLIC}
    rewriter = Rewriter(rooms)
    for room in (PUBLIC, *sorted(rooms)):
        for path in sorted((ROOT / room).rglob("*")):
            if path.is_dir() or "__pycache__" in path.parts:
                continue
            place = path.relative_to(ROOT)
            target = into / place if room == PUBLIC else into / PUBLIC / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.suffix == ".py":
                target.write_text(rewriter.python(path.read_text(encoding="utf-8"), place), encoding="utf-8")
            else:
                shutil.copyfile(path, target)
    for name in _COPIED:
        shutil.copyfile(ROOT / name, into / name)
    (into / "pyproject.toml").write_text(rewriter.project(project), encoding="utf-8")


Edit = tuple[int, int, bytes, bytes]
"""In a line, from a byte on, what is put in place of what."""


class Rewriter:
    """Puts ``storyqa.`` before the names of ``rooms``, in code and in the project's file."""

    def __init__(self, rooms: set[str]) -> None:
        self._rooms = rooms
        self._named = re.compile(rf"({'|'.join(sorted(rooms))})((\.\w+)+)(:\w+)?")

    def python(self, source: str, place: Path) -> str:
        """``source`` with every import of a room, and every string that names a module of one, rewritten.

        Raises ValueError for ``import text.words``, which binds a name that would be another.
        """
        lines = source.encode().splitlines(keepends=True)
        edits: list[Edit] = []
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Import):
                ours = [one.name for one in node.names if one.name.partition(".")[0] in self._rooms]
                if ours:
                    raise ValueError(f"{place}:{node.lineno} has 'import {ours[0]}'; write 'from ... import'")
            elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] in self._rooms:
                edits.append((node.lineno, node.col_offset, b"from ", f"from {PUBLIC}.".encode()))
            elif isinstance(node, ast.Constant) and self._is_module(node.value):
                edits.append(_within(node))
            elif isinstance(node, ast.Call) and _called(node) in ("getLogger", "files"):
                edits += [
                    _within(one)
                    for one in node.args
                    if isinstance(one, ast.Constant) and one.value in self._rooms
                ]
        for line, column, old, new in sorted(edits, reverse=True):
            text = lines[line - 1]
            lines[line - 1] = text[:column] + text[column:].replace(old, new, 1)
        return b"".join(lines).decode()

    def _is_module(self, value: object) -> bool:
        match = self._named.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            return False
        place = ROOT / (match[1] + match[2]).replace(".", "/")
        return place.with_suffix(".py").is_file() or (place / "__init__.py").is_file()

    def project(self, text: str) -> str:
        """The project's file for the wheel: packages, their data and the command, all inside ``storyqa``."""
        head, tool, rest = text.partition("[tool.setuptools]")
        ours, end, others = rest.partition("[tool.ruff]")
        name = rf'"((?:{"|".join(sorted(self._rooms))})(?:\.\w+)*)"'
        head = re.sub(rf'(= "){name[1:-1]}(:\w+")', rf"\1{PUBLIC}.\2\3", head)
        # Built from what is laid out here: by setuptools itself.
        head = re.sub(
            r"(?m)^build-backend = .*\n(backend-path = .*\n)?",
            'build-backend = "setuptools.build_meta"\n',
            head,
        )
        return head + tool + re.sub(name, rf'"{PUBLIC}.\1"', ours) + end + others


def _within(node: ast.Constant) -> Edit:
    value = str(node.value).encode()
    return node.lineno, node.col_offset, value, PUBLIC.encode() + b"." + value


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)

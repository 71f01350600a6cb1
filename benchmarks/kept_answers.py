"""What the tables of docs/results.md are made of, each measurement with when and on what it was made.

It is kept in docs/answers.json, so that one can be measured again by itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Found = Mapping[str, Mapping[str, Any]]  # what was measured, by size and name
Where = Mapping[str, str]  # when, of which commit and on what

FILE = "answers.json"
_DIGITS = 6  # the tables have three
_NOT_NUMBERS = ("reader",)


@dataclass(frozen=True, slots=True)
class Kept:
    """``said`` by ``storyqa evaluate``, shortened, and ``where`` each was measured, by size and name."""

    said: Found
    where: Mapping[str, Mapping[str, Where]]


def read(docs: Path) -> Kept:
    """What ``docs`` keeps; nothing where there is no such file yet."""
    return _kept(_entries(docs))


def keep(found: Found, where: Where, docs: Path) -> Kept:
    """Put what was found in place of what ``docs`` keeps of it; returns all that is kept then."""
    entries = _entries(docs)
    for size, of_size in found.items():
        new = {name: {"where": where, "said": _shortened(said)} for name, said in of_size.items()}
        entries.setdefault(size, {}).update(new)
    (docs / FILE).write_text(json.dumps(entries, indent=1) + "\n", encoding="utf-8")
    return _kept(entries)


def _entries(docs: Path) -> dict[str, dict[str, Any]]:
    path = docs / FILE
    entries: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return entries


def _kept(entries: Mapping[str, Mapping[str, Any]]) -> Kept:
    said, where = (
        {size: {name: one[part] for name, one in of_size.items()} for size, of_size in entries.items()}
        for part in ("said", "where")
    )
    return Kept(said, where)


def _shortened(said: Mapping[str, Any]) -> dict[str, Any]:
    """Its numbers and intervals by name; neither curves nor what was asked and answered."""
    short: dict[str, Any] = {}
    for name, value in said.items():
        if isinstance(value, Mapping):
            short[name] = _shortened(value)
        elif isinstance(value, float):
            short[name] = round(value, _DIGITS)
        elif value is None or isinstance(value, int) or name in _NOT_NUMBERS:
            short[name] = value
        elif (
            isinstance(value, list | tuple)
            and len(value) == 2
            and all(isinstance(one, float) for one in value)
        ):
            short[name] = [round(one, _DIGITS) for one in value]
    return short

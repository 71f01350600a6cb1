"""Look-up in the tables of retrievers and readers, which import nothing until a name is used."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

from text.errors import StoryQAError


class About(NamedTuple):
    """What a line of a table does, and the paper it is from, with the section; None where it is nobody's."""

    does: str
    paper: str | None = None
    section: str | None = None

    @property
    def where(self) -> str:
        """Such as ``"section 5.3"``."""
        section = self.section or ""
        return f"section {section}" if section[:1].isdigit() else section


class UnknownName(StoryQAError):
    """A name that a table does not hold; ``choices`` are those it does."""

    def __init__(self, kind: str, name: str, choices: tuple[str, ...]) -> None:
        near = difflib.get_close_matches(name, choices, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint}; choose from {', '.join(choices)}")
        self.choices = choices


def check_name(kind: str, name: str, table: Mapping[str, str]) -> None:
    """Raise ``UnknownName`` unless ``name`` is a line of the table."""
    if name not in table:
        raise UnknownName(kind, name, tuple(table))


def resolve(kind: str, name: str, table: Mapping[str, str]) -> Any:
    """The object that the table's ``"module:attribute"`` line for ``name`` points to."""
    check_name(kind, name, table)
    module, _, attribute = table[name].partition(":")
    return getattr(import_module(module), attribute)

"""Tables of what can be named: a record says what it is and can do, and imports nothing until it is used."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from text.errors import StoryQAError


@dataclass(frozen=True, slots=True)
class Spec:
    """One thing that can be named: ``where`` it is (``"module:attribute"``) and, in a sentence, what it does.

    ``paper`` and ``section`` say where it is from, None where it is nobody's. ``forms`` are the ways to
    write it on a command line, the name alone where there are none. ``public`` where whoever can ask the
    service may name it.
    """

    name: str
    where: str
    does: str
    paper: str | None = None
    section: str | None = None
    forms: tuple[str, ...] = ()
    public: bool = False

    @property
    def written(self) -> tuple[str, ...]:
        """How it is written on a command line, the plainest form first."""
        return self.forms or (self.name,)

    @property
    def source(self) -> str:
        """Such as ``"Kočiský et al. 2018, section 4.1"``; empty where it is nobody's."""
        section = self.section or ""
        return ", ".join(
            filter(None, [self.paper, f"section {section}" if section[:1].isdigit() else section])
        )


S = TypeVar("S", bound=Spec)


class UnknownName(StoryQAError):
    """A name that a table does not hold; ``choices`` are those it does."""

    def __init__(self, kind: str, name: str, choices: tuple[str, ...]) -> None:
        near = difflib.get_close_matches(name, choices, n=1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        super().__init__(f"unknown {kind} {name!r}{hint}; choose from {', '.join(choices)}")
        self.choices = choices


def by_name(*specs: S) -> dict[str, S]:
    """The table of these records, in their order; raises ``ValueError`` where two have one name."""
    found = {spec.name: spec for spec in specs}
    if len(found) < len(specs):
        raise ValueError(f"two records have one name: {', '.join(spec.name for spec in specs)}")
    return found


def public_names(table: Mapping[str, Spec]) -> tuple[str, ...]:
    """The names that whoever can ask the service may give."""
    return tuple(name for name, spec in table.items() if spec.public)


def check_name(kind: str, name: str, table: Collection[str]) -> None:
    """Raise ``UnknownName`` unless ``name`` is in the table."""
    if name not in table:
        raise UnknownName(kind, name, tuple(table))


def resolve(kind: str, name: str, table: Mapping[str, Spec]) -> Any:
    """What the record of ``name`` leads to, imported now; raises ``UnknownName`` where the table has none."""
    check_name(kind, name, table)
    return import_object(table[name].where)


def import_object(where: str) -> Any:
    """The object at ``"module:attribute"``."""
    module, _, attribute = where.partition(":")
    return getattr(import_module(module), attribute)

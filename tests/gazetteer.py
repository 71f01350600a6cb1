"""A tiny set like WikiReading, of our own writing: people, villages and ferries, and what is so of them."""

from __future__ import annotations

import json
from pathlib import Path

_PEOPLE = (
    ("Orla Vance", "Tarrow", "4 July 1851", "baker"),
    ("Hamish Coyle", "Skelby", "12 March 1903", "pilot"),
    ("Ines Maddern", "Tarrow", "30 November 1777", "weaver"),
    ("Tobias Rill", "Ostley", "9 August 1920", "baker"),
    ("Petra Lunn", "Skelby", "21 May 1866", "pilot"),
    ("Caleb Wray", "Ostley", "2 January 1840", "weaver"),
)
_MONTHS_FIRST = {"4 July 1851": "July 4, 1851", "9 August 1920": "August 9, 1920"}


def instances(copies: int = 1) -> list[dict[str, object]]:
    """The lines of such a set; each of the ``copies`` has documents of its own."""
    found: list[dict[str, object]] = []
    for copy in range(copies):
        for name, place, born, work in _PEOPLE:
            key = f"{name} {copy}"
            document = (
                f"{name} (born {_MONTHS_FIRST.get(born, born)}) was a {work} of the islands. "
                f"The family came from {place}, and kept a boat there."
            )
            for property, answers in (
                ("place of birth", [place]),
                ("date of birth", [born]),
                ("occupation", [work]),
                ("instance of", ["human"]),
            ):
                found.append({"key": key, "document": document, "property": property, "answers": answers})
    return found


def write_gazetteer(folder: Path, copies: int = 1) -> Path:
    """A folder with the splits train and validation, which are the same."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = "".join(json.dumps(one) + "\n" for one in instances(copies))
    for split in ("train", "validation"):
        (folder / f"{split}.jsonl").write_text(lines, "utf-8")
    return folder

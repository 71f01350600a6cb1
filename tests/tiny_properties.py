"""A tiny set in the manner of WikiReading, of our own writing: documents, properties and answers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

TOWNS = ("Brammel", "Tarn", "Lune", "Osthaven")
TRADES = ("baker", "tinker", "ferryman", "weaver")


def instances(first: int, last: int) -> list[dict[str, Any]]:
    """Three of each document ``first`` to ``last``: always the same, one of four or two, and a day."""
    found = []
    for number in range(first, last):
        name, town, trade = f"Marn {number}", TOWNS[number % 4], TRADES[number % 4]
        born = f"{1 + number % 28} July {1700 + number}"
        document = f"{name} (born {born}) is a {trade} of {town}.\nShe sells lamps."
        answers = {"instance of": ["human"], "residence": [town], "date of birth": [born]}
        if number % 4 == 3:
            answers["residence"] += ["Nowhere"]
        found += [
            {"key": f"marn-{number}", "title": name, "document": document, "property": one, "answers": of_one}
            for one, of_one in answers.items()
        ]
    return found


def write_lines(path: Path, rows: Iterable[object]) -> Path:
    """A file of JSON, an object a line."""
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def write_set(folder: Path) -> Path:
    """All three splits: 20, 4 and 4 documents; in each, a fourth of the residences are two."""
    folder.mkdir(exist_ok=True)
    for split, first, last in (("train", 0, 20), ("validation", 20, 24), ("test", 24, 28)):
        write_lines(folder / f"{split}.jsonl", instances(first, last))
    return folder


OFFICIAL = {
    "string_sequence": ["Marn", "sells", "lamps", ".", "Nobody", "buys", "."],
    "break_levels": [0, 1, 1, 0, 4, 1, 0],
    "question_string_sequence": ["place", "of", "birth"],
    "answer_string_sequence": ["Upper", "Tarn", "Lune"],
    "answer_breaks": [2],
    "raw_answers": ["Upper-Tarn", "Lune"],
}

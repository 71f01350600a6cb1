"""docs/operations.md tells of every kind of problem, and of the limits of a request as they are."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from answering import ask, facts
from indexing import ids, shelves
from service import schemas
from service.ingestion import index_worker, uploads

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operations.md").read_text("utf-8")
KIND = re.compile("[a-z]+(?:-[a-z]+)*")


def kinds(source: str) -> Iterator[str]:
    """The kinds of problems in a module: of errors that are refusals, and of calls that make a problem."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ClassDef) and any(
            getattr(base, "id", "") == "Refused" for base in node.bases
        ):
            places: Sequence[ast.AST] = [one for one in node.body if isinstance(one, ast.Assign)]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "_problem":
            places = node.args[2:]  # behind the status and the detail
        else:
            continue
        texts = (one.value for place in places for one in ast.walk(place) if isinstance(one, ast.Constant))
        yield from (text for text in texts if isinstance(text, str) and KIND.fullmatch(text))


def section(title: str) -> str:
    """What stands under that heading."""
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def test_every_kind_of_problem_is_explained_and_no_other() -> None:
    made = {kind for file in (ROOT / "service").rglob("*.py") for kind in kinds(file.read_text("utf-8"))}
    rows = re.findall(r"^\| [0-9, ]+ \| ([^|]+) \|", section("Kinds of problems"), re.M)
    assert {"unknown-book", "too-often"} < made
    assert set(re.findall("`([a-z-]+)`", " ".join(rows))) == made


@pytest.mark.parametrize(
    "limit",
    [
        *(
            ask.LONGEST_QUESTION,
            ask.MOST_PASSAGES,
            ask.MOST_ANSWERS,
            ask.MOST_CANDIDATES,
            ask.LONGEST_CANDIDATE,
        ),
        *(ask.MOST_TURNS, ask.LONGEST_ANSWER, schemas.MOST_BOOKS, shelves.MOST_BOOKS, schemas.MOST_QUESTIONS),
        *(facts.MOST_PROPERTIES, ids.LONGEST, uploads.LONGEST_TITLE, index_worker.MOST_CHARACTERS),
    ],
)
def test_the_limits_of_a_request_are_those_that_hold(limit: int) -> None:
    assert re.search(rf"(?<![0-9,]){limit:,}(?![0-9,])", section("Limits of a request"))

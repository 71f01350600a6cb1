"""``storyqa evaluate facts``: what is found of books beside what is known of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shelf

from evaluation.book_facts import COLUMNS
from service.cli import run

LANTERN, WELL = "0" * 40, "1" * 40
ROWS = (
    (LANTERN, "The Lamp", "Odo Marsh;O. Marsh", "1901", "Quill Point;Quill", "Ines;Tobias;Nobody;Thorne"),
    (WELL, "The Well", "Somebody Else", "", "", "Gallus"),
    ("2" * 40, "Not there", "A. N. Other", "1900", "Vell", "Pim"),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    head = "THE LAMP AT QUILL POINT\n\nby Odo Marsh\n\n1901\n\n"
    (tmp_path / "tmp" / f"{LANTERN}.content").write_text(head + shelf.LANTERN, "utf-8")
    (tmp_path / "tmp" / f"{WELL}.content").write_text(shelf.WELL, "utf-8")
    lines = [",".join(row) for row in (COLUMNS, *ROWS)]
    (tmp_path / "book_facts.csv").write_text("\n".join(lines) + "\n", "utf-8")
    return tmp_path


def evaluated(data: Path, *more: str) -> list[str]:
    where = ["--data", str(data), "--stories", str(data), "--store", str(data / "store")]
    return ["evaluate", "facts", *where, "--reader", "overlap", "--retriever", "bm25", *more]


def test_each_fact_is_scored_by_hand(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STORYQA_CACHE", str(data / "cache"))
    assert run(evaluated(data, "--json", "--out", str(data / "facts.json"))) == 0
    told = json.loads(capsys.readouterr().out)
    assert json.loads((data / "facts.json").read_text("utf-8")) == told
    assert told["books"] == 2  # the third has no story
    assert told["author"] == {"right": 1, "known": 2}
    assert told["year"] == {"right": 1, "known": 1}
    assert told["place"]["known"] == 1
    lantern, well = told["by_book"]
    assert (lantern["names"], lantern["wanted"], lantern["first"]) == (2, 3, True)  # Nobody is not there
    assert isinstance(lantern["read_first"], bool)
    assert told["read_place"]["known"] == told["place"]["known"]
    assert told["read_first"] == round((lantern["read_first"] + well["read_first"]) / 2, 4)
    assert well["wanted"] == 1
    assert told["names"] == round((2 + well["names"]) / 4, 4)
    assert told["quoted"]
    assert run(evaluated(data)) == 0
    assert "author" in capsys.readouterr().out


def test_a_list_of_books_that_are_not_there_is_one_line(
    data: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    where = ["--data", str(data), "--stories", str(other), "--store", str(tmp_path / "s")]
    assert run(["evaluate", "facts", *where]) == 2
    assert "holds the story of no book" in capsys.readouterr().err
    (data / "book_facts.csv").write_text("id\n1\n", "utf-8")
    assert run(evaluated(data)) == 2
    assert "has no column document_id" in capsys.readouterr().err

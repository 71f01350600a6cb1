"""``storyqa prepare wikireading``: articles and statements of our own writing, grouped, split and counted."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from tiny_properties import write_lines

from evaluation.benchmarks.wikireading import load
from evaluation.preparation.statements import split_of
from evaluation.preparation.times import readable, readable_object
from service.cli import run

IDS = [f"Q{number}" for number in range(60)]


def article(id: str) -> dict[str, str]:
    return {"id": id, "title": f"Marn {id}", "text": f"Marn {id} is a weaver of Tarn, born on 4 July 1776."}


STATEMENTS: list[dict[str, Any]] = [
    *({"id": id, "property": "instance of", "value": "human"} for id in IDS),
    *({"id": id, "property": "date of birth", "value": "+1776-07-04T00:00:00Z"} for id in IDS),
    *({"id": id, "property": "occupation", "value": "weaver"} for id in IDS),
    {"id": "Q0", "property": "occupation", "value": "ferryman"},
    {"id": "Q0", "property": "occupation", "value": "weaver"},
    {"id": "Q999", "property": "occupation", "value": "weaver"},
]


def prepared(folder: Path, articles: list[Any], statements: list[Any], *options: str) -> int:
    """The command's exit code; the set goes to ``folder / "set"``."""
    named = {"--articles": articles, "--statements": statements}
    words = [
        word
        for option, rows in named.items()
        for word in (option, str(write_lines(folder / f"{option[2:]}.jsonl", rows)))
    ]
    return run(["prepare", "wikireading", *words, "--out", str(folder / "set"), *options])


def test_statements_of_one_item_and_property_are_one_instance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    articles = [*map(article, IDS), {**article("Q70"), "title": ""}]
    assert prepared(tmp_path, articles, STATEMENTS, "--json") == 0
    report = json.loads(capsys.readouterr().out)
    rows = [
        (split, json.loads(line))
        for split in ("train", "validation", "test")
        for line in (tmp_path / "set" / f"{split}.jsonl").read_text("utf-8").splitlines()
    ]
    answers = {(row["key"], row["property"]): row["answers"] for _, row in rows}
    assert len(rows) == len(answers) == 180
    assert answers["Q0", "occupation"] == ["weaver", "ferryman"]
    assert answers["Q1", "date of birth"] == ["4 July 1776"]
    assert all(split == split_of(row["key"]) for split, row in rows)
    assert (report["articles"], report["articles_without_statements"]) == (61, 1)
    assert (report["statements"], report["items_without_article"]) == (182, 1)
    assert sum(one["instances"] for one in report["splits"].values()) == 180
    assert report["properties"]["date of birth"]["entropy"] == 0
    assert {
        "out": report["out"],
        **json.loads((tmp_path / "set" / "statistics.json").read_text("utf-8")),
    } == report
    assert len(load(tmp_path / "set", "train").questions) == report["splits"]["train"]["instances"]
    assert not list((tmp_path / "set").glob("*.part"))


def test_people_read_the_statistics(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert prepared(tmp_path, [article(id) for id in IDS], STATEMENTS) == 0
    printed = capsys.readouterr().out
    for said in ("instances", "bound: one value", "date of birth", "categorical", "items without article: 1"):
        assert said in printed


def test_seven_of_ten_documents_are_to_learn_from_by_the_hash_of_their_ids() -> None:
    splits = [split_of(f"Q{number}") for number in range(2000)]
    shares = [splits.count(split) / 2000 for split in ("train", "validation", "test")]
    assert shares == pytest.approx([0.7, 0.1, 0.2], abs=0.03)
    tenth = int(hashlib.md5(b"Q42").hexdigest(), 16) % 10
    assert (split_of("Q42") == "train") == (tenth < 7)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("+1776-07-04T00:00:00Z", "4 July 1776"),
        ("1776-07-04", "4 July 1776"),
        ("1776-07-04T12:30:00+01:00", "4 July 1776"),
        ("+1776-07-00T00:00:00Z", "July 1776"),
        ("1776-07", "July 1776"),
        ("+1776-00-00T00:00:00Z", "1776"),
        ("+1776-07-04T00:00:00Z/10", "July 1776"),
        ("+1776-07-04T00:00:00Z/9", "1776"),
        ("+1776-00-00T00:00:00Z/8", "1770s"),
        ("+1800-00-00T00:00:00Z/7", "18th century"),
        ("+1801-00-00T00:00:00Z/7", "19th century"),
        ("+2001-00-00T00:00:00Z/7", "21st century"),
        ("-0044-03-15T00:00:00Z", "15 March 44 BC"),
        ("-0050-00-00T00:00:00Z/7", "1st century BC"),
        ("+1776-13-04T00:00:00Z", "+1776-13-04T00:00:00Z"),
        ("1776", "1776"),
        ("2001: A Marn Odyssey", "2001: A Marn Odyssey"),
    ],
)
def test_a_time_is_said_to_its_precision(value: str, said: str) -> None:
    assert readable(value) == said
    time, _, precision = value.partition("/")
    if precision:
        assert readable_object({"time": time, "precision": int(precision)}) == said


GOOD = article("Q1")
SAYS = {"id": "Q1", "property": "occupation", "value": "weaver"}


@pytest.mark.parametrize(
    ("articles", "statements", "said"),
    [
        ([GOOD, {"id": "Q2", "title": ""}], [SAYS], "articles.jsonl, line 2: the field text is missing"),
        ([{**GOOD, "text": " \n"}], [SAYS], "articles.jsonl, line 1: the text is empty"),
        ([GOOD, GOOD], [SAYS], "articles.jsonl, line 2: there is an article of id 'Q1' before"),
        ([3], [SAYS], "articles.jsonl, line 1: found int, wanted an object"),
        ([GOOD], [{**SAYS, "property": ""}], "statements.jsonl, line 1: the property is empty"),
        (
            [GOOD],
            [SAYS, {"id": "Q1", "property": "x"}],
            "statements.jsonl, line 2: the field value is missing",
        ),
        ([GOOD], [{**SAYS, "value": 1776}], "line 1: value is int, wanted str"),
        ([GOOD], [{**SAYS, "value": {"amount": "3"}}], "line 1: value is an object that is no time"),
        ([GOOD], [{**SAYS, "id": "Q3"}], "none of its ids is that of an article"),
        ([], [SAYS], "none of its ids is that of an article"),
    ],
)
def test_what_is_wrong_is_said_in_a_line_and_nothing_is_left(
    tmp_path: Path,
    articles: list[Any],
    statements: list[Any],
    said: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert prepared(tmp_path, articles, statements) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not list(tmp_path.glob("set/*"))


def test_a_folder_that_cannot_be_is_said_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "set").write_text("a file", "utf-8")
    assert prepared(tmp_path, [GOOD], [SAYS]) == 2
    assert "set cannot be written (File exists); give another --out" in capsys.readouterr().err
    assert run(["prepare", "wikireading", "--articles", "no", "--statements", "no", "--out", "x"]) == 2
    assert "no is missing; expected there: a statement a line" in capsys.readouterr().err

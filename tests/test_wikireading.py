"""``storyqa evaluate wikireading`` and ``reproduce wikireading``, on a tiny set of our own writing."""

from __future__ import annotations

import json
import tracemalloc
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tiny_properties import OFFICIAL, instances, write_lines, write_set

from evaluation.benchmarks.benchmark import kinds_of, sample_stream
from evaluation.benchmarks.files import DataError
from evaluation.benchmarks.wikireading import load
from service.cli import run

BORN = ("--row", "auto", "--row", "bow", "--row", "labeler")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_set(tmp_path_factory.mktemp("wikireading"))


def test_a_property_is_asked_of_its_whole_document(data: Path) -> None:
    benchmark = load(data)
    first = benchmark.questions[1]
    assert (first.text, first.story, first.book) == ("residence", "marn-20", "marn-20")
    assert [question.answers for question in benchmark.questions[10:12]] == [
        ("Osthaven", "Nowhere"),
        ("24 July 1723",),
    ]
    [place] = first.given
    assert place == (0, len(benchmark.books["marn-20"]().text))
    assert benchmark.titles["marn-20"] == "Marn 20"
    assert benchmark.metrics == ("mean_f1",)
    assert benchmark.notes == ("another, smaller set than the paper's, of the same task",)


def test_dates_are_a_kind_and_a_part_of_what_is_relational(data: Path) -> None:
    kinds = Counter(kind for question in load(data).questions for kind in kinds_of(question.kind))
    assert kinds == {"categorical": 4, "relational": 8, "date": 4}
    for setting, number in kinds.items():
        questions = load(data, setting=setting).questions
        assert len(questions) == number
        assert {setting in kinds_of(question.kind) for question in questions} == {True}
    with pytest.raises(DataError, match="unknown setting 'dates'; WikiReading has all, categorical, date"):
        load(data, setting="dates")


def test_two_documents_of_one_key_are_two_books_and_an_instance_told_twice_two_questions(
    tmp_path: Path,
) -> None:
    first, second, _ = instances(0, 1)
    write_lines(tmp_path / "train.jsonl", instances(0, 4))
    write_lines(tmp_path / "validation.jsonl", [first, first, {**second, "document": "Marn 0 of Brammel"}])
    benchmark = load(tmp_path)
    assert len({question.id for question in benchmark.questions}) == 3
    assert [question.story for question in benchmark.questions] == ["marn-0"] * 3
    texts = [benchmark.books[question.book]().text for question in benchmark.questions]
    assert texts == [first["document"], first["document"], "Marn 0 of Brammel"]


def test_official_shards_are_asked_without_their_train_split_but_have_no_kinds(tmp_path: Path) -> None:
    write_lines(tmp_path / "validation-00000-of-00001.json", [OFFICIAL])
    benchmark = load(tmp_path)
    [question] = benchmark.questions
    assert (question.text, question.kind) == ("place of birth", None)
    assert "there is no train split" in benchmark.notes[0]
    assert benchmark.bounds is not None
    assert benchmark.bounds(benchmark.questions) == {"one_value": pytest.approx(2 / 3), "verbatim": 0}
    with pytest.raises(DataError, match="has no train split, which says what is date"):
        load(tmp_path, setting="date")


def test_a_limit_is_drawn_from_the_stream_in_order_and_fair() -> None:
    drawn = Counter(one for seed in range(2000) for one in sample_stream(iter(range(8)), 3, seed))
    assert all(
        sample_stream(range(50), 9, seed) == sorted(sample_stream(range(50), 9, seed)) for seed in range(5)
    )
    assert all(abs(count - 750) < 100 for count in drawn.values())  # 2,000 * 3 / 8, within 4.6 deviations
    assert sample_stream(range(3), 9, 0) == [0, 1, 2]


def test_no_more_is_kept_of_a_long_file_than_what_is_drawn(tmp_path: Path) -> None:
    peaks = []
    for number in (200, 2000):
        rows = ({**OFFICIAL, "string_sequence": [f"{n}-{w}" for w in range(400)]} for n in range(number))
        shards = tmp_path / str(number)
        shards.mkdir()
        write_lines(shards / "validation-0.json", ({**row, "break_levels": []} for row in rows))
        tracemalloc.start()
        assert len(load(shards, limit=10).questions) == 10
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0]


def evaluated(data: Path, out: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    where = ("--data", str(data), "--out", str(out), "--reader", "overlap", "--json")
    assert run(["evaluate", "wikireading", *where, *options]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def test_a_run_has_mean_f1_of_each_kind_and_the_bounds_of_what_was_asked(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = evaluated(data, tmp_path, capsys)
    assert (found["questions"], found["stories"]) == (12, 4)
    assert {kind: one["questions"] for kind, one in found["by_kind"].items()} == {
        "categorical": 4,
        "date": 4,
        "relational": 8,
    }
    assert found["bounds"]["one_value"] == pytest.approx((12 - 1 / 3) / 12, abs=1e-6)
    few = evaluated(data, tmp_path / "few", capsys, "--limit", "5", "--seed", "2")
    asked = (tmp_path / "few" / "predictions.jsonl").read_text("utf-8").splitlines()
    assert few["questions"] == len(asked) == 5
    several = sum(len(json.loads(line)["references"]) > 1 for line in asked)
    assert few["bounds"]["one_value"] == pytest.approx((5 - several / 3) / 5, abs=1e-6)


def test_a_bad_file_is_said_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_set(tmp_path)
    write_lines(tmp_path / "validation.jsonl", [*instances(20, 21), {"key": "x", "document": "Marn"}])
    words = ["evaluate", "wikireading", "--reader", "overlap", "--out", str(tmp_path / "out"), "--data"]
    for data, said in (
        (tmp_path, "validation.jsonl, line 4: the field property is missing"),
        (tmp_path / "out", "out is missing; expected there: SPLIT.jsonl"),
    ):
        assert run([*words, str(data)]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1


def reproduced(
    data: Path, out: Path, table: int, capsys: pytest.CaptureFixture[str], *options: str
) -> dict[str, Any]:
    words = ["reproduce", "wikireading", "--table", str(table), "--data", str(data), "--out", str(out)]
    assert run([*words, *options, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found | {"rows": {row["system"]: row for row in found["rows"]}}


@pytest.mark.shipped
def test_table_3_has_the_papers_test_split_beside_our_validation(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = reproduced(data, tmp_path, 3, capsys, *BORN)
    assert (found["split"], found["paper_split"]) == ("validation", "test")
    assert found["bounds"].keys() == {"training_answers", "one_value", "verbatim"}
    assert found["notes"] == ["another, smaller set than the paper's, of the same task"]
    bow, labeler, auto = found["rows"].values()
    assert bow["paper"] == {
        **{"mean_f1": 0.438, "bound": 0.831, "categorical": 0.725},
        **{"relational": 0.063, "date": 0.004},
    }
    assert (bow["paper_parameters"], bow["status"]) == ("500.5M", "missing")
    assert bow["missing"].startswith("train it: storyqa train wr-bow --data ")
    assert labeler["paper"]["date"] == 0.626
    assert auto["asked"] == {"mean_f1": 12, "categorical": 4, "relational": 8, "date": 4}
    assert auto["scores"]["bound"] == pytest.approx(found["bounds"]["one_value"])
    parts = auto["scores"]
    assert parts["mean_f1"] == pytest.approx((parts["categorical"] + 2 * parts["relational"]) / 3)
    words = [*auto["command"].split()[1:], "--out", str(tmp_path / "again"), "--json"]
    assert run(words) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["mean_f1"] == pytest.approx(parts["mean_f1"], abs=1e-6)
    assert again["by_kind"]["date"]["mean_f1"] == pytest.approx(parts["date"], abs=1e-6)


@pytest.mark.shipped
def test_table_5_is_by_property_and_says_how_many_of_each_were_asked(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reproduced(data, tmp_path, 3, capsys, "--row", "auto")  # keeps other columns of it in the same folder
    auto = reproduced(data, tmp_path, 5, capsys, "--row", "auto")["rows"]["auto, asked the property"]
    assert auto["asked"] == {"instance of": 4, "date of birth": 4}
    assert auto["scores"].keys() == auto["asked"].keys()
    words = ["reproduce", "wikireading", "--table", "5", "--data", str(data), "--out", str(tmp_path)]
    assert run([*words, "--row", "auto", "--row", "attentive"]) == 0
    printed = capsys.readouterr().out
    for said in ("734,187", "ours: 4", "89.78", "the paper's figures are of its test split", "smaller set"):
        assert said in printed
    assert "ours at best, by what is answered: training answers" in printed
    assert "counts every answer in train" in printed

"""``storyqa reproduce narrativeqa`` on tiny data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import folktales
import pytest

from readers import READERS
from retrieval import RETRIEVERS
from service.cli import run


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """METEOR takes half a minute to start; it has its own tests."""
    monkeypatch.setenv("PATH", "")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folktales.write_narrativeqa(tmp_path_factory.mktemp("data"))


def arguments(data: Path, out: Path, table: int, *options: str) -> list[str]:
    places = ("--data", str(data), "--out", str(out), "--store", str(out / "store"))
    return ["reproduce", "narrativeqa", "--table", str(table), *places, *options]


def reproduced(
    data: Path, out: Path, capsys: pytest.CaptureFixture[str], table: int, *options: str
) -> dict[str, dict[str, Any]]:
    """The rows by system."""
    assert run([*arguments(data, out, table, *options), "--json"]) == 0
    return {row["system"]: row for row in json.loads(capsys.readouterr().out)["rows"]}


def test_every_row_is_measured_on_the_same_questions(
    data: Path, tmp_path: Path, tiny_glove: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = reproduced(data, tmp_path, capsys, 5, "--vectors", str(tiny_glove))
    measured = {name: row for name, row in rows.items() if row["status"] == "measured"}
    assert {row["questions"] for row in measured.values()} == {9}
    assert rows.keys() == measured.keys()
    trained = {name: row["trained_on"] for name, row in rows.items() if row["trained_on"]}
    assert set(trained) == {"Seq2Seq (no context)", "Attention Sum Reader", "Span Prediction"}
    assert all("FairytaleQA train" in on for on in trained.values())
    oracle = measured["Oracle: ROUGE-L given answer"]
    assert oracle["scores"]["mrr"] == 1
    asked = measured["ROUGE-L given question (8-gram)"]
    assert oracle["scores"]["rouge_l"] > asked["scores"]["rouge_l"]
    assert asked["scores"]["rouge_l_best_f"] <= asked["scores"]["rouge_l"]
    assert asked["paper"]["rouge_l"] == pytest.approx(0.1258)
    low, high = asked["intervals"]["rouge_l"]
    assert low <= asked["scores"]["rouge_l"] <= high
    assert measured["Random rank"]["scores"].keys() == {"mrr"}
    assert "mrr" not in measured["Human (given summaries)"]["paper"] or (
        measured["Human (given summaries)"]["scores"]["mrr"] is None
    )


def test_a_row_that_cannot_be_measured_says_what_it_wants(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = reproduced(data, tmp_path, capsys, 5, "--row", "cosine", "--row", "span pred")
    cosine = rows["Cosine given question (1 sentence)"]
    assert (cosine["status"], cosine["scores"]) == ("missing", {})
    assert "--vectors" in cosine["missing"]
    assert len(rows) == 3


def test_table_6_reads_whole_stories_where_the_paper_did(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = reproduced(data, tmp_path, capsys, 6, "--row", "bleu-1", "--row", "human")
    assert {name: row["questions"] for name, row in rows.items()} == {
        "BLEU-1 given question (8-gram)": 3,
        "Oracle: BLEU-1 given answer": 3,
        "Human (given summaries)": 9,
    }
    written = (tmp_path / "oracle-bleu-1-given-answer" / "predictions.jsonl").read_text("utf-8")
    prediction = json.loads(written.splitlines()[0])
    assert prediction["evidence_right"]
    assert len(prediction["passages"]) == 1


def test_a_model_of_ones_own_is_measured_in_place_of_the_shipped_one(
    data: Path, tmp_path: Path, tiny_paper: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = reproduced(data, tmp_path, capsys, 5, "--row", "span", "--models", str(tiny_paper))
    [row] = rows.values()
    assert row["trained_on"] == "nothing"
    assert f"--reader bidaf:{tiny_paper}" in row["command"]


def test_the_command_of_a_row_gives_the_same_scores(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = reproduced(data, tmp_path / "a", capsys, 5, "--row", "oracle: rouge")
    [row] = rows.values()
    storyqa, *command = row["command"].split()
    assert storyqa == "storyqa"
    assert run([*command, "--out", str(tmp_path / "b"), "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    for name in ("rouge_l", "bleu_1", "bleu_4", "mrr"):
        assert scores[name] == pytest.approx(row["scores"][name], abs=1e-6)


def test_what_was_measured_is_not_measured_again_unless_asked_for(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = reproduced(data, tmp_path, capsys, 5, "--row", "random")
    result = tmp_path / "random-rank" / "row.json"
    kept = json.loads(result.read_text("utf-8"))
    kept["scores"]["mrr"] = 0.5
    result.write_text(json.dumps(kept), "utf-8")
    assert reproduced(data, tmp_path, capsys, 5, "--row", "random")["Random rank"]["scores"]["mrr"] == 0.5
    with_limit = reproduced(data, tmp_path / "few", capsys, 5, "--row", "random", "--limit", "4")
    assert with_limit["Random rank"]["questions"] == 4
    result.unlink()
    assert reproduced(data, tmp_path, capsys, 5, "--row", "random") == first


def test_people_read_both_figures_the_interval_and_the_command(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments(data, tmp_path, 5, "--row", "rouge-l given question", "--row", "seq2seq")) == 0
    printed = capsys.readouterr().out
    assert "ROUGE-L given question (8-gram)" in printed
    assert "12.58" in printed
    assert "95 % interval, from" in printed
    assert "--reader ir-rouge-l@span=8" in printed


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--row", "gpt"], "table 5 has no row like 'gpt'; it has: BLEU-1 given question"),
        (["--split", "train"], "unknown split 'train'"),
        (["--row", "human", "--limit", "0"], "Invalid value for '--limit'"),
    ],
)
def test_what_there_is_not_is_refused_with_what_there_is(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert run(arguments(data, tmp_path, 5, *options)) == 2
    assert says in capsys.readouterr().err


def test_tables_other_than_5_and_6_are_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments(data, tmp_path, 7)) == 2
    assert "--table 7; wanted 5 or 6" in capsys.readouterr().err


@pytest.mark.parametrize("paper", ["squad", "principia"])
def test_a_paper_without_tables_of_systems_is_refused_with_those_that_have_some(
    paper: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", paper, "--table", "5", "--data", "x"]) == 2
    assert f"unknown paper '{paper}'; choose from babi, cbt, cnn, narrativeqa" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["readers", "retrievers"])
def test_the_tables_are_listed_with_paper_and_section(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    names = {"readers": [*READERS], "retrievers": [*RETRIEVERS]}[command]
    assert run([command, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [line["name"] for line in listed] == names
    assert sum(line["default"] for line in listed) == 1
    assert any(line["paper"] and line["section"] for line in listed)
    assert run([command]) == 0
    assert "section" in capsys.readouterr().out

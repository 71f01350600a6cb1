"""docs/results.md is made by one command: its tables have their places, and what is asked can be asked."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmarks.answer_tables import DOCUMENT, SEARCHES, marks, searched, tables, write
from benchmarks.answers import MEASUREMENTS, SIZES, Measurement, measure
from service.cli import run

DOCS = Path(__file__).parents[1] / "docs"
MARK = re.compile(r"<!-- ([a-z]+): make answers -->")
WHERE = {"commit": "0123abc", "date": "2026-11-28", "machine": "2 cores of a processor", "runtime": "torch"}

by_name = pytest.mark.parametrize("one", MEASUREMENTS, ids=lambda one: one.name)


@by_name
def test_what_is_asked_misses_nothing_but_its_data(
    one: Measurement, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word that the command does not know, or an option that it wants, would be told of first."""
    asked = [word for word in one.arguments(tmp_path / "nowhere") if word != "--json"]
    if one.name == "domains":  # which has its data with it
        asked += ["--limit", "0"]
    assert run(asked) == 2
    said = capsys.readouterr().err
    assert "nowhere" in said or "--limit" in said, said


def rated(
    *, kinds: tuple[str, ...] = (), found: float | None = None, accuracy: bool = False
) -> dict[str, object]:
    """As ``storyqa evaluate --json`` says it, every score .25 between 0 and .5."""
    names = ["accuracy"] if accuracy else ["rouge_l", "bleu_1", "bleu_4", "meteor", "f1", "exact_match"]
    scores = dict.fromkeys(names, 0.25)
    between = dict.fromkeys(names, (0.0, 0.5))
    return {
        "questions": 1200,
        "reader": "auto",
        **scores,
        "retrieval_mrr": found,
        "recall_at": {"1": found, "5": found},
        "intervals": {
            **between,
            "retrieval_mrr": [0.0, 1.0],
            "recall_at": {"1": [0.0, 1.0], "5": [0.0, 1.0]},
        },
        "by_kind": {kind: {"questions": 60, **scores, "intervals": between} for kind in kinds},
        "confidence": {
            **dict.fromkeys(("right", "mean", "ece", "ece_equal_mass", "auroc"), 0.125),
            "intervals": {"ece": [0.0, 0.25]},
            "risk_at_coverage": {"0.25": 0.0, "0.5": 1.0},
            "answerable": {"share": 1.0},
        },
    }


def counted() -> dict[str, object]:
    counts = {"questions": 3, "right": 31, "partly": 2, "wrong": 1, "declined": 26}
    return dict.fromkeys(("answerable", "not_answerable", "under_answer"), counts)


def noticed() -> dict[str, object]:
    shares = {"questions": 400, "answer": 0.0, "maybe": 0.0625, "none": 0.9375}
    return {
        "variants": dict.fromkeys(("unchanged", "other_book", "renamed"), shares),
        "auroc": {"other_book": 0.75, "renamed": None},
    }


SAID = {
    "sections": rated(kinds=("explicit", "implicit")),
    "domains": rated(kinds=("news", "letters")),
    **{name: rated(found=0.5) for name in ("one-book", "one-book by large")},
    "figure": counted(),
    "choose": counted(),
    "unanswerable": noticed(),
    **{
        name: rated(kinds=("one", "multiple"), accuracy=True)
        for name in ("mctest", "mctest-span", "mctest-overlap")
    },
    **{searched(name, encoder): rated(found=0.875) for _, name, encoder in SEARCHES},
}


def put(folder: Path) -> None:
    for one in MEASUREMENTS:
        for size in one.sizes:
            said = SAID.get(one.name, rated())
            (folder / f"{size}-{one.name}.json").write_text(json.dumps(said), encoding="utf-8")


def test_what_was_measured_is_not_measured_again_and_each_table_has_a_row_of_it(tmp_path: Path) -> None:
    put(tmp_path)
    found = measure(tmp_path / "nowhere", tmp_path, SIZES)
    made = tables(found, WHERE)
    assert made.pop("measured").startswith("Measured at commit `0123abc`, 2026-11-28, on 2 cores")
    assert "| FairytaleQA val, sections | large | 1,200 | .250 [.000, .500] | .250 |" in made["reading"]
    assert "| NarrativeQA valid half B, full stories | small |" in made["books"]
    assert made["books"].endswith("| – | – | – |")  # of full stories nobody says what is right
    assert "| `rerank-large` | `large` | .875 [.000, 1.000] |" in made["retrieval"]
    assert "| `figure` | small | 31 | 2 | 1 | 26 | 3, 1 | 31 |" in made["natural"]
    assert "| with a name replaced | large | 400 | .000 | .062 | .938 | – |" in made["unanswerable"]
    for name, table in made.items():
        columns = {line.count("|") for line in table.splitlines()}
        assert len(columns) == 1, f"{name}: rows of {columns} bars"
        assert len(table.splitlines()) > 3, name


def test_the_document_has_the_place_of_every_table_and_no_other(tmp_path: Path) -> None:
    put(tmp_path)
    made = tables(measure(tmp_path, tmp_path, SIZES), WHERE)
    text = (DOCS / DOCUMENT).read_text("utf-8")
    assert sorted(MARK.findall(text)) == sorted(made)
    copy = tmp_path / DOCUMENT
    copy.write_text(text, encoding="utf-8")
    write(measure(tmp_path, tmp_path, SIZES), WHERE, tmp_path)
    written = copy.read_text("utf-8")
    for name, table in made.items():
        begin, end = marks(name)
        assert written.partition(begin)[2].partition(end)[0].strip() == table


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"evaluate fairytaleqa .* failed:(?s:.)*nowhere"):
        measure(tmp_path / "nowhere", tmp_path, SIZES)
    [begun] = tmp_path.iterdir()  # what it is to go on with, and no figures
    assert begun.name == f"{SIZES[0]}-{MEASUREMENTS[0].name}"
    assert not list(begun.iterdir())

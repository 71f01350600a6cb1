"""docs/results.md is made by one command: its tables have their places, and what is asked can be asked."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import folktales
import pytest

from benchmarks import answer_targets, kept_answers
from benchmarks.answer_tables import DOCUMENT, SEARCHES, marks, searched, tables, write
from benchmarks.answers import MEASUREMENTS, SIZES, Measurement, measure
from evaluation.benchmarks import squad
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


@pytest.mark.parametrize("file", ["dev-v1.1.json", "dev-v1.1.json.xz"])
def test_squad_is_measured_as_its_publishers_have_it_and_packed(file: str, tmp_path: Path) -> None:
    [one] = [one for one in MEASUREMENTS if one.name == "squad"]
    (tmp_path / "squad").mkdir()
    folktales.write_squad(tmp_path / "squad" / file)
    arguments = one.arguments(tmp_path)
    benchmark = squad.load(Path(arguments[arguments.index("--data") + 1]))
    assert (benchmark.split, len(benchmark.questions)) == ("dev-v1.1", 2)


def test_a_folder_without_squads_dev_is_an_error_that_names_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folktales.write_squad(tmp_path / "train-v1.1.json")
    assert run(["evaluate", "squad", "--data", str(tmp_path)]) == 2
    said = capsys.readouterr().err
    assert f"{tmp_path / 'dev-v1.1.json'} is missing; expected there: a SQuAD v1.1 file" in said


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
    shares: dict[str, float | None] = {"questions": 400, "answer": 0.0, "maybe": 0.0625, "none": 0.9375}
    shares |= {"right_of_shown": None, "wrong_shown": 0.125}
    return {
        "variants": dict.fromkeys(("unchanged", "other_book", "renamed"), shares),
        "auroc": {"other_book": 0.75, "renamed": None},
    }


SAID: dict[str, Any] = {
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
    made = tables(kept_answers.keep(measure(tmp_path / "nowhere", tmp_path), WHERE, tmp_path))
    assert made.pop("measured").startswith("Measured at commit `0123abc`, 2026-11-28, on 2 cores")
    assert "| FairytaleQA val, sections | large | 1,200 | .250 [.000, .500] | .250 |" in made["reading"]
    assert "| NarrativeQA valid half B, full stories | small |" in made["books"]
    assert made["books"].endswith("| – | – | – |")  # of full stories nobody says what is right
    assert "| `rerank-large` | `large` | .875 [.000, 1.000] |" in made["retrieval"]
    assert "| `figure` | small | 31 | 2 | 1 | 26 | 3, 1 | 31 |" in made["natural"]
    assert (
        "| with a name replaced | large | 400 | .000 | .062 | .938 | – | .125 | – |" in made["unanswerable"]
    )
    for name, table in made.items():
        columns = {line.count("|") for line in table.splitlines()}
        assert len(columns) == 1, f"{name}: rows of {columns} bars"
        assert len(table.splitlines()) > 3, name


def test_each_target_is_met_or_missed_by_the_figure_beside_it_and_why_is_said_where_it_is_missed() -> None:
    found: dict[str, Any] = {
        size: {name: rated() for name in ("squad", "one-book by large")} for size in SIZES
    }
    for size in SIZES:
        found[size] |= SAID
        found[size]["summaries"] = {**rated(), "rouge_l": {"small": 0.5599, "large": 0.6094}[size]}
        found[size]["stories"] = {**rated(), "rouge_l": 0.2, "confidence": {"ece": 0.0504}}
    rows = {row[0]: row[1:] for row in answer_targets.rows(found, lambda value: str(value))}
    assert rows["NarrativeQA half B, summaries, ROUGE-L"][:5] == [
        "0.56",
        "0.5599",
        "0.61",
        "0.6094",
        "yes, no",
    ]
    assert rows["NarrativeQA half B, full stories, ROUGE-L"][4] == "yes, no"
    assert rows["ECE, full stories, at most"][4:] == ["yes, yes", ""]  # .050 to the digits of the table
    assert rows["ECE, SQuAD dev and other domains, at most"][4] == "no, no"
    assert rows["recall@1, indexed by the encoder `large`"][:5] == ["None", "None", "0.8", "0.5", "–, no"]
    for what, (*_, met, why) in list(rows.items())[1:]:
        assert ("no" in met) == bool(why), what


def test_why_a_target_is_missed_is_told_where_there_is_such_a_heading() -> None:
    headings = re.findall(r"^#+ (.*)$", (DOCS / "experiments.md").read_text("utf-8"), re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    named = [re.findall(r"\(experiments\.md#([\w-]+)\)$", target.why) for target in answer_targets.TARGETS]
    assert {anchor for [anchor] in named} <= anchors


def test_one_measurement_may_be_made_again_and_the_others_stay_as_they_were(tmp_path: Path) -> None:
    put(tmp_path)
    (tmp_path / DOCUMENT).write_text((DOCS / DOCUMENT).read_text("utf-8"), encoding="utf-8")
    before = kept_answers.keep(measure(tmp_path, tmp_path), WHERE, tmp_path)
    said = {
        **rated(),
        "rouge_l": 0.75,
        "confidence": {**SAID["sections"]["confidence"], "curve": [[0.5, 1.0]]},
    }
    (tmp_path / "large-stories.json").write_text(json.dumps(said), encoding="utf-8")
    again = measure(tmp_path, tmp_path, ["large"], ["stories"])
    assert [[*of_size] for of_size in again.values()] == [["stories"]]
    kept = kept_answers.keep(again, {**WHERE, "commit": "4567def", "date": "2026-12-01"}, tmp_path)
    assert kept == kept_answers.read(tmp_path)
    assert "curve" not in kept.said["large"]["stories"]["confidence"]
    assert kept.said["small"] == before.said["small"]
    measured, *others = tables(kept)["measured"].splitlines()
    assert measured == tables(before)["measured"]
    [other] = others
    assert other.startswith("Measured again at commit `4567def`, 2026-12-01, on 2 cores")
    assert other.endswith(": `stories` (large).")
    old, new = tables(before)["books"].splitlines(), tables(kept)["books"].splitlines()
    [row] = {*new} - {*old}
    assert row.startswith("| NarrativeQA valid half B, full stories | large | 1,200 | .750 [")


def test_the_document_has_each_table_as_what_is_kept_makes_it_and_no_other() -> None:
    text = (DOCS / DOCUMENT).read_text("utf-8")
    made = tables(kept_answers.read(DOCS))
    assert sorted(MARK.findall(text)) == sorted(made)
    for name, table in made.items():
        begin, end = marks(name)
        assert text.partition(begin)[2].partition(end)[0].strip() == table


def test_what_is_kept_is_written_between_the_marks_of_the_document(tmp_path: Path) -> None:
    put(tmp_path)
    kept = kept_answers.keep(measure(tmp_path, tmp_path), WHERE, tmp_path)
    copy = tmp_path / DOCUMENT
    copy.write_text((DOCS / DOCUMENT).read_text("utf-8"), encoding="utf-8")
    write(kept, tmp_path)
    written = copy.read_text("utf-8")
    for name, table in tables(kept).items():
        begin, end = marks(name)
        assert written.partition(begin)[2].partition(end)[0].strip() == table


def test_a_command_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=r"evaluate fairytaleqa .* failed:(?s:.)*nowhere"):
        measure(tmp_path / "nowhere", tmp_path)
    [begun] = tmp_path.iterdir()  # what it is to go on with, and no figures
    assert begun.name == f"{SIZES[0]}-{MEASUREMENTS[0].name}"
    assert not list(begun.iterdir())

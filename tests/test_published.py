"""The published figures: every file says what exists, and one that does not is refused."""

from __future__ import annotations

import pytest

from evaluation.benchmarks import BENCHMARKS
from evaluation.published.figures import (
    BadPublishedTable,
    Table,
    parse,
    published,
    published_names,
    reproducible,
    rows_beside,
)
from evaluation.row_scores import mean_of_kinds
from readers import READERS, kind_of
from retrieval import RETRIEVERS
from text.registry import check_name

TABLES = [
    pytest.param(name, table, id=f"{name} {table.source}")
    for name in published_names()
    if (found := published(name)) is not None
    for table in found.tables
]


def figures(benchmark: str, split: str, setting: str) -> dict[str, dict[str, float]]:
    table = rows_beside(benchmark, split, setting)
    return {} if table is None else {row.system: row.printed(split) for row in table.rows}


@pytest.mark.parametrize("name", published_names())
def test_a_file_is_named_after_its_benchmark(name: str) -> None:
    found = published(name)
    assert found is not None
    assert found.benchmark == name
    assert name in BENCHMARKS
    assert set(found.splits) <= set(BENCHMARKS[name].splits)


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_a_table_is_of_settings_and_splits_that_the_benchmark_has(name: str, table: Table) -> None:
    assert set(table.settings) <= set(BENCHMARKS[name].settings)
    assert set(table.splits) <= set(BENCHMARKS[name].splits)
    for row in table.rows:
        assert set(row.figures) == set(table.splits)
        # Percentages, but where a row counts training questions.
        most = max(row.ours.sizes, default=100) if row.ours else 100
        assert all(0 <= figure <= most for of_split in row.figures.values() for figure in of_split.values())
    assert len({row.slug for row in table.rows}) == len(table.rows)


@pytest.mark.parametrize(("name", "table"), TABLES)
def test_every_system_of_ours_that_a_row_names_exists(name: str, table: Table) -> None:
    for row in table.rows:
        if row.ours is None:
            continue
        assert row.ours.setting in BENCHMARKS[name].settings
        if row.ours.reader:
            check_name("reader", kind_of(row.ours.reader), READERS)
        if row.ours.retriever is not None:
            check_name("retriever", row.ours.retriever, RETRIEVERS)


def test_what_a_note_says_that_a_table_prints_is_what_the_table_has() -> None:
    wikireading = published("wikireading")
    assert wikireading is not None
    [note] = [note.text for note in wikireading.notes if "labeler" in note.text]
    [row] = [row for row in wikireading.numbered[3].rows if row.system == "RNN labeler"]
    assert note.startswith("bound of the RNN labeler")
    assert f"prints {row.figures['test']['bound']}" in note


def test_the_mean_over_tasks_is_the_one_that_the_paper_prints() -> None:
    babi = published("babi")
    assert babi is not None
    [table] = [table for table in babi.tables if table.mean]
    rows = {row.system: row.figures["test"] for row in table.rows}
    means = {
        system: (mean_of_kinds(printed, table)["mean"], printed["mean"])
        for system, printed in rows.items()
        if "mean" in printed
    }
    # No mean of fewer than twenty tasks beside one of twenty.
    assert mean_of_kinds({kind: rows["MemNN"][kind] for kind in table.columns[1:]}, table) == {}
    found, printed_mean = means.pop("MemNN")
    assert found == pytest.approx(70, abs=0.5)  # as the file's note says
    assert printed_mean == 75
    assert len(means) > 5
    assert all(found == pytest.approx(printed_mean, abs=0.5) for found, printed_mean in means.values())


def test_the_narrativeqa_paper_has_its_tables_5_and_6() -> None:
    assert reproducible() == ("babi", "cbt", "cnn", "narrativeqa", "wikireading")
    found = published("narrativeqa")
    assert found is not None
    assert list(found.numbered) == [5, 6]
    assert [len(table.rows) for table in found.tables] == [11, 14]
    five, six = (figures("narrativeqa", "valid", setting) for setting in ("summaries", "stories"))
    assert five["ROUGE-L given question (8-gram)"] == {
        "bleu_1": 11.74,
        "bleu_4": 2.18,
        "meteor": 7.05,
        "rouge_l": 12.58,
        "mrr": 0.168,
    }
    assert five["Random rank"] == six["Random rank"] == {"mrr": 0.133}
    assert five["Human (given summaries)"] == six["Human (given summaries)"]
    assert five["Span Prediction"]["rouge_l"] == 36.74
    assert six["Attention Sum Reader, 20 chunks"]["mrr"] == 0.182
    assert figures("narrativeqa", "test", "whole-stories")["Span Prediction"]["rouge_l"] == 6.22
    assert figures("narrativeqa", "train", "summaries") == {}


def test_rows_stand_beside_the_same_questions_in_the_same_setting_alone() -> None:
    assert figures("fairytaleqa", "val", "sections")["Human"] == {"rouge_l": 65.1}
    assert figures("fairytaleqa", "val", "stories") == {}
    assert figures("squad", "dev-v1.1", "paragraphs") == {"DrQA's reader": {"f1": 78.9, "exact_match": 69.4}}
    assert figures("squad", "train-v1.1", "paragraphs") == {}
    assert figures("fables", "val", "sections") == {}


_HEAD = 'benchmark = "narrativeqa"\ntitle = "x"\n[[tables]]\nsource = "s"\nsettings = ["stories"]\n'
_TABLE = f'{_HEAD}splits = ["valid"]\ncolumns = ["rouge_l"]\n'
_ROW = '[[tables.rows]]\nsystem = "A"\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("benchmark =", "own.toml is not TOML: "),
        ('title = "x"', "own.toml: benchmark: Field required"),
        (f"{_TABLE}rows = []\ncolour = 1", "own.toml: tables.0.colour: Extra inputs are not permitted"),
        (
            f'{_HEAD}splits = ["valid"]\ncolumns = ["rogue"]\nrows = []',
            "unknown metric 'rogue' (did you mean",
        ),
        (f"{_TABLE}{_ROW}figures.test = {{ rouge_l = 1.0 }}", "row 'A' has split test; the table has valid"),
        (f"{_TABLE}{_ROW}figures.valid = {{ f1 = 1.0 }}", "row 'A' has column f1; the table has rouge_l"),
        (f"{_TABLE}number = 3\n{_ROW}figures.valid = {{}}", "row 'A' of table 3 does not say which of ours"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place_and_the_fault(text: str, says: str) -> None:
    with pytest.raises(BadPublishedTable) as raised:
        parse(text, "own.toml")
    assert says in str(raised.value)

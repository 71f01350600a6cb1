"""WikiReading's instances in both layouts, what is said of bad lines, and what is counted in a split."""

from __future__ import annotations

import json
import lzma
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny_properties import OFFICIAL, instances, write_lines, write_set

from evaluation.benchmarks.files import DataError
from evaluation.wikireading.instances import Instance, parse_instance, read_instances
from evaluation.wikireading.statistics import PropertyStatistics, bounds, count_training, describe, entropy

OURS = {"key": "d", "document": "Marn of Tarn", "property": "residence", "answers": ["Tarn"]}


def changed(line: Mapping[str, Any], **changes: Any) -> str:
    """The line as JSON, with those of its fields changed, or left out where they are None."""
    return json.dumps({name: value for name, value in {**line, **changes}.items() if value is not None})


def test_an_instance_of_ours_has_each_answer_once_and_in_one_line() -> None:
    line = changed(OURS, answers=["Tarn", "Upper\nLune", "Tarn", " "], title="Marn")
    assert parse_instance(line, "x") == Instance(
        "d", "Marn of Tarn", "residence", ("Tarn", "Upper Lune"), "Marn"
    )


def test_an_official_instance_is_its_tokens_joined_by_their_breaks() -> None:
    one = parse_instance(changed(OFFICIAL), "x")
    assert one.document == "Marn sells lamps.\n\nNobody buys."
    assert (one.property, one.answers) == ("place of birth", ("Upper-Tarn", "Lune"))
    assert parse_instance(changed(OFFICIAL, raw_answers=None), "x").answers == ("Upper Tarn", "Lune")
    assert parse_instance(changed(OFFICIAL, break_levels=None), "x").document.startswith("Marn sells lamps .")
    # Instances of one document have one key, and others another.
    assert parse_instance(changed(OFFICIAL, answer_breaks=[]), "x").key == one.key
    assert parse_instance(changed(OFFICIAL, string_sequence=["Osk"], break_levels=[0]), "x").key != one.key


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[1]", "found list, wanted an object"),
        (changed(OURS, answers=None), "the field answers is missing"),
        (changed(OURS, document=3), "document is int, wanted str"),
        (changed(OURS, document=" \n"), "the document is empty"),
        (changed(OURS, property=""), "the property is empty"),
        (changed(OURS, key=""), "the key is empty"),
        (changed(OURS, answers=[" "]), "there is no answer"),
        (changed(OURS, answers=[1776]), "found 1776 where a word or an answer is wanted"),
        (changed(OURS, title=7), "title is int, wanted str"),
        (changed(OFFICIAL, string_sequence=[], break_levels=[]), "the document is empty"),
        (changed(OFFICIAL, question_string_sequence=None), "the field question_string_sequence is missing"),
        (changed(OFFICIAL, break_levels=[0]), "1 break_levels of 7 words"),
        (changed(OFFICIAL, answer_breaks=["2"]), "answer_breaks holds what is no number"),
        (changed(OFFICIAL, raw_answers={"a": 1}), "raw_answers is dict, wanted list"),
    ],
)
def test_a_bad_line_is_named_with_its_fault(line: str, said: str) -> None:
    with pytest.raises(DataError) as raised:
        parse_instance(line, "set.jsonl, line 7")
    assert str(raised.value).startswith(f"set.jsonl, line 7: {said}")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=6,
)


@pytest.mark.parametrize("line", [OURS, OFFICIAL])
@given(data=st.data())
def test_a_line_of_any_values_is_an_instance_or_refused(line: dict[str, Any], data: st.DataObject) -> None:
    changes = data.draw(st.dictionaries(st.sampled_from([*line, "title"]), JSON, max_size=3))
    try:
        one = parse_instance(changed(line, **changes), "set.jsonl, line 7")
    except DataError as error:
        assert str(error).startswith("set.jsonl, line 7: ")  # noqa: PT017
    else:
        assert one.key
        assert one.document
        assert one.property
        assert all(answer and "\n" not in answer for answer in one.answers)


def test_files_are_read_in_order_packed_or_not_and_bad_bytes_have_a_line(tmp_path: Path) -> None:
    rows = instances(0, 2)
    with lzma.open(tmp_path / "train.jsonl.xz", "wt") as file:
        file.writelines(f"{json.dumps(row)}\n\n" for row in rows)
    for number in (1, 0):
        write_lines(
            tmp_path / f"test-0000{number}-of-00002.json", [{**OFFICIAL, "raw_answers": [str(number)] * 2}]
        )
    assert [one.property for one in read_instances(tmp_path, "train")] == [row["property"] for row in rows]
    assert [one.answers for one in read_instances(tmp_path, "test")] == [("0",), ("1",)]
    with pytest.raises(DataError, match=r"has no file of the split validation; expected there: SPLIT\.jsonl"):
        list(read_instances(tmp_path, "validation"))
    (tmp_path / "validation.jsonl").write_bytes(json.dumps(rows[0]).encode() + b"\n\xff\n")
    with pytest.raises(DataError, match=r"validation\.jsonl, line 2: no UTF-8"):
        list(read_instances(tmp_path, "validation"))
    (tmp_path / "train.jsonl.xz").write_bytes(b"no xz")
    with pytest.raises(DataError, match=r"train\.jsonl\.xz cannot be read after line 0"):
        list(read_instances(tmp_path, "train"))


def test_a_stream_is_read_no_further_than_it_is_used(tmp_path: Path) -> None:
    write_lines(tmp_path / "train.jsonl", [OURS, "bad"])
    assert next(read_instances(tmp_path, "train")).key == "d"


def test_entropy_is_that_of_the_answers_over_the_log_of_how_many_differ() -> None:
    assert entropy({"a": 3, "b": 3, "c": 3}) == pytest.approx(1)
    assert entropy({"a": 3, "b": 1}) == pytest.approx(
        -(0.75 * math.log(0.75) + 0.25 * math.log(0.25)) / math.log(2)
    )
    assert entropy({"human": 9}) == 0


def test_properties_are_categorical_relational_or_dates(tmp_path: Path) -> None:
    training = count_training(read_instances(write_set(tmp_path), "train"))
    assert training.instances == 60
    assert {name: training.kind(name) for name in (*training.properties, "spouse")} == {
        "instance of": "categorical",
        "residence": "relational",
        "date of birth": "relational/date",
        "spouse": "relational",
    }
    residence = training.properties["residence"]
    assert (residence.instances, residence.answers) == (20, 5)  # each value of the five that have two counts
    assert residence.entropy == pytest.approx(1)


def test_a_property_is_categorical_below_an_entropy_of_7_tenths() -> None:
    kinds = [PropertyStatistics(100, 9, entropy, dates=False).kind for entropy in (0.69, 0.7)]
    assert kinds == ["categorical", "relational"]  # Hewlett et al. 2016, section 2.4


def test_bounds_are_the_best_f1_of_one_value() -> None:
    asked = [(("Tarn",), "Marn of Tarn"), (("Tarn", "Lune"), "Marn of lune"), (("Osthaven",), "Osthaven")]
    found = bounds(asked, {"Lune", "Tarn"})
    assert found == pytest.approx(
        {
            "training_answers": (1 + 2 / 3) / 3,
            "one_value": (2 + 2 / 3) / 3,
            "verbatim": 2 / 3,  # "lune" is no exact string
        }
    )


@pytest.mark.parametrize(
    ("answers", "dates"),
    [
        (("4 July 1776", "July 1776", "44 BC"), True),
        (("1776", "1770s", "18th century"), True),
        (("301 metres", "302 metres", "1303 metres"), False),  # numbers of three or four digits are no years
        (("840", "124", "484"), False),
        (("May", "June", "April"), False),
    ],
)
def test_a_property_is_a_date_where_its_answers_are_and_not_where_they_have_numbers(
    answers: tuple[str, ...], dates: bool
) -> None:
    found = count_training(Instance(f"{n}", "x", "p", (answer,)) for n, answer in enumerate(answers))
    assert found.kind("p") == ("relational/date" if dates else "relational")


def test_a_split_is_described_beside_its_training_split(tmp_path: Path) -> None:
    folder = write_set(tmp_path)
    training = count_training(read_instances(folder, "train"))
    found = describe(read_instances(folder, "validation"), training)
    assert found == {
        "instances": 12,
        "documents": 4,
        "properties": 3,
        "words_mean": 14,
        "words_median": 14,
        "kinds": {"categorical": 0.3333, "relational": 0.6667, "date": 0.3333},
        "top_20_properties": 1,
        "several_answers": 0.0833,
        "verbatim": 0.6667,
        "answers_unseen": round(4 / 13, 4),
        "bounds": {
            "training_answers": round((8 - 1 / 3) / 12, 4),
            "one_value": round((12 - 1 / 3) / 12, 4),
            "verbatim": round((8 - 1 / 3) / 12, 4),
        },
    }
    assert describe([], training)["instances"] == 0


@pytest.mark.data
def test_the_real_set_has_the_figures_of_its_readme(data_folder: Path) -> None:
    folder = data_folder / "wikireading"
    training = count_training(read_instances(folder, "train"))
    assert training.instances == 15_047
    own = describe(read_instances(folder, "train"), training)
    assert round(own["kinds"]["categorical"], 2) == 0.48
    found = describe(read_instances(folder, "validation"), training)
    assert found["instances"] == 2_212
    # The README's are of all three splits, or of the test split, which is held back.
    assert found["bounds"]["one_value"] == pytest.approx(0.965, abs=0.005)
    assert found["bounds"]["training_answers"] == pytest.approx(0.717, abs=0.015)
    assert found["bounds"]["verbatim"] == pytest.approx(0.578, abs=0.035)
    assert found["verbatim"] == pytest.approx(0.598, abs=0.03)
    assert found["answers_unseen"] == pytest.approx(0.304, abs=0.025)
    dates = {name for name, one in training.properties.items() if one.dates}
    assert dates == {
        *("date of birth", "date of death", "publication date", "inception", "point in time", "start time"),
        *("end time", "service entry", "dissolved, abolished or demolished"),
    }

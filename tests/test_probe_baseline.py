"""A probe beside an earlier one of the same questions: what got worse by more than chance fails a build."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaluation.benchmarks.files import DataError
from evaluation.probing.regressions import LEVEL, check_same, holm, mcnemar, read_baseline, worse_than
from service.cli import run

PROBED: dict[str, Any] = {"tasks": [1, 6], "per_task": 8, "seed": 0, "inside": None, "fingerprint": "f"}


def probed(*rights: str, **other: Any) -> dict[str, Any]:
    """A result of two tasks, of which these questions were right."""
    skills = [
        {"task": task, "name": f"task-{task}", "questions": len(right), "right": right}
        for task, right in zip((1, 6), rights, strict=True)
    ]
    return PROBED | {"skills": skills} | other


def kept(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_mcnemar_is_the_tail_of_the_questions_that_changed() -> None:
    assert mcnemar("11111", "00000") == pytest.approx(1 / 32)
    assert mcnemar("1111110", "0000001") == pytest.approx((7 + 1) / 128)  # six lost, one won, of seven
    assert mcnemar("1010", "1010") == 1.0
    assert mcnemar("0000", "1111") == 1.0
    assert mcnemar("1" * 90 + "11111", "1" * 90 + "00000") == mcnemar("11111", "00000")


def test_holm_multiplies_the_smallest_most_and_never_lets_a_larger_one_fall_below_it() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []


def test_a_skill_is_worse_that_lost_more_than_chance_takes_and_gains_make_up_for_no_other() -> None:
    [found] = worse_than(probed("11111111", "00000000"), probed("00000001", "11111111"))
    assert (found["task"], found["right"], found["right_before"], found["questions"]) == (1, 1, 8, 8)
    assert found["p"] == pytest.approx(2 / 128)
    assert found["p"] <= LEVEL


def test_what_one_skill_alone_would_show_is_no_finding_among_many() -> None:
    # Five of five lost: 1/32 alone, 1/16 where two skills are looked at.
    assert worse_than(probed("11111000", "11110000"), probed("00000000", "11110000")) == []


def test_the_same_answers_are_not_worse() -> None:
    assert worse_than(probed("10101010", "11111111"), probed("10101010", "11111111")) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"seed": 7}, "--seed 7 and not 0"),
        ({"tasks": [1, 2]}, "--tasks 1,2 and not 1,6"),
        ({"inside": "emma"}, "--inside emma and not none"),
        ({"per_task": 9, "seed": 7}, "--per-task 9 and not 8, --seed 7 and not 0"),
        ({"fingerprint": "g"}, "other questions, by another version"),
    ],
)
def test_a_baseline_of_other_questions_is_refused_with_what_differs(other: dict[str, Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        check_same(probed("1" * 8, "1" * 8), probed("1" * 8, "1" * 8, **other), Path("old.json"))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "null",
        "{}",
        '{"skills": 3}',
        json.dumps(probed("11111111", "1111111")),
        json.dumps(probed("11111111", "1111111x")),
        json.dumps(probed("11111111", "11111111") | {"tasks": [6, 1]}),
        json.dumps({key: value for key, value in probed("1" * 8, "1" * 8).items() if key != "seed"}),
        "[" * 100_000,
    ],
)
def test_another_file_is_no_baseline(tmp_path: Path, content: str) -> None:
    path = tmp_path / "old.json"
    path.write_text(content, "utf-8")
    with pytest.raises(
        DataError, match=r"old\.json is no result of a probe .*make one: storyqa probe --json"
    ):
        read_baseline(path)


def test_a_probe_ends_by_what_became_of_its_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", str(tmp_path / "out"))
    asked = ["probe", "--reader", "overlap", "--tasks", "1,6", "--per-task", "10", *out]
    assert run([*asked, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    same = kept(tmp_path / "same.json", result)
    assert run([*asked, "--baseline", str(same)]) == 0
    assert "no skill is significantly worse" in capsys.readouterr().out
    better = [one | {"right": "1" * 10} if one["task"] == 6 else one for one in result["skills"]]
    ideal = kept(tmp_path / "ideal.json", result | {"skills": better})
    assert run([*asked, "--baseline", str(ideal)]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "6 yes-no-questions, 0 of 10 right and 10 before" in shown
    assert "1 single-supporting-fact," not in shown
    assert run([*asked, "--baseline", str(ideal), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["baseline"]
    assert told["file"] == str(ideal)
    assert [one["task"] for one in told["worse"]] == [6]
    assert run([*asked, "--seed", "1", "--baseline", str(same)]) == 2
    assert "--seed 0 and not 1" in capsys.readouterr().err


def test_a_baseline_is_not_replaced_by_what_is_held_against_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["probe", "--reader", "overlap", "--tasks", "6", "--per-task", "10"]
    assert run(asked) == 0
    [written] = Path("runs").glob("*/probe.json")
    result = json.loads(written.read_text("utf-8"))
    better = [one | {"right": "1" * 10} for one in result["skills"]]
    ideal = kept(written, result | {"skills": better}).read_text("utf-8")
    for _ in range(2):  # the second time, too
        capsys.readouterr()
        assert run([*asked, "--baseline", str(written)]) == 1
        assert f"{written} stays as it is; give another --out" in capsys.readouterr().err
    assert written.read_text("utf-8") == ideal

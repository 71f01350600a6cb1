"""``storyqa evaluate natural``: books are asked as users ask them, and every judgement is kept."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import shelf

from answering.citing import Verdict as Shown
from answering.configuration import Configuration
from evaluation.benchmarks.files import DataError
from evaluation.natural import NaturalQuestion
from evaluation.natural.judging import Key, Verdict, parse_rule
from evaluation.natural.measuring import Judged, describe, measure
from service.cli import run

BOOK = "0" * 40


def asked(id: str, question: str, *right: str, answerable: bool = True) -> NaturalQuestion:
    rules = tuple(parse_rule(one) for one in right)
    key = Key(right=rules, partly=(), wrong_if=(), longest=40, answerable=answerable)
    places = ((0, 5),) if answerable else ()
    return NaturalQuestion(id, BOOK, "The Lamp", "choose", "who", question, key, places)


QUESTIONS = (
    asked("lamp-01", "Who kept the lighthouse at Quill Point for thirty years?", "ines"),
    asked("lamp-02", "Who did Tobias marry?", "bachelor", answerable=False),
    asked("lamp-03", "Is Ines pleased with the oil?", "^no"),
)


def test_each_question_is_answered_from_its_book_and_judged_with_a_reason(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / f"{BOOK}.content").write_text(shelf.LANTERN, "utf-8")
    configuration = Configuration(tmp_path / "store", tmp_path, answerable=0.0, sure=0.5)
    progress: list[tuple[str, int, int]] = []
    judged = measure(
        QUESTIONS,
        tmp_path,
        configuration,
        "bm25",
        "overlap",
        2,
        lambda *told: progress.append(told),
    )
    assert [one.id for one in judged] == [question.id for question in QUESTIONS]
    assert (judged[0].verdict, judged[0].shown) == ("right", "answer")
    assert judged[1].verdict == "wrong"
    assert (judged[2].verdict, judged[2].answer) == ("declined", "")
    assert "yes or no" in str(judged[2].note)
    assert all(one.reason for one in judged)
    assert progress[-1] == ("answering", 3, 3)
    told = describe(judged)
    assert told["all"] == {"questions": 3, "right": 1, "partly": 0, "wrong": 1, "declined": 1}
    assert told["not_answerable"]["questions"] == 1
    assert told["under_answer"]["right"] == 1


def test_what_is_not_given_as_an_answer_is_judged_as_declined(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    (tmp_path / "tmp" / f"{BOOK}.content").write_text(shelf.LANTERN, "utf-8")
    configuration = Configuration(tmp_path / "store", tmp_path, answerable=1.0)
    judged = measure(
        QUESTIONS[:2], tmp_path, configuration, "bm25", "overlap", 2, lambda what, done, total: None
    )
    assert [(one.shown, one.verdict) for one in judged] == [("none", "declined"), ("none", "right")]
    assert judged[0].answer  # the guess is kept


def test_judgements_are_counted_apart_by_what_the_book_answers_and_by_what_is_shown() -> None:
    def one(shown: Shown, verdict: Verdict, answerable: bool = True) -> Judged:
        return Judged("1", "Tale", "who", answerable, "Who?", "Osk", 0.5, shown, None, verdict, "rule")

    found = describe(
        [
            one("answer", "right"),
            one("answer", "wrong", answerable=False),
            one("maybe", "partly"),
            one("none", "declined"),
            one("none", "right", answerable=False),
        ]
    )
    assert found["all"] == {"questions": 5, "right": 2, "partly": 1, "wrong": 1, "declined": 1}
    assert found["answerable"] == {"questions": 3, "right": 1, "partly": 1, "wrong": 0, "declined": 1}
    assert found["not_answerable"] == {"questions": 2, "right": 1, "partly": 0, "wrong": 1, "declined": 0}
    assert found["under_answer"] == {"questions": 2, "right": 1, "partly": 0, "wrong": 1, "declined": 0}


def test_a_book_that_is_missing_is_named(tmp_path: Path) -> None:
    configuration = Configuration(tmp_path, tmp_path)
    with pytest.raises(DataError, match=BOOK):
        measure(QUESTIONS, tmp_path, configuration, "bm25", "overlap", 2, lambda what, done, total: None)


@pytest.mark.data
def test_the_command_judges_one_half_of_the_questions(
    data_folder: Path,
    tiny_bert: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Ten novels are indexed, and searched by words alone.
    monkeypatch.setenv("STORYQA_ENCODER", str(tiny_bert))
    arguments = ["evaluate", "natural", "--data", str(data_folder / "narrativeqa"), "--half", "choose"]
    arguments += ["--reader", "overlap", "--retriever", "bm25", "--store", str(tmp_path / "store")]
    assert run([*arguments, "--out", str(tmp_path / "kept.json"), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result == json.loads((tmp_path / "kept.json").read_text("utf-8"))
    assert result["all"]["questions"] == len(result["judgements"]) == 75

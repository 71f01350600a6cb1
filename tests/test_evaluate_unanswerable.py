"""``storyqa evaluate unanswerable``: what is asked, and how what is said to it is counted."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import folktales
import pytest

from answering.configuration import Configuration
from evaluation.benchmarks.benchmark import Benchmark, Question
from evaluation.unanswerable import Asked, Outcome, Variant, describe, measure, variants
from indexing.book import Book
from service.cli import run
from text.question_names import names_in


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folktales.write_fairytaleqa(tmp_path_factory.mktemp("data"), "val")


@pytest.fixture(scope="module")
def benchmark() -> Benchmark:
    """Two books with named people, and two questions about each."""
    books = {
        "mill": "Odo dug a well behind his barn. Hale knocked at the oak door, and Odo hid.",
        "tower": "Ruta and Pim went up the tower. Pim saw a nest, and Ruta laughed at him.",
    }
    asked = {
        "mill": ("What did Odo dig?", "Who knocked when Hale came?"),
        "tower": ("What did Pim see?", "Who laughed?"),
    }
    return Benchmark(
        "tales",
        "val",
        "stories",
        tuple(
            Question(f"{book}-{n}", book, text, ("an answer",), book)
            for book, texts in asked.items()
            for n, text in enumerate(texts)
        ),
        {id: partial(Book, id, id, text, "here") for id, text in books.items()},
        {id: id for id in books},
    )


def of(asked: list[Asked], variant: Variant) -> dict[str, Asked]:
    return {one.question.id: one for one in asked if one.variant == variant}


def test_every_question_is_asked_unchanged_and_of_another_book(benchmark: Benchmark) -> None:
    asked = variants(benchmark, benchmark.questions, 0)
    unchanged, other = of(asked, "unchanged"), of(asked, "other_book")
    assert set(unchanged) == set(other) == {question.id for question in benchmark.questions}
    for one in unchanged.values():
        assert (one.book, one.text) == (one.question.book, one.question.text)
    for one in other.values():
        assert one.book != one.question.book
        assert one.text == one.question.text


def test_a_renamed_question_has_a_name_of_another_book_in_the_place_of_its_own(benchmark: Benchmark) -> None:
    renamed = of(variants(benchmark, benchmark.questions, 0), "renamed")
    assert set(renamed) == {"mill-0", "mill-1", "tower-0"}, "those with a name of their book"
    for one in renamed.values():
        text = benchmark.books[one.book]().text
        assert one.book == one.question.book
        [strange] = set(names_in(one.text)) - set(names_in(one.question.text))
        assert strange not in text
        assert any(name in text and name not in one.text for name in names_in(one.question.text))


def test_what_is_drawn_depends_on_the_seed_alone(benchmark: Benchmark) -> None:
    renamed = [of(variants(benchmark, benchmark.questions, seed), "renamed")["tower-0"] for seed in (0, 3)]
    assert [one.text for one in renamed] == ["What did Hale see?", "What did Odo see?"]  # as ever
    assert variants(benchmark, benchmark.questions, 3) == variants(benchmark, benchmark.questions, 3)
    drawn = {tuple(one.text for one in variants(benchmark, benchmark.questions, seed)) for seed in range(9)}
    assert len(drawn) > 1


def test_an_unchanged_question_is_right_from_half_of_its_reference_on(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    references = {
        "mill-0": "Odo dug a hole under the oak",  # 3 of the answer's 7 words
        "mill-1": "Hale knocked at the oak chest before everybody went home",  # 5 of the answer's 10 tokens
        "tower-0": "a nest",
        "tower-1": "Pim saw a nest, and Ruta laughed at him",
    }
    questions = tuple(replace(one, answers=(references[one.id],)) for one in benchmark.questions)
    asked = replace(benchmark, questions=questions)
    where = Configuration(tmp_path / "store", tmp_path)
    found = measure(asked, where, "bm25", "overlap", 1, None, 0, lambda what, done, total: None)
    answers = {one.id: one.answer for one in found if one.variant == "unchanged"}
    assert answers["mill-0"] == "Odo dug a well behind his barn."
    assert answers["mill-1"] == "Hale knocked at the oak door, and Odo hid."
    assert answers["mill-1"] in {one.answer for one in found if one.variant == "renamed"}
    assert {(one.id, one.variant) for one in found if one.right} == {
        ("mill-1", "unchanged"),
        ("tower-1", "unchanged"),
    }


def said(variant: Variant, confidence: float, verdict: str, right: bool = False) -> Outcome:
    return Outcome(variant, "q", "b", "Who?", "x", confidence, verdict, None, right)  # type: ignore[arg-type]


def test_shares_and_auroc_are_those_counted_by_hand() -> None:
    found = describe(
        [
            said("unchanged", 0.9, "answer", right=True),
            said("unchanged", 0.8, "answer"),
            said("unchanged", 0.4, "maybe", right=True),
            said("unchanged", 0.1, "none"),
            said("other_book", 0.4, "maybe"),
            said("other_book", 0.0, "none"),
        ]
    )
    unchanged, other, renamed = found["variants"].values()
    assert unchanged == {
        "questions": 4,
        "answer": 0.5,
        "maybe": 0.25,
        "none": 0.25,
        "right": 0.5,
        "right_of_shown": 0.5,
        "wrong_shown": 0.25,
    }
    assert (other["maybe"], other["none"], other["right_of_shown"]) == (0.5, 0.5, None)
    assert renamed["questions"] == 0
    assert renamed["answer"] is None
    # Of 8 pairs, 6 in order, .4 against .4 half, .1 against .4 wrong.
    assert found["auroc"] == {"other_book": 6.5 / 8, "renamed": None}


def test_the_command_asks_the_books_and_keeps_every_answer(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "kept" / "answers.json"
    arguments = ["evaluate", "unanswerable", "--benchmark", "fairytaleqa", "--data", str(data)]
    arguments += ["--reader", "overlap", "--retriever", "bm25", "--store", str(tmp_path / "store")]
    assert run([*arguments, "--out", str(out), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    kept = json.loads(out.read_text("utf-8"))
    answers = kept.pop("answers")
    assert kept == result
    asked = result["variants"]
    assert asked["unchanged"]["questions"] == asked["other_book"]["questions"] > 0
    assert len(answers) == sum(one["questions"] for one in asked.values())
    assert not any(one["right"] for one in answers if one["variant"] != "unchanged")
    assert run([*arguments, "--limit", "2"]) == 0
    assert "other book" in capsys.readouterr().out
    assert run(["evaluate", "unanswerable", "--benchmark", "squad", "--data", str(data)]) == 2
    assert "unknown benchmark 'squad'" in capsys.readouterr().err

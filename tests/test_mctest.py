"""MCTest: the publisher's files as they are, and how choices are made and scored."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import folktales
import pytest

from evaluation.benchmarks.benchmark import Benchmark, Question
from evaluation.benchmarks.files import DataError
from evaluation.benchmarks.mctest import load
from readers.choosing import ranked
from readers.reading import Answer, Ranker, Reading
from service.cli import run

STORIES = (
    (
        " ".join(folktales.GOOSE),
        (
            ("one: What was the goose called?", "Osk", "Dorrit", "Brammel", "Wilm", "B"),
            ("one: Who was asleep on the moon?", "a baker", "a goose", "a tinker called Osk", "Wilm", "C"),
            ("multiple: Who slept soundly at last?", "the baker", "Osk", "Dorrit", "the moon", "A"),
            ("multiple: What did Osk lose?", "his ear", "his stove", "his goose", "his star", "D"),
        ),
    ),
    (
        "\n".join(folktales.FERRY),
        (
            ("one: Who had swum the river?", "Wilm", "the ferryman", "Osk", "Dorrit", "A"),
            (
                "one: What did the ferryman take?",
                "money",
                "something that he did not know",
                "oars",
                "a boat",
                "B",
            ),
            ("multiple: Who has the boat now?", "the ferryman", "the mountain", "Wilm", "nobody", "C"),
            ("multiple: What fell in?", "the girl", "the boat", "the mountain", "the oars", "D"),
        ),
    ),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two stories in mc160's dev and one of them in mc500's."""
    for name, stories in (("mc160.dev", STORIES), ("mc500.dev", STORIES[:1])):
        lines, answers = [], []
        for number, (text, questions) in enumerate(stories):
            cells = [f"{name}.{number}", "Author: 1", text.replace("\n", "\\newline")]
            lines.append("\t".join([*cells, *(cell for one in questions for cell in one[:-1])]))
            answers.append("\t".join(one[-1] for one in questions))
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines) + "\n", "utf-8")
        (tmp_path / f"{name}.ans").write_text("\n".join(answers) + "\n", "utf-8")
    return tmp_path


def test_a_question_has_its_four_choices_the_right_one_and_the_whole_story(data: Path) -> None:
    benchmark = load(data, set="mc160")
    assert (len(benchmark.questions), len(benchmark.titles), benchmark.part) == (8, 2, "mc160")
    for question, (text, *choices, letter) in zip(
        benchmark.questions, [one for _, asked in STORIES for one in asked], strict=True
    ):
        assert f"{question.kind}: {question.text}" == text
        assert list(question.candidates) == choices
        assert question.answers == (choices["ABCD".index(letter)],)
        book = benchmark.books[question.book]()
        assert question.given == ((0, len(book.text)),)
    assert [load().text for load in benchmark.books.values()] == [text for text, _ in STORIES]


def test_both_sets_are_read_unless_one_is_named(data: Path) -> None:
    assert len(load(data).questions) == 12
    assert len(load(data, set="mc500").questions) == 4
    assert load(data).fingerprint() != load(data, set="mc160").fingerprint()


def test_choices_tell_one_data_set_from_another(data: Path) -> None:
    before = load(data).fingerprint()
    path = data / "mc160.dev.tsv"
    path.write_text(path.read_text("utf-8").replace("Brammel\tWilm", "Brammel\tLune"), "utf-8")
    assert load(data).fingerprint() != before


@pytest.mark.parametrize(
    ("split", "part", "says"),
    [
        ("test", "both", "unknown split 'test'; MCTest"),
        ("dev", "mc660", "unknown set 'mc660'; MCTest has both, mc160, mc500"),
        ("train", "both", r"mc160\.train\.tsv is missing; expected there: the MCTest folder"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(data: Path, split: str, part: str, says: str) -> None:
    with pytest.raises(DataError, match=says):
        load(data, split, part)


def test_files_without_a_question_are_told_so(data: Path) -> None:
    for end in ("tsv", "ans"):
        (data / f"mc160.dev.{end}").write_text("", "utf-8")
    with pytest.raises(DataError, match="holds no question; expected there: the MCTest folder"):
        load(data, set="mc160")


def test_the_test_split_is_refused_where_it_is_there(data: Path) -> None:
    for end in ("tsv", "ans"):
        (data / f"mc160.test.{end}").write_bytes((data / f"mc160.dev.{end}").read_bytes())
    with pytest.raises(DataError, match="unknown split 'test'"):
        load(data, "test", "mc160")


@pytest.mark.parametrize(
    ("end", "old", "new", "says"),
    [
        ("ans", "B\tC\tA\tD\n", "", "has 2 stories, but .* the answers of 1"),
        ("ans", "B\tC\tA\tD", "B\tC\tA", "23 cells and 3 answers"),
        ("ans", "B\tC\tA\tD", "B\tC\tA\tE", "has the answer 'E'; wanted one of A, B, C, D"),
        ("tsv", "\tBrammel", "", "22 cells and 4 answers"),
    ],
)
def test_a_file_of_another_form_is_told_so(data: Path, end: str, old: str, new: str, says: str) -> None:
    path = data / f"mc160.dev.{end}"
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(DataError, match=says):
        load(data)


class Longest(Ranker):
    """Ranks the longer candidate higher."""

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        return [[] for _ in readings]

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        return [float(len(candidate)) for candidate in candidates]


def test_the_choice_is_the_candidate_ranked_highest_and_the_first_of_equals() -> None:
    [answer, *_] = ranked(Longest(), Reading("Who?", ("x",), candidates=("a", "ccc", "bb", "ddd")))
    assert (answer.text, answer.score, answer.span) == ("ccc", 3.0, None)
    assert answer.confidence == pytest.approx(math.e**3 / (math.e + math.e**2 + 2 * math.e**3))


def test_choices_are_scored_by_accuracy_apart_by_kind_and_beside_chance(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["evaluate", "mctest", "--data", str(data), "--out", str(tmp_path / "out")]
    assert run([*arguments, "--reader", "overlap", "--json"]) == 0
    scores = json.loads(capsys.readouterr().out)
    lines = (tmp_path / "out" / "predictions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    choices = {question.id: question.candidates for question in load(data).questions}
    assert all(row["prediction"] in choices[row["id"]] for row in rows)
    right = [row["prediction"] in row["references"] for row in rows]
    assert [row["accuracy"] for row in rows] == right
    assert scores["accuracy"] == pytest.approx(sum(right) / 12, abs=1e-6)
    low, high = scores["intervals"]["accuracy"]
    assert low <= scores["accuracy"] <= high
    assert {kind: of_kind["questions"] for kind, of_kind in scores["by_kind"].items()} == {
        "multiple": 6,
        "one": 6,
    }
    assert "a choice by chance is right for 25.0% of the questions" in scores["notes"]
    assert "rouge_l" not in scores
    for picture in ("scores.png", "choices.png"):
        assert (tmp_path / "out" / picture).read_bytes().startswith(b"\x89PNG")
    assert sum(part["questions"] for part in scores["by_length"]) == 12
    assert scores["by_length"][-1]["right_up_to"] == pytest.approx(scores["accuracy"], abs=1e-6)
    assert run([*arguments, "--reader", "overlap"]) == 0
    assert "accuracy by kind of question: multiple" in capsys.readouterr().out


def test_a_right_answer_that_is_no_candidate_and_questions_of_two_sorts_are_refused() -> None:
    with pytest.raises(ValueError, match="none of its candidates"):
        Question("1", "s", "Who?", ("Osk",), "s", candidates=("Wilm", "Dorrit"))
    questions = (
        Question("1", "s", "Who?", ("Osk",), "s", candidates=("Wilm", "Osk")),
        Question("2", "s", "Who?", ("Osk",), "s"),
    )
    with pytest.raises(ValueError, match="some questions of x have candidates"):
        Benchmark("x", "dev", "stories", questions, {}, {})


@pytest.mark.data
def test_mctest_has_the_published_stories_and_questions(data_folder: Path) -> None:
    sizes = {("mc160", "dev"): 30, ("mc160", "train"): 70, ("mc500", "dev"): 50, ("mc500", "train"): 300}
    for (name, split), stories in sizes.items():
        benchmark = load(data_folder / "mctest" / "MCTest", split, name)
        assert (len(benchmark.titles), len(benchmark.questions)) == (stories, 4 * stories)
        assert {question.kind for question in benchmark.questions} == {"one", "multiple"}

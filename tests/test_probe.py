"""``storyqa probe``: fresh questions of a skill, asked of a reader that is given the facts or finds them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import shelf
from hypothesis import given
from hypothesis import strategies as st

from evaluation.benchmarks.files import DataError
from evaluation.probing.fresh_questions import fingerprint, fresh
from evaluation.probing.skills import wilson
from evaluation.probing.story_books import PASSAGE_WORDS, passages, plain_books, scattered_books
from evaluation.sample import sample_story
from indexing.book import Book
from indexing.passages import split
from service.cli import run

Probe = Callable[..., Any]
SAMPLE = Book("weigher", "The Weigher", sample_story().read_text("utf-8"), "weigher.txt")
QUICK = ("--reader", "overlap", "--tasks", "1,6", "--per-task", "10")


@pytest.fixture
def probe(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Probe:
    """Runs the command, which must end as ``code`` says, and returns its JSON, or what it complains of."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str, code: int = 0) -> Any:
        returned = run(["probe", *arguments, "--json"])
        captured = capsys.readouterr()
        assert returned == code, captured.err
        if code != 2:
            assert captured.err == ""
            return json.loads(captured.out)
        assert captured.err.startswith("storyqa: ")
        assert captured.err.count("\n") == 1
        return captured.err

    return call


# What is asked


def test_a_seed_makes_the_same_questions_and_another_others() -> None:
    assert fresh(1, 20, 3) == fresh(1, 20, 3)
    assert fingerprint([fresh(1, 20, 3)]) != fingerprint([fresh(1, 20, 4)])
    assert fresh(1, 20, 3).questions[:5] == fresh(1, 5, 3).questions


@pytest.mark.parametrize("task", [1, 6])
def test_a_question_comes_with_the_facts_told_before_it_and_all_answers_of_its_task(task: int) -> None:
    skill = fresh(task, 12, 0)
    assert len(skill.questions) == len({one.id for one in skill.questions}) == 12
    for one in skill.questions:
        assert one.facts == one.told[: len(one.facts)]
        assert one.facts
        assert set(one.answers) <= skill.answers
    assert len(skill.answers) == {1: 6, 6: 2}[task]


@given(st.lists(st.integers(1, 300), max_size=40))
def test_passages_hold_all_facts_whole_and_in_order(lengths: list[int]) -> None:
    facts = [" ".join([f"f{number}"] * length) for number, length in enumerate(lengths)]
    found = passages(facts)
    assert " ".join(found).split() == " ".join(facts).split()
    assert all(len(one.split()) <= PASSAGE_WORDS or one in facts for one in found)


def test_a_book_of_a_story_holds_what_was_told_before_its_questions_and_no_more() -> None:
    questions = fresh(1, 12, 0).questions
    books = plain_books(questions)
    assert [question for book in books for question in book.questions] == list(questions)
    assert all(book.text == " ".join(one.facts) for book in books for one in book.questions)


@pytest.mark.parametrize("task", [1, 6])
def test_facts_inside_a_book_stand_in_order_between_its_sentences(task: int) -> None:
    questions = fresh(task, 12, 0).questions
    for book in scattered_books(questions, SAMPLE, 0):
        left, at, starts = "", 0, []
        for fact in book.questions[0].told:
            start = book.text.index(f" {fact}", at)
            left += book.text[at:start]
            starts.append(start + 1)
            at = start + 1 + len(fact)
        assert left + book.text[at:] == SAMPLE.text
        for question, before in zip(book.questions, book.befores, strict=True):
            told = len(question.facts)
            assert before == (starts[told] if told < len(starts) else None)


def test_the_passages_that_may_be_read_before_a_question_hold_all_facts_told() -> None:
    for book in scattered_books(fresh(1, 25, 0).questions, SAMPLE, 0):
        pieces = split(book.text, PASSAGE_WORDS)
        for question, before in zip(book.questions, book.befores, strict=True):
            read = [piece for piece in pieces if before is None or piece.end <= before]
            text = book.text[: read[-1].end]
            place = 0
            for fact in question.facts:
                place = text.index(fact, place) + len(fact)


def test_a_book_is_refused_that_is_too_short_to_keep_a_question_from_what_comes_after() -> None:
    with pytest.raises(DataError, match=r"lantern has \d+ words; wanted [\d,]+ to scatter"):
        scattered_books(fresh(1, 5, 0).questions, shelf.story("lantern"), 0)


# What comes of it


def test_the_interval_is_wilsons() -> None:
    z2 = 1.959964**2  # by hand: with none right, 0 to z²/(n + z²)
    assert wilson(0, 20) == pytest.approx([0, z2 / (20 + z2)], abs=1e-6)
    centre, half = (12 + z2 / 2) / (20 + z2), (z2 * (12 * 8 / 20 + z2 / 4)) ** 0.5 / (20 + z2)
    assert wilson(12, 20) == pytest.approx([centre - half, centre + half], abs=1e-6)


def test_every_skill_is_told_with_its_interval_and_errors(probe: Probe) -> None:
    result = probe(*QUICK)
    assert [one["task"] for one in result["skills"]] == result["tasks"] == [1, 6]
    assert result["questions"] == 20
    for one in result["skills"]:
        right = one["right"].count("1")
        assert (one["questions"], len(one["right"])) == (10, 10)
        assert one["accuracy"] == right / 10
        assert one["interval"] == wilson(right, 10)
        assert len(one["errors"]) == min(2, 10 - right)
        for error in one["errors"]:
            assert error["question"].endswith("?")
            assert error["facts"]
            assert error["wanted"] not in error["got"].split()
    assert result["skills"][1]["right"] == "0" * 10  # overlap quotes the story, which says neither yes nor no
    assert result["accuracy"] == result["skills"][0]["accuracy"] / 2
    assert result["answered_by"] == ["overlap"]
    assert result["baseline"] is None


def test_results_and_plot_are_kept_where_they_are_told_to_be(probe: Probe, tmp_path: Path) -> None:
    kept = [probe(*QUICK), probe(*QUICK, "--out", "here/there")]
    [folder] = (tmp_path / "runs").iterdir()
    for result, out in zip(kept, (folder, tmp_path / "here" / "there"), strict=True):
        assert json.loads((out / "probe.json").read_text("utf-8")) == result
        assert (out / "skills.png").read_bytes().startswith(b"\x89PNG")
    assert kept[0] == kept[1]


def test_people_see_a_line_per_skill(probe: Probe, capsys: pytest.CaptureFixture[str]) -> None:
    [first, _] = probe(*QUICK)["skills"]
    assert run(["probe", *QUICK]) == 0
    out = capsys.readouterr().out
    low, high = first["interval"]
    [line] = [line for line in out.splitlines() if "1 single-supporting-fact" in line]
    assert f"{first['accuracy']:.2f}" in line
    assert f"{low:.2f} to {high:.2f}" in line
    error = first["errors"][0]
    assert f"{error['wanted']}: {error['got'][:5]}" in line
    assert "6 yes-no-questions" in out


@pytest.mark.shipped
def test_facts_inside_a_book_are_found_and_read_be_it_a_file_or_indexed(
    probe: Probe, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "weigher.txt").write_text(SAMPLE.text[:15_000], "utf-8")
    asked = ("--reader", "overlap", "--task", "1", "--per-task", "20", "--retriever", "bm25")
    result = probe(*asked, "--inside", "weigher.txt")
    assert (result["inside"], result["retriever"], result["k"]) == ("weigher", "bm25", 5)
    assert "1" in result["skills"][0]["right"]
    monkeypatch.setenv("STORYQA_STORE", str(tmp_path / "store"))
    assert run(["index", "weigher.txt"]) == 0
    capsys.readouterr()
    (tmp_path / "weigher.txt").unlink()
    assert probe(*asked, "--inside", "weigher") == result


@pytest.mark.shipped
@pytest.mark.parametrize("reader", ["span", "auto"])
def test_shipped_readers_name_what_facts_say_and_cannot_say_yes_or_no(probe: Probe, reader: str) -> None:
    places, verdicts = probe("--reader", reader, "--tasks", "4,6", "--per-task", "6")["skills"]
    assert "1" in places["right"]
    assert verdicts["right"] == "000000"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--task", "21"), "there is no task 21; choose from 1 to 20"),
        (("--tasks", "3-1"), "there is no task 3-1"),
        (("--tasks", "one"), "'one' names no tasks"),
        (("--per-task", "0"), "wanted 1 or more"),
        (("--reader", "overlab"), "did you mean 'overlap'"),
        (("--reader", "memn2n@self"), "fills blanks"),
        (("--reader", "span:no/such/model"), "no/such/model"),
        (("--inside", "no-such-book"), "no-such-book"),
        (("--inside", "x", "--retriever", "bm52"), "did you mean 'bm25'"),
        (("--inside", "x", "-k", "0"), "k is 0"),
        (("-k", "3"), "leave --retriever and -k out"),
        (("--reader", "overlap", "--url", "http://127.0.0.1:9"), "wanted one of them"),
        (("--url", "http://127.0.0.1:9"), "is storyqa serve running?"),
        (("--url", "127.0.0.1"), "'http://' or 'https://'"),
        (("--baseline", "no-such-file.json"), "is no result of a probe"),
    ],
)
def test_what_cannot_be_asked_is_one_line_and_exit_code_2(
    probe: Probe, arguments: tuple[str, ...], said: str
) -> None:
    few = () if {"--task", "--tasks"} & set(arguments) else ("--task", "1")
    assert said in probe(*arguments, *few, code=2)

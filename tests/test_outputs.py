"""The places that --out and a default folder name: refused before anything is asked, and told as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import folktales
import pytest

from evaluation.sample import sample_story
from service.cli import run
from text.errors import StoryQAError
from text.output_files import check_file, make_folder

PLAIN, BLANK = "What was the goose called?", "____ fell asleep on the moon."

by_command = pytest.mark.parametrize(
    "command",
    [
        ["natural", "--data", "nowhere"],
        ["facts", "--data", "nowhere", "--stories", "nowhere"],
        ["unanswerable", "--benchmark", "fairytaleqa", "--data", "nowhere"],
    ],
    ids=lambda command: str(command[0]),
)


@pytest.fixture(autouse=True)
def _no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """METEOR takes half a minute to start; it has its own tests."""
    monkeypatch.setenv("PATH", "")


def squad(path: Path, *questions: str) -> Path:
    """A paragraph with the questions, all answered by the same word; returns the file."""
    context = " ".join(folktales.GOOSE)
    answers = [{"text": "Osk", "answer_start": context.index("Osk")}]
    asked = [{"id": str(n), "question": text, "answers": answers} for n, text in enumerate(questions)]
    article = {"title": "goose", "paragraphs": [{"context": context, "qas": asked}] if asked else []}
    path.write_text(json.dumps({"data": [article]}), "utf-8")
    return path


@by_command
def test_a_folder_where_a_file_is_wanted_is_refused_before_the_data_are_read(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["evaluate", *command, "--out", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"storyqa: {tmp_path} cannot be written (Is a directory); give another --out\n"
    )


@by_command
def test_who_cannot_be_asked_is_told_before_the_data_are_read(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    for option, given, said in (
        ("--reader", "overlab", "unknown reader 'overlab' (did you mean 'overlap'?)"),
        ("--retriever", "bm52", "unknown retriever 'bm52' (did you mean 'bm25'?)"),
        ("--extractor", "rnn", "unknown reader 'rnn'") if command[0] == "facts" else ("-k", "0", "k is 0"),
    ):
        assert run(["evaluate", *command, option, given]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["cloze"],
        ["cloze", "--format", "cbt"],
        ["evaluate", "unanswerable", "--benchmark", "fairytaleqa", "--data"],
        ["evaluate", "natural", "--data"],
        ["evaluate", "facts", "--stories", "nowhere", "--data"],
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_overwritten(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read = tmp_path / "read.txt"
    text = sample_story().read_text("utf-8")
    read.write_text(text, "utf-8")
    assert run([*command, str(read), "--out", str(read)]) == 2
    assert "is read, and would be overwritten; give another --out" in capsys.readouterr().err
    assert read.read_text("utf-8") == text


def test_a_file_that_can_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    kept, new = tmp_path / "kept.json", tmp_path / "made" / "new.json"
    kept.write_text("before", "utf-8")
    check_file(kept)
    check_file(new)
    assert kept.read_text("utf-8") == "before"
    assert new.parent.is_dir()
    assert not new.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_is_shut_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        for check in (make_folder, check_file):
            with pytest.raises(StoryQAError, match="Permission denied"):
                check(tmp_path / "new")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("under", ["", "below"])
def test_a_file_where_a_folder_is_wanted_is_one_line(
    under: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = squad(tmp_path / "set.json", PLAIN)
    out = data / under if under else data
    commands = (
        ["evaluate", "squad", "--data", str(data), "--reader", "overlap"],
        ["probe", "--reader", "overlap", "--tasks", "1", "--per-task", "1"],
        ["worlds", "--task", "1", "--questions", "1"],
        ["cloze", str(sample_story()), "--class", "V", "--count", "1", "--format", "cbt"],
    )
    for command in commands[: None if under else 3]:  # a file to be written may be there
        assert run([*command, "--out", str(out)]) == 2, command
        error = capsys.readouterr().err
        assert "cannot be written" in error, command
        assert "give another --out" in error
        assert error.count("\n") == 1


def test_where_things_are_is_told_as_it_is_spelled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    data = squad(tmp_path / "set[final].json", PLAIN)
    assert run(["evaluate", "squad", "--data", str(data), "--reader", "overlap", "--out", "o[/b]"]) == 0
    printed = capsys.readouterr().out
    assert "predictions, scores and plots: o[/b]\n" in printed
    assert "squad set[final], paragraphs" in printed


def test_a_file_without_a_question_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = squad(tmp_path / "set.json")
    assert run(["evaluate", "squad", "--data", str(data), "--out", str(tmp_path / "out")]) == 2
    assert f"{data} holds no question; expected there: a SQuAD v1.1 file" in capsys.readouterr().err


@pytest.mark.shipped
def test_what_fills_blanks_is_not_asked_the_questions_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out = squad(tmp_path / "set.json", BLANK, PLAIN), tmp_path / "out"
    assert run(["evaluate", "squad", "--data", str(data), "--json", "--out", str(out)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["questions"] == 2
    assert result["reader"].startswith("auto")


def test_questions_of_other_books_have_a_folder_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STORYQA_CACHE", str(tmp_path / "cache"))
    story = sample_story().read_text("utf-8")
    for name, size in (("one.txt", 5000), ("other.txt", 6000)):
        Path(name).write_text(story[:size], "utf-8")
        command = ["evaluate", "cloze", "--book", name, "--setting", "V", "--count", "2", "--given"]
        assert run([*command, "--reader", "cloze-frequency"]) == 0
    assert len(list(Path("runs").iterdir())) == 2

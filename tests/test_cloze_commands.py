"""``storyqa train cbt`` and ``cnn`` on books, from the command line to a reader that is evaluated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from evaluation.sample import sample_story
from readers import open_reader
from readers.reading import Reading
from service.cli import run

pytestmark = pytest.mark.training
LIST = "file\ttitle\tsplit\none.txt\tThe weigher\ttrain\nother.txt\tThe weigher again\tvalid\n"
SMALL = ("--epochs", "2", "--width", "6", "--words", "300")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two halves of the sample story, one to train on and one to choose by."""
    folder = tmp_path_factory.mktemp("books")
    text = sample_story().read_text("utf-8")
    (folder / "one.txt").write_text(text[:30_000], "utf-8")
    (folder / "other.txt").write_text(text[30_000:50_000], "utf-8")
    (folder / "books.tsv").write_text(LIST, "utf-8")
    return folder


@pytest.mark.parametrize(
    ("data_set", "system", "options", "opened"),
    [
        ("cbt", "memn2n@self", ("--count", "30", "--unknown", "0.1", "--int8"), "memn2n:{}@self"),
        ("cbt", "memn2n@sentence", ("--count", "30"), "memn2n:{}@sentence"),
        ("cbt", "lstm-lm", ("--count", "30", "--hidden", "6"), "lstm-lm:{}@query"),
        ("cnn", "attentive", ("--setting", "books", "--count", "30", "--hidden", "6"), "attentive:{}"),
        ("cnn", "memn2n@self", ("--setting", "books", "--count", "30"), "memn2n:{}"),
    ],
)
def test_the_command_leaves_a_reader_a_card_and_a_curve(
    data_set: str,
    system: str,
    options: tuple[str, ...],
    opened: str,
    books: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    arguments = ["train", data_set, "--system", system, "--data", str(books), "--out", str(tmp_path)]
    assert run([*arguments, *SMALL, *options, "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    (weights,) = map(Path, outcome["weights"])
    assert 0 <= outcome["held_out"]["accuracy"] <= 1
    card = weights.with_suffix(".md").read_text("utf-8")
    assert f'"system": "{system}"' in card
    assert str(tmp_path) not in card
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    reader = open_reader(opened.format(tmp_path))
    assert reader.trained_on
    assert reader.version
    asked = Reading("Nobody saw XXXXX .", ("The judge saw the goose .",), candidates=("judge", "goose"))
    assert {answer.text for answer in reader.read([asked], 2)[0]} == {"judge", "goose"}
    assert run([*arguments, *SMALL, *options, "--resume"]) == 0
    capsys.readouterr()
    assert run([*arguments, *SMALL, *options]) != 0
    assert "--resume" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("data_set", "options"),
    [
        ("cbt", ("--system", "memn2n@self", "--count", "5")),
        ("cbt", ("--system", "kneser-ney")),
        ("cnn", ("--system", "attentive", "--setting", "books", "--count", "5")),
    ],
)
def test_texts_of_no_named_split_are_not_learnt_and_chosen_by_at_once(
    data_set: str,
    options: tuple[str, ...],
    books: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    for name in ("one.txt", "other.txt"):
        (data / name).write_bytes((books / name).read_bytes())
    assert run(["train", data_set, "--data", str(data), "--out", str(out), *options]) == 2
    error = capsys.readouterr().err
    assert "the train and the valid split have" in error
    assert "a *.tsv with a column split" in error


def test_an_unknown_system_is_refused_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "cbt", "--system", "atentive", "--data", str(tmp_path), "--out", str(tmp_path)]) == 2
    assert "did you mean 'attentive'" in capsys.readouterr().err

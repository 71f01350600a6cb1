"""``storyqa reproduce cbt`` and ``cnn``: tables by kind of question, models in folders, what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

from evaluation.benchmarks.cbt import load, running_text
from evaluation.own_models import OwnModels, own_weights
from evaluation.published.figures import Ours, published
from evaluation.sample import sample_story
from service.cli import run

NAMES = ("Maud", "Osk", "Orla", "Wilm", "Dorrit", "Bess", "Hale", "Tove", "Ragna", "Ulf")
KINDS = ("NE", "CN", "V", "P")


def question(asked: str, answer: str) -> str:
    """One question in the publisher's layout; every sentence before it names one of ten people."""
    lines = [f"{n + 1} {NAMES[n % 10]} saw {NAMES[(n * 3 + 1) % 10]} at the mill ." for n in range(20)]
    return "\n".join([*lines, f"21 {asked}\t{answer}\t\t{'|'.join(sorted(NAMES))}"]) + "\n\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three questions a class for train and valid, in the publisher's layout."""
    folder = tmp_path_factory.mktemp("cbt")
    asked = [
        ("XXXXX saw Osk at the mill .", "Maud"),
        ("Orla saw XXXXX .", "Hale"),
        ("So XXXXX slept .", "Osk"),
    ]
    text = "".join(question(*one) for one in asked)
    for kind in KINDS:
        for split in ("train", "valid_2000ex"):
            (folder / f"cbtest_{kind}_{split}.txt").write_text(text, "utf-8")
    return folder


@pytest.fixture(scope="module")
def own(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a folder of each system that only counts."""
    folder = tmp_path_factory.mktemp("own")
    for out, system in (("a", "cloze-frequency@corpus"), ("b", "kneser-ney")):
        assert run(["train", "cbt", "--system", system, "--data", str(data), "--out", str(folder / out)]) == 0
    return folder


def reproduced(paper: str, table: int, data: Path, out: Path, capsys: Any, *options: str) -> dict[str, Any]:
    places = ("--data", str(data), "--out", str(out), "--store", str(out / "store"))
    assert run(["reproduce", paper, "--table", str(table), *places, *options, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found | {"rows": {row["system"]: row for row in found["rows"]}}


def test_rows_have_a_score_and_an_interval_for_each_kind_of_question(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = reproduced("cbt", 2, data, tmp_path, capsys, "--row", "context)", "--row", "distance")["rows"]
    distance = rows["Word distance model"]
    assert distance["scores"].keys() == distance["intervals"].keys() == set(KINDS)
    assert distance["scores"]["NE"] in (1 / 3, 2 / 3, 1)
    low, high = distance["intervals"]["V"]
    assert low <= distance["scores"]["V"] <= high
    assert distance["paper"] == {"NE": 0.436, "CN": 0.371, "V": 0.332, "P": 0.259}
    assert distance["reader"] == "cloze-distance@m=5,within"
    assert {row["questions"] for row in rows.values() if row["status"] == "measured"} == {12}


def test_what_people_answered_is_printed_and_not_measured(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["reproduce", "cbt", "--table", "2", "--data", str(data), "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "not measured: people answered it" in printed
    assert "43.60" in printed
    assert "ours, 12 questions" in printed
    human = reproduced("cbt", 2, data, tmp_path, capsys, "--row", "humans (query")["rows"]["Humans (query)"]
    assert (human["status"], human["scores"]) == ("missing", {})


def test_a_row_without_its_model_says_how_to_train_it(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = reproduced("cbt", 2, data, tmp_path, capsys, "--row", "kneser", "--row", "lstms")["rows"]
    assert {row["status"] for row in rows.values()} == {"missing"}
    assert {name: row["missing"].split(" --data")[0] for name, row in rows.items()} == {
        "Kneser-Ney language model": "train it: storyqa train cbt --system kneser-ney",
        "Kneser-Ney language model + cache": "train it: storyqa train cbt --system kneser-ney",
        "LSTMs (query)": "train it: storyqa train cbt --system lstm-lm",
        "LSTMs (context+query)": "train it: storyqa train cbt --system lstm-lm",
        "Contextual LSTMs (window context)": "train it: storyqa train cbt --system contextual-lstm",
    }


@pytest.mark.parametrize("folder", ["", "b"])
def test_models_are_found_in_the_folder_and_in_those_in_it(
    data: Path, own: Path, tmp_path: Path, folder: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--row", "kneser", "--models", str(own / folder))
    rows = reproduced("cbt", 2, data, tmp_path, capsys, *options)["rows"]
    plain, cached = rows["Kneser-Ney language model"], rows["Kneser-Ney language model + cache"]
    assert plain["status"] == cached["status"] == "measured"
    assert plain["trained_on"].startswith("Children's Book Test train (")
    assert f"--reader kneser-ney:{own / 'b'}@cache" in cached["command"]


def test_an_ensemble_wants_several_folders_of_one_system(tmp_path: Path) -> None:
    ours = Ours(reader="memn2n@self,hard", setting="articles", system="memn2n@self", ensemble=True)
    alone = ours.model_copy(update={"ensemble": False})
    for name in ("one", "two"):
        assert own_weights([tmp_path], ours) is None
        (tmp_path / name).mkdir()
        (tmp_path / name / "memn2n-self.safetensors").touch()
    assert own_weights([tmp_path], ours) == tmp_path
    assert own_weights([tmp_path], alone) == tmp_path / "one"
    assert own_weights([tmp_path / "one"], ours) is None


def test_the_numbers_of_a_model_are_counted_where_it_is_found(tmp_path: Path) -> None:
    tables = published("wikireading")
    assert tables is not None
    ours = Ours(reader="rnn-labeler", setting="all", trained=True)
    models = OwnModels(tables, tmp_path, (tmp_path,), tmp_path / "none")
    (tmp_path / "a").mkdir()
    arrays = {"words": np.zeros((7, 3), np.float32), "bias": np.zeros(3, np.float32)}
    save_file(arrays, tmp_path / "a" / "rnn-labeler.safetensors")
    assert models.parameters(ours) == 7 * 3 + 3
    assert models.parameters(ours.model_copy(update={"trained": False})) is None
    assert models.command(ours, "DIR")[:2] == ["train", "rnn-labeler"]


def test_the_command_of_a_row_gives_the_same_accuracy(
    data: Path, own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--row", "corpus", "--models", str(own))
    [row] = reproduced("cbt", 2, data, tmp_path / "a", capsys, *options)["rows"].values()
    storyqa, *command = row["command"].split()
    assert storyqa == "storyqa"
    assert run([*command, "--out", str(tmp_path / "b"), "--json"]) == 0
    by_kind = json.loads(capsys.readouterr().out)["by_kind"]
    assert {kind: of_one["accuracy"] for kind, of_one in by_kind.items()} == pytest.approx(row["scores"])


def test_the_command_of_a_row_makes_the_same_questions_of_books(
    books: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--row", "distance", "--seed", "3")
    [row] = reproduced("cbt", 2, books, tmp_path / "a", capsys, *options)["rows"].values()
    assert row["command"].endswith("--seed 3")
    assert run([*row["command"].split()[1:], "--out", str(tmp_path / "b"), "--json"]) == 0
    predictions = [
        (tmp_path / folder / "predictions.jsonl").read_bytes() for folder in ("a/word-distance-model", "b")
    ]
    assert predictions[0] == predictions[1]


def test_the_text_to_count_in_has_every_sentence_once_with_its_blank_filled(data: Path) -> None:
    sentences = [sentence for _, sentence in running_text(data)]
    assert len(sentences) == len(set(sentences))
    assert "Maud saw Osk at the mill ." in sentences
    assert "So Osk slept ." in sentences
    assert not any("XXXXX" in sentence for sentence in sentences)


def test_of_books_all_their_sentences_are_counted_in(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("Maud came. Osk slept.\n\nMaud came. She sang!", "utf-8")
    assert list(running_text(tmp_path)) == [
        ("one", "Maud came."),
        ("one", "Osk slept."),
        ("one", "Maud came."),
        ("one", "She sang!"),
    ]


def test_counting_leaves_a_card_and_the_arpa_file_where_it_is_wanted(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = [
        "train",
        "cbt",
        "--system",
        "kneser-ney",
        "--data",
        str(data),
        "--out",
        str(tmp_path),
        "--arpa",
    ]
    assert run([*command, "--json"]) == 0
    outcome = json.loads(capsys.readouterr().out)
    assert [Path(path).name for path in outcome["weights"]] == ["kneser-ney.safetensors", "kneser-ney.arpa"]
    card = (tmp_path / "kneser-ney.md").read_text("utf-8")
    assert "Chen and Goodman 1998" in card
    assert "on the 12 questions of the valid split" in card
    assert len(load(data).questions) == 12


def test_counting_needs_the_running_text_of_cbt(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["train", "cnn", "--system", "kneser-ney", "--data", str(data), "--out", str(tmp_path)]) == 2
    assert "kneser-ney is counted in running text: wanted storyqa train cbt" in capsys.readouterr().err


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("books")
    (folder / "weigher.txt").write_text(sample_story().read_text("utf-8")[:20_000], "utf-8")
    return folder


def test_without_the_official_data_cnn_rows_say_so_and_are_measured_on_books(
    books: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--row", "frequency", "--row", "distance", "--row", "attentive", "--limit", "20")
    rows = reproduced("cnn", 5, books, tmp_path, capsys, *options)["rows"]
    frequency = rows["Maximum frequency"]
    assert frequency["missing"].startswith("needs the official data: ")
    assert (frequency["status"], frequency["scores"].keys()) == ("measured", {"books"})
    assert frequency["paper"] == {"CNN": 0.305, "DM": 0.256, "books": None}
    assert "--setting books" in frequency["command"]
    assert {row["questions"] for row in rows.values() if row["status"] == "measured"} == {20}
    assert rows["Attentive Reader"]["missing"].startswith("train it: storyqa train cnn --system attentive")


def test_where_articles_are_not_the_official_ones_cnn_rows_are_measured_and_say_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "Mary Turner left London for Paris on Monday. In Paris she met Peter Brown. Brown knew London."
    row = {"id": "one", "text": text, "highlights": ["Mary Turner met Peter Brown in Paris."]}
    (tmp_path / "valid.jsonl").write_text(json.dumps(row) + "\n", "utf-8")
    rows = reproduced("cnn", 3, tmp_path, tmp_path / "out", capsys, "--row", "maximum")["rows"]
    [measured] = rows.values()
    assert measured["missing"].startswith("needs the official data: made by the rule")
    assert measured["scores"].keys() == {"CNN"}


def test_a_folder_with_nothing_to_ask_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for paper, table in (("cbt", "2"), ("cnn", "5")):
        arguments = [
            "reproduce",
            paper,
            "--table",
            table,
            "--data",
            str(tmp_path),
            "--out",
            str(tmp_path / "o"),
        ]
        assert run(arguments) == 2
        assert "expected there" in capsys.readouterr().err

"""The recipe of the shipped models: from data sets to a reader that answers, stopped and gone on with."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import folktales
import pytest
import tiny_models

from encoders.adapters import file_hash
from encoders.backbone import BACKBONES, MINILM, MPNET, load_tokenizer
from encoders.bi_encoder import load_encoder
from encoders.sizes import weights_folder
from readers import open_reader
from readers.reading import Reading
from service.cli import run
from training.corpora.loading import load_corpus
from training.objectives import OBJECTIVES
from training.objectives.recipe import DONE, STEPS, TOGETHER

pytestmark = pytest.mark.training


@pytest.fixture
def large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tiny model in the place of mpnet, which knows the words of minilm."""
    words = sorted(load_tokenizer(MINILM).get_vocab())
    weights = tiny_models.save_mpnet(tmp_path / "models" / "mpnet", words) / "model.safetensors"
    monkeypatch.setenv("STORYQA_MODELS", str(tmp_path / "models"))
    monkeypatch.setitem(BACKBONES, "mpnet", replace(MPNET, sha256=file_hash(weights), width=32))


@pytest.fixture
def writer(large: None, tmp_path: Path) -> Iterator[None]:
    """A tiny language model in the place of smollm2, beside the large one."""
    with tiny_models.writer_installed(tmp_path / "models"):
        yield


def test_every_step_is_an_objective_and_uses_only_steps_before_it() -> None:
    objectives = {(spec.where, spec.settings) for spec in OBJECTIVES.values()}
    for number, step in enumerate(STEPS):
        assert (step.train, step.settings_class) in objectives
        folders = [*step.folders.values(), *step.together.values()]
        named = [names if not isinstance(names, str) else [names] for names in folders]
        assert {name for names in named for name in names} <= {earlier.name for earlier in STEPS[:number]}


@pytest.mark.usefixtures("large")
def test_without_a_language_model_its_steps_are_left_out_and_that_is_said_at_the_beginning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    data = folktales.write_many_tales(tmp_path / "data", "train", stories=12)
    arguments = ["train", "recipe", "--data", str(data), "--out", str(tmp_path / "out"), "--minutes", "0"]
    assert run([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["paused_in"] == "large-13"
    assert report["left_out"].keys() == {"writer", "writer-selector"}
    assert "storyqa models fetch smollm2 --from FOLDER" in report["left_out"]["writer"]
    assert "the step writer will be left out" in caplog.text


def test_a_share_of_a_corpus_has_some_of_each_kind_and_is_the_same_each_time(tmp_path: Path) -> None:
    corpus = load_corpus([folktales.write_fairytaleqa(tmp_path, "train")])
    part = corpus.part(0.5)
    assert part == corpus.part(0.5)
    assert {document.kind for document in part.train} == {document.kind for document in corpus.train}
    assert 0 < len(part.train) < len(corpus.train)
    assert set(part.train) < set(corpus.train)


def test_a_finished_run_is_gathered_from_wherever_it_lies_by_now(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "moved"
    for step in STEPS:
        (out / step.name).mkdir(parents=True)
        (out / step.name / f"{step.name}.weights").touch()
        report = {"weights": [f"as/typed/{step.name}/{step.name}.weights"]}
        (out / step.name / DONE).write_text(json.dumps(report), "utf-8")
    arguments = ["train", "recipe", "--data", str(tmp_path), "--out", str(out), "--resume"]
    assert run(arguments) == 0
    for folder, names in TOGETHER.items():
        gathered = {path.stem for path in (out / folder).glob("*.weights")}
        assert {name for name in names if not name.startswith("writer")} <= gathered
    (out / "feelings" / "feelings.weights").unlink()
    assert run(arguments) == 2
    assert "feelings.weights is missing; delete" in capsys.readouterr().err


def test_time_is_looked_at_between_steps_too_and_none_is_begun_when_it_is_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = folktales.write_many_tales(tmp_path / "data", "train", stories=12, felt=True)
    out = tmp_path / "out"
    left = {"ranges", "feelings", "selector"}
    for step in STEPS:
        (out / step.name).mkdir(parents=True)
        if step.name not in left:
            (out / step.name / DONE).write_text(json.dumps({"weights": []}), "utf-8")
    shipped = [weights_folder(f"{room}.weights", None) for room in ("encoders", "readers")]
    weights = [shipped[0] / "span.safetensors", shipped[1] / "generate.safetensors"]
    for path in weights:
        shutil.copyfile(path, out / "generator" / path.name)
    report = {"weights": [path.name for path in weights]}
    (out / "generator" / DONE).write_text(json.dumps(report), "utf-8")
    arguments = ["train", "recipe", "--data", str(data), "--out", str(out), "--json", "--minutes", "0"]
    paused: list[str | None] = []
    while not paused or paused[-1] is not None:
        before = {name for name in left if (out / name / DONE).is_file()}
        assert run([*arguments, "--resume"]) == 0
        paused.append(json.loads(capsys.readouterr().out)["paused_in"])
        after = {name for name in left if (out / name / DONE).is_file()}
        assert len(after) <= len(before) + 1
    # The selector's time ends within it, too, when what it searches is indexed.
    assert paused == ["feelings", "selector", "selector", None]
    assert (out / "judge.md").is_file()


@pytest.mark.usefixtures("writer")
def test_it_can_be_stopped_and_leaves_a_reader_that_answers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = folktales.write_many_tales(tmp_path / "data", "train", stories=12, felt=True)
    out = tmp_path / "out"
    arguments = ["train", "recipe", "--data", str(data), "--out", str(out), "--share", "0.6", "--json"]
    assert run([*arguments, "--minutes", "0"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "steps": {},
        "paused_in": "large-13",
        "left_out": {},
    }
    assert run(arguments) == 2
    assert "--resume" in capsys.readouterr().err
    assert run([*arguments, "--resume", "--share", "1"]) == 2
    assert "another share" in capsys.readouterr().err
    assert run([*arguments, "--resume"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["paused_in"] is None
    assert list(report["steps"]) == [step.name for step in STEPS]
    for student in ("student-21", "student-22"):
        taught = (out / student / "span.md").read_text()
        assert file_hash(out / "large" / "span.safetensors") in taught
    for retriever in ("retriever", "retriever-large"):
        assert (out / retriever / "dense.ranges.safetensors").is_file()
        assert load_encoder(str(out / retriever)).encode(folktales.GOOSE).shape[0] == len(folktales.GOOSE)
    [[answer]] = open_reader(f"auto:{out}").read([Reading("What was the goose called?", folktales.GOOSE)])
    assert answer.text
    large = open_reader(f"auto:{out / 'large-reader'}")
    [[answer]] = large.read([Reading("What was the goose called?", folktales.GOOSE)])
    assert answer.text
    assert large.version is not None
    assert large.version.startswith(file_hash(out / "large" / "span.safetensors")[:12])
    assert large.version.endswith(file_hash(out / "large-feelings" / "feelings.safetensors")[:12])
    [written] = open_reader(f"write:{out / 'writer'}").read([Reading("Who?", folktales.GOOSE)])
    assert len(written) <= 1
    both = open_reader(f"auto-write:{out}")
    [[answer]] = both.read([Reading("What was the goose called?", folktales.GOOSE)])
    assert answer.text
    assert both.version is not None
    assert file_hash(out / "writer" / "write.safetensors")[:12] in both.version
    # All that the help names is there.
    named = re.findall(r"([\w-]+):DIR(/[\w-]+)?(?=, )", OBJECTIVES["recipe"].used_as)
    assert {(reader, folder) for reader, folder in named} >= {("auto", ""), ("auto", "/large-reader")}
    for reader, folder in named:
        open_reader(f"{reader}:{out}{folder}")
    for folder in re.findall(r"DIR/(retriever[\w-]*)", OBJECTIVES["recipe"].used_as):
        load_encoder(str(out / folder))
    # Nothing is trained a second time.
    before = (out / "generator" / "generate.safetensors").stat().st_mtime_ns
    assert run([*arguments, "--resume"]) == 0
    assert (out / "generator" / "generate.safetensors").stat().st_mtime_ns == before

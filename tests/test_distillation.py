"""Learning from a teacher: what it says of a student's windows, and that the student comes nearer to it."""

from __future__ import annotations

import math
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import folktales
import pytest
import tiny_models
import torch

from encoders.adapters import Weights, file_hash, load_weights
from encoders.backbone import BACKBONES, MINILM, MPNET, Backbone, load_tokenizer
from encoders.cross_encoder import WEIGHTS, load_crossencoder
from encoders.errors import ModelError
from encoders.vocabularies import translation
from encoders.windows import Windower
from readers import open_reader
from readers.default.generate import GenerateReader
from readers.reading import Reading
from service.cli import run
from training.corpora.corpus import Corpus
from training.corpora.loading import load_corpus
from training.export import save_weights
from training.objectives.cross_encoder import CrossEncoderTask
from training.objectives.cross_encoder_batches import context_mask
from training.objectives.cross_encoder_losses import divergence, relevance_divergence
from training.objectives.cross_encoder_settings import CrossEncoderSettings
from training.teacher import STORE, Teacher
from training.trainer import Trainer

QUESTION = "What was the goose called?"
ASKED = [(QUESTION, folktales.GOOSE[:2]), ("Who?", ["Osk slept by the Zürich road; it cost 3€."])]
SETTINGS = CrossEncoderSettings(fairytales=4, chunk=7, batch_tokens=800, rate=3e-4, generate_weight=0.0)


def _save_teacher(folder: Path, backbone: Backbone) -> Path:
    """A cross-encoder with heads that prefer some tokens to others."""
    torch.manual_seed(5)
    head = {"head.weight": torch.randn(3, backbone.width), "head.bias": torch.zeros(3)}
    save_weights(Weights(backbone, head), folder / WEIGHTS, {})
    return folder


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A teacher beside the student's own backbone."""
    return _save_teacher(tmp_path_factory.mktemp("alike"), MINILM)


@pytest.fixture(scope="module")
def larger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A teacher beside a tiny model in the place of mpnet, which knows the words of minilm."""
    folder = tmp_path_factory.mktemp("models")
    words = sorted(load_tokenizer(MINILM).get_vocab())
    weights = tiny_models.save_mpnet(folder / "mpnet", words) / "model.safetensors"
    tiny = replace(MPNET, sha256=file_hash(weights), width=32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORYQA_MODELS", str(folder))
        patch.setitem(BACKBONES, "mpnet", tiny)
        yield _save_teacher(tmp_path_factory.mktemp("larger"), tiny)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folktales.write_fairytaleqa(tmp_path_factory.mktemp("data"), "train")


@pytest.fixture(scope="module")
def corpus(data: Path) -> Corpus:
    return load_corpus([data])


def test_the_divergence_is_the_one_counted_by_hand() -> None:
    # Over both windows of an example: the teacher 1/2 and 1/2, the student 1/4 and 3/4; a second one agrees.
    own = torch.tensor([[1.0], [3.0], [1.0]]).log()
    teacher = torch.tensor([[2.0], [2.0], [7.0]]).log()
    rows = [slice(0, 2), slice(2, 3)]
    expected = 0.5 * math.log(0.5 / 0.25) + 0.5 * math.log(0.5 / 0.75)
    assert divergence(own, teacher, rows).item() == pytest.approx(expected / 2)


def test_the_divergence_of_relevance_counts_that_nothing_answers() -> None:
    # Nothing has odds of 1: the teacher gives it 1/4, the student 1/2.
    own, teacher = torch.tensor([1.0]).log(), torch.tensor([3.0]).log()
    expected = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
    assert relevance_divergence(own, teacher, [slice(0, 1)]).item() == pytest.approx(expected)


@pytest.mark.parametrize("name", ["alike", "larger"])
def test_a_teacher_says_of_a_students_window_what_it_says_of_the_question_and_the_passage(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(name)
    windows = [window for found in Windower(load_tokenizer(MINILM))(ASKED) for window in found]
    lessons = Teacher(folder, MINILM, tmp_path).lessons(windows)
    read = [
        window
        for passages in load_crossencoder(str(folder)).encode(ASKED)
        for passage in passages
        for window in passage.windows
    ]
    assert len(lessons) == len(read) == 3
    for lesson, own in zip(lessons, read, strict=True):
        torch.testing.assert_close(lesson.start, own.start, atol=2e-2, rtol=2e-3)
        torch.testing.assert_close(lesson.end, own.end, atol=2e-2, rtol=2e-3)
        assert lesson.relevance == pytest.approx(own.relevance, abs=2e-2)


@pytest.mark.parametrize("name", ["alike", "larger"])
def test_a_teacher_that_keeps_nothing_says_the_same_at_the_same_places(
    name: str, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_RUNTIME", "torch")
    folder = request.getfixturevalue(name)
    windows = [window for found in Windower(load_tokenizer(MINILM))(ASKED) for window in found]
    tokens, device = max(len(window.ids) for window in windows) + 3, torch.device("cpu")
    kept, new = (Teacher(folder, MINILM, at).taught(windows, tokens, device) for at in (tmp_path, None))
    context = context_mask(windows, torch.zeros(len(windows), tokens))
    for one, other in ((kept.start, new.start), (kept.end, new.end)):
        assert one[context].std() > 0
        torch.testing.assert_close(one[context], other[context], atol=2e-2, rtol=1e-2)
    torch.testing.assert_close(kept.relevance, new.relevance, atol=2e-2, rtol=1e-2)


def test_what_a_teacher_has_said_is_kept_and_said_again(alike: Path, tmp_path: Path) -> None:
    windows = Windower(load_tokenizer(MINILM))([(QUESTION, folktales.GOOSE[:2])])[0]
    first = Teacher(alike, MINILM, tmp_path).lessons([*windows, windows[0]])
    with sqlite3.connect(tmp_path / STORE) as store:
        assert store.execute("select count(*) from lessons").fetchone() == (2,)
        # Whatever stands there is believed: nothing is read a second time.
        store.execute("update lessons set scores = zeroblob(length(scores))")
    again = Teacher(alike, MINILM, tmp_path).lessons(windows)
    assert any(lesson.start.any() for lesson in first)
    assert not any(lesson.start.any() or lesson.relevance for lesson in again)


def test_a_teacher_that_parts_text_otherwise_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = tiny_models.save_mpnet(tmp_path / "models" / "mpnet") / "model.safetensors"
    tiny = replace(MPNET, sha256=file_hash(weights), width=32, title="of few words")
    monkeypatch.setenv("STORYQA_MODELS", str(tmp_path / "models"))
    monkeypatch.setitem(BACKBONES, "mpnet", tiny)
    with pytest.raises(ModelError, match=r"wanted one that parts text into the same words"):
        Teacher(_save_teacher(tmp_path, tiny), MINILM, tmp_path)


def test_where_there_is_no_teacher_it_is_said_how_one_is_made(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"wanted the folder of a run of: storyqa train large"):
        Teacher(tmp_path, MINILM, tmp_path)


@pytest.mark.training
def test_a_student_comes_nearer_to_what_only_its_teacher_says(
    alike: Path, corpus: Corpus, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, unlabelled=1.0, teacher="any")
    task = CrossEncoderTask(settings, corpus, teacher=Teacher(alike, MINILM, tmp_path))
    batch = next(iter(task.batches(0)))
    assert not any(batch.labelled)

    def told() -> tuple[float, float]:
        with torch.no_grad():
            losses = task.losses(batch)
        assert losses["span"] == losses["relevance"] == 0  # nobody labelled them
        return losses["taught_span"].item(), losses["taught_relevance"].item()

    before = told()
    Trainer(task, tmp_path).train(validations=0)
    after = told()
    assert after[0] < before[0] / 2
    assert after[1] < before[1]


@pytest.mark.training
def test_what_answers_a_question_in_other_words_only_a_teacher_says(
    alike: Path, corpus: Corpus, tmp_path: Path
) -> None:
    asked, labelled = [], []
    for settings in (SETTINGS, replace(SETTINGS, reworded=1.0, teacher="any")):
        task = CrossEncoderTask(settings, corpus, teacher=Teacher(alike, MINILM, tmp_path))
        batches = [batch for chunk in range(task.chunks) for batch in task.batches(chunk)]
        asked.append({tuple(one.ids[1 : one.first - 1]) for batch in batches for one in batch.windows})
        labelled.append([one for batch in batches for one in batch.labelled])
        losses = task.losses(batches[0])
    assert len(asked[1] - asked[0]) > len(asked[1]) / 2
    assert all(labelled[0])
    assert not any(labelled[1])
    assert losses["span"] == losses["relevance"] == 0
    assert losses["taught_span"] > 0


@pytest.mark.training
def test_a_teacher_need_not_be_asked_where_the_data_set_marks_the_answers(
    alike: Path, data: Path, tmp_path: Path
) -> None:
    (tmp_path / "squad").mkdir()
    folktales.write_squad(tmp_path / "squad" / "train-v1.1.json")
    both = load_corpus([data, tmp_path / "squad"])
    settings = replace(SETTINGS, fairytales=1, articles=8, teacher="any", marked_alone=True)
    tell = Teacher(alike, MINILM, tmp_path)
    task = CrossEncoderTask(settings, both, teacher=tell)
    batches = [batch for chunk in range(task.chunks) for batch in task.batches(chunk)]
    marked = [one for batch in batches for one in batch.marked]
    assert any(marked)
    assert not all(marked)
    for batch in batches:
        losses = task.losses(batch)
        unmarked = [i for i, one in enumerate(batch.marked) if not one]
        if not unmarked:
            assert "taught_span" not in losses
            continue
        # What is learnt from the teacher is what it says of the others, by themselves, by their share.
        part, rows = batch.part(unmarked)
        assert [batch.windows[row] for row in rows] == part.windows
        alone = task.losses(part)
        share = len(unmarked) / len(batch.rows)
        for name in ("taught_span", "taught_relevance"):
            assert losses[name].item() == pytest.approx(share * alone[name].item(), rel=1e-2, abs=1e-4)
    unmarked_windows = {
        tuple(batch.windows[row].ids)
        for batch in batches
        for i, one in enumerate(batch.marked)
        for row in range(batch.rows[i].start, batch.rows[i].stop)
        if not one
    }
    with sqlite3.connect(tmp_path / STORE) as store:
        assert store.execute("select count(*) from lessons").fetchone() == (len(unmarked_windows),)


@pytest.mark.training
def test_the_command_tells_a_run_by_its_teacher(
    alike: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["train", "rerank", "--data", str(data), "--out", str(tmp_path / "out"), "--rank", "2"]
    taught = [*arguments, "--teacher", str(alike), "--unlabelled", "0.5", "--examples", "8"]
    assert run([*taught, "--json"]) == 0
    assert (tmp_path / "out" / STORE).is_file()
    card = (tmp_path / "out" / "span.md").read_text()
    assert file_hash(alike / WEIGHTS) in card
    assert run([*arguments, "--examples", "8", "--resume"]) == 2
    assert "was trained with" in capsys.readouterr().err


@pytest.mark.training
def test_a_decoder_can_learn_beside_another_backbone(larger: Path, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    arguments = ["--data", str(data), "--start", str(larger), "--out", str(out), "--examples", "24"]
    assert run(["train", "generate", *arguments]) == 0
    began, left = (load_weights(folder / WEIGHTS).tensors for folder in (larger, out))
    assert began.keys() == left.keys()  # the encoder is as it was
    assert all(torch.equal(began[name], left[name]) for name in began)
    reader = open_reader(f"generate:{out}")
    [[answer]] = reader.read([Reading(QUESTION, folktales.GOOSE)])
    assert answer.support is not None
    # Its words are numbered as the decoder's are: what stands in the passages is likelier than what does not.
    assert isinstance(reader, GenerateReader)
    within, without = reader.rank(Reading(QUESTION, folktales.GOOSE), [folktales.GOOSE[0][:30], "zxqj vvwk"])
    assert within > without
    alone = tmp_path / "alone"
    alone.mkdir()
    shutil.copyfile(out / "generate.safetensors", alone / "generate.safetensors")
    with pytest.raises(ModelError, match="reads the states of mpnet"):
        open_reader(f"generate:{alone}")


def test_a_token_keeps_its_word_in_another_vocabulary(larger: Path) -> None:
    assert larger.is_dir()
    small, large = load_tokenizer(MINILM), load_tokenizer(BACKBONES["mpnet"])
    there, back = translation(small, large), translation(large, small)
    text = "The goose of Brammel asked: who's there?"
    assert there[small.encode(text).ids].tolist() == large.encode(text).ids
    assert back[large.encode(text).ids].tolist() == small.encode(text).ids

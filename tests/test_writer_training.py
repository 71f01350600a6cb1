"""Training the writer: what it is taught, that it learns that, and that a stopped run can be gone on with."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import folktales
import pytest
import tiny_models
import torch
from safetensors.torch import load_file

from encoders.adapters import file_hash, load_weights, overlay
from encoders.backbone import LANGUAGE_MODELS, SMOLLM2, Backbone
from encoders.causal_lm import load_causal_lm
from encoders.errors import ModelError
from readers.default.writer import WEIGHTS, WriteReader
from readers.default.writer_prompt import REFUSAL
from readers.reading import Reading
from service.cli import run
from training.corpora.corpus import Corpus, iter_questions
from training.corpora.loading import load_corpus
from training.objectives.writer import Row, WriterSettings, WriterTask, beside_each_other, export
from training.trainer import Paused, Trainer

SETTINGS = WriterSettings(fairytales=2, articles=0, rank=4, rate=1e-2, chunk=4, batch_tokens=1_500)


@pytest.fixture(scope="module")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backbone]:
    """A tiny model in the place of smollm2."""
    with tiny_models.writer_installed(tmp_path_factory.mktemp("models")) as tiny:
        yield tiny


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """Two tales to train on, which are held out besides."""
    loaded = load_corpus([folktales.write_fairytaleqa(tmp_path_factory.mktemp("data"), "train")])
    tales = (*loaded.train, *loaded.held_out)
    return Corpus(tales, tales)


def alone(row: Row) -> Iterator[tuple[list[int], list[int]]]:
    """Each question of a row as if it were the only one: the tokens of its prompt, and its answer's."""
    for number in range(1, max(row.branches) + 1):
        places = [place for place, branch in enumerate(row.branches) if branch in (0, number)]
        prompt = [row.tokens[place] for place in places if place not in row.answers]
        yield prompt, [row.tokens[place] for place in places if place in row.answers]


def written(task: WriterTask) -> list[tuple[str, str]]:
    """The prompts and answers of a run as text."""
    _, tokenizer = load_causal_lm(task.base)
    return [
        (str(tokenizer.decode(prompt)), str(tokenizer.decode(answer)))
        for chunk in range(task.chunks)
        for batch in task.batches(chunk)
        for row in batch
        for prompt, answer in alone(row)
    ]


def test_answers_follow_their_questions_and_what_is_unanswerable_is_said_to_be(
    backbone: Backbone, corpus: Corpus
) -> None:
    references = {question.text: question.answers for _, question in iter_questions(corpus.train)}
    for elsewhere in (0.0, 1.0):
        task = WriterTask(replace(SETTINGS, fairytales=6, elsewhere=elsewhere, renamed=0.0), corpus)
        said = written(task)
        assert len(said) == 6 * len(references)
        refused = [answer == f"{REFUSAL}<|im_end|>" for _, answer in said]
        assert all(refused) if elsewhere else 0 <= sum(refused) < len(said) / 3
        for (prompt, answer), no in zip(said, refused, strict=True):
            question = prompt.partition("\n\nQuestion: ")[2].partition("<|im_end|>")[0]
            assert no or answer.removesuffix("<|im_end|>") in references[question]


def test_batches_are_the_same_each_time_and_keep_to_their_size(backbone: Backbone, corpus: Corpus) -> None:
    task = WriterTask(SETTINGS, corpus)
    for chunk in range(task.chunks):
        batches = list(task.batches(chunk))
        assert batches == list(task.batches(chunk))
        for batch in batches:
            assert len(batch) == 1 or len(batch) * max(len(row.tokens) for row in batch) <= 1_500


def test_questions_about_the_same_passages_share_them_and_none_is_lost(
    backbone: Backbone, corpus: Corpus
) -> None:
    settings = replace(SETTINGS, elsewhere=0.0, renamed=0.0, chunk=100)
    rows = [row for batch in WriterTask(settings, corpus).batches(0) for row in batch]
    shared = [row.branches.count(0) for row in rows]
    prompts = {tuple(row.tokens[:length]) for row, length in zip(rows, shared, strict=True)}
    assert len(prompts) == len(rows)
    assert any(max(row.branches) > 1 for row in rows)
    asked = list(iter_questions(corpus.train)) * 2
    assert sum(max(row.branches) for row in rows) == len(asked)
    ordered = beside_each_other(asked, most=2)
    assert Counter(question.text for _, question in ordered) == Counter(q.text for _, q in asked)


# Torch's compiler warns of what it does itself.
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.training)])
def test_the_loss_is_as_if_each_question_were_asked_alone(
    backbone: Backbone, corpus: Corpus, compiled: bool
) -> None:
    task = WriterTask(replace(SETTINGS, compiled=compiled, chunk=100), corpus)
    batch = next(one for one in task.batches(0) if len(one) > 1 and max(one[0].branches) > 1)
    model, _ = load_causal_lm(backbone)  # adapters begin as nothing
    log_probs = []
    for row in batch:
        for prompt, answer in alone(row):
            ids = torch.tensor([[*prompt, *answer]])
            with torch.no_grad():
                logits = model(input_ids=ids).logits[0].double().log_softmax(1)
            places = range(len(prompt), ids.shape[1])
            log_probs += [float(logits[place - 1, ids[0, place]]) for place in places]
    loss = float(task.losses(batch)["write"].detach())
    assert loss == pytest.approx(-sum(log_probs) / len(log_probs), rel=1e-4)


def test_every_linear_map_of_a_layer_has_adapters_and_the_real_file_stays_below_ten_megabytes(
    backbone: Backbone, corpus: Corpus
) -> None:
    task = WriterTask(SETTINGS, corpus)
    tensors = task.weights().tensors
    model, _ = load_causal_lm(backbone)
    linear = {
        f"{name}.weight" for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)
    }
    adapted = overlay(tensors, dict(model.named_parameters()))
    assert adapted.keys() == linear - {"lm_head.weight"}
    # Of SmolLM2's 30 layers, in fp16: query and output, key and value, the three maps of the block.
    sums = 2 * (576 + 576) + 2 * (576 + 192) + 3 * (576 + 1_536)
    assert 2 * 30 * WriterSettings().rank * sums < 9_900_000


@pytest.mark.training
def test_a_few_questions_are_learnt_by_heart_and_the_file_reads_as_it_was_trained(
    backbone: Backbone, corpus: Corpus, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, fairytales=80, rank=16, elsewhere=0.0, renamed=0.0, chunk=5)
    task = WriterTask(settings, corpus)
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=1)
    losses = [
        json.loads(line)["losses"]["write"] for line in (tmp_path / "log.jsonl").read_text().splitlines()
    ]
    assert losses[-1] < losses[0] / 3
    assert trainer.scores.keys() == {"write_sections", "write_refused"}
    assert trainer.scores["write_sections"] > 0.8
    [path] = export(trainer, "storyqa train write").weights
    card = path.with_suffix(".md").read_text()
    assert "SmolLM2-135M-Instruct" in card
    assert "write_sections" in card
    reader = WriteReader.load(str(tmp_path))
    [[answer]] = reader.read([Reading("What was the goose called?", folktales.GOOSE[:1])])
    assert answer.text in ("Dorrit", "her name was Dorrit", "Her name was Dorrit")
    ids = torch.tensor([next(iter(task.batches(0)))[0].tokens])
    adapted, _ = load_causal_lm(backbone, load_file(path))
    with torch.no_grad():
        trained, read = task.adapted.model(input_ids=ids).logits, adapted(input_ids=ids).logits
    assert torch.allclose(trained, read, atol=0.05 * float(trained.std()))


def test_a_run_can_go_on_with_the_adapters_of_another(
    backbone: Backbone, corpus: Corpus, tmp_path: Path
) -> None:
    first = Trainer(WriterTask(SETTINGS, corpus), tmp_path)
    first.train(validations=1)
    export(first, "storyqa train write")
    begun = load_weights(tmp_path / WEIGHTS, known=LANGUAGE_MODELS)
    again = WriterTask(SETTINGS, corpus, begun).weights().tensors
    assert again.keys() == begun.tensors.keys()
    for name, tensor in again.items():
        assert torch.equal(tensor, begun.tensors[name].float())
    with pytest.raises(ModelError, match="which this run does not train"):
        WriterTask(replace(SETTINGS, rank=8), corpus, begun)


def test_a_stopped_run_goes_on_to_the_same_weights(
    backbone: Backbone, corpus: Corpus, tmp_path: Path
) -> None:
    Trainer(WriterTask(SETTINGS, corpus), tmp_path / "whole").train(validations=1)
    with pytest.raises(Paused):
        Trainer(WriterTask(SETTINGS, corpus), tmp_path / "stopped").train(until=time.monotonic())
    again = Trainer(WriterTask(SETTINGS, corpus), tmp_path / "stopped")
    assert again.resume()
    assert again.chunk == 1
    again.train(validations=1)
    whole, stopped = (load_file(tmp_path / run / "checkpoint.safetensors") for run in ("whole", "stopped"))
    assert whole.keys() == stopped.keys()
    assert all(torch.equal(whole[name], stopped[name]) for name in whole)


@pytest.mark.training
def test_the_command_leaves_a_folder_that_the_reader_opens(
    backbone: Backbone, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = folktales.write_many_tales(tmp_path / "data", "train", stories=12)
    out = tmp_path / "out"
    arguments = ["train", "write", "--data", str(data), "--out", str(out), "--examples", "8", "--rank", "2"]
    assert run([*arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["weights"] == [str(out / WEIGHTS)]
    assert report["held_out"].keys() == {"write_sections"}
    reader = WriteReader.load(str(out))
    assert reader.version
    assert run(arguments) == 2
    assert "--resume" in capsys.readouterr().err
    arguments[5] = str(tmp_path / "further")
    assert run([*arguments, "--start", str(out), "--json"]) == 0
    assert file_hash(out / WEIGHTS) in (tmp_path / "further" / WEIGHTS).with_suffix(".md").read_text()


def test_without_the_language_model_the_command_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STORYQA_MODELS", str(tmp_path / "none"))
    monkeypatch.setitem(LANGUAGE_MODELS, "smollm2", SMOLLM2)
    data = folktales.write_fairytaleqa(tmp_path / "data", "train")
    assert run(["train", "write", "--data", str(data), "--out", str(tmp_path / "out")]) == 2
    assert "storyqa models fetch smollm2 --from FOLDER" in capsys.readouterr().err

"""Training runs: what they minimise, that they can be stopped, what they teach and what they leave."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import folktales
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from encoders.adapters import DOWN, UP, Weights, load_weights, overlay
from encoders.backbone import MINILM, MPNET, base_tensors
from encoders.bi_encoder import load_encoder
from encoders.cross_encoder import load_crossencoder
from encoders.device import computing_on, pick_device
from encoders.errors import ModelError
from encoders.sizes import weights_folder
from readers import open_reader
from readers.default.torch_decoding import decoder_of
from readers.reading import Reading
from service.cli import run
from training.corpora.corpus import Corpus
from training.corpora.loading import load_corpus
from training.export import load_start, require_backbone, save_weights
from training.invocation import Invocation
from training.objectives import bi_encoder, cross_encoder
from training.objectives.attention_sum import AttentionSumObjective, AttentionSumSettings
from training.objectives.averaging import average, mean_adapter
from training.objectives.bi_encoder import BiEncoderSettings, BiEncoderTask, contrastive_loss, taught_loss
from training.objectives.bidaf import BidafObjective, BidafSettings
from training.objectives.cross_encoder import CrossEncoderTask
from training.objectives.cross_encoder_losses import relevance_loss, span_loss
from training.objectives.cross_encoder_settings import CrossEncoderSettings
from training.objectives.from_scratch import NeuralTask
from training.objectives.seq2seq_lstm import Seq2SeqLstmObjective, Seq2SeqLstmSettings
from training.trainer import RunExists, Trainer

TINY = CrossEncoderSettings(fairytales=3, chunk=7, batch_tokens=800, rate=3e-4)

SHIPPED = str(weights_folder("encoders.weights", None))
NEURAL: dict[str, Any] = {"epochs": 3, "words": 60, "width": 8, "chunk": 7, "batch": 300}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return folktales.write_fairytaleqa(tmp_path_factory.mktemp("data"), "train")


@pytest.fixture(scope="module")
def corpus(data: Path) -> Corpus:
    return load_corpus([data])


def test_the_span_loss_is_the_one_counted_by_hand() -> None:
    # Two windows of one example, one of another; uniform scores but for a start of log 3.
    start = torch.zeros(3, 3)
    start[0, 1] = torch.log(torch.tensor(3.0))
    context = torch.tensor([[False, True, True], [False, True, True], [False, True, False]])
    spans = [[(0, 1, 2, 1.0), (1, 1, 1, 0.5)], [(0, 1, 1, 1.0)]]
    loss = span_loss(start, torch.zeros(3, 3), context, [slice(0, 2), slice(2, 3)], spans)
    # First: starts sum to 3 + 1 + 1 + 1, ends to 4; the targets weigh 3 and 1/2. Second: certain.
    assert loss.item() == pytest.approx(-torch.log(torch.tensor((3 + 0.5) / (6 * 4))).item() / 2)


def test_the_span_loss_sees_no_token_outside_the_context_and_no_example_without_a_target() -> None:
    context = torch.tensor([[False, True, True, False]])
    scores = torch.randn(1, 4)
    loud = scores.clone()
    loud[0, 0] = loud[0, 3] = 50.0
    right = [[(0, 1, 2, 1.0)]]
    quiet = span_loss(scores, scores, context, [slice(0, 1)], right)
    assert quiet == span_loss(loud, loud, context, [slice(0, 1)], right)
    both = span_loss(
        scores.repeat(2, 1),
        scores.repeat(2, 1),
        context.repeat(2, 1),
        [slice(0, 1), slice(1, 2)],
        [*right, []],
    )
    assert both.item() == pytest.approx(quiet.item())


def test_the_relevance_loss_is_the_one_counted_by_hand() -> None:
    # Odds of 3 and 1 against nothing's 1: a right window has 3/5, nothing 1/5.
    relevance = torch.tensor([3.0, 1.0]).log()
    right, nothing = (relevance_loss(relevance, [slice(0, 2)], [rows]).item() for rows in ([0], []))
    assert right == pytest.approx(-torch.log(torch.tensor(3 / 5)).item())
    assert nothing == pytest.approx(-torch.log(torch.tensor(1 / 5)).item())


def test_the_contrastive_loss_is_the_one_counted_by_hand() -> None:
    similarity = torch.tensor([[0.2, 0.1, 0.0]])
    weights = (similarity / 0.1).exp()
    loss = contrastive_loss(similarity, torch.tensor([[True, True, False]]), 0.1)
    assert loss.item() == pytest.approx(-torch.log(weights[0, :2].sum() / weights.sum()).item(), rel=1e-5)


def test_the_taught_loss_is_the_divergence_counted_by_hand() -> None:
    found, wanted = (torch.tensor(rows) for rows in ([[0.2, 0.1], [0.0, 0.3]], [[0.1, 0.1], [0.2, 0.1]]))
    student, teacher = ((one / 0.1).softmax(1) for one in (found, wanted))
    divergence = (teacher * (teacher / student).log()).sum(1).mean()
    assert taught_loss(found, wanted, 0.1).item() == pytest.approx(divergence.item(), rel=1e-5)
    assert taught_loss(wanted, wanted, 0.1).item() == pytest.approx(0, abs=1e-6)


def _tasks(corpus: Corpus) -> dict[str, Any]:
    return {
        "layers": lambda: CrossEncoderTask(TINY, corpus),
        "adapters": lambda: CrossEncoderTask(replace(TINY, rank=2), corpus),
        "decoder": lambda: CrossEncoderTask(replace(TINY, frozen=True, span_weight=0.0), corpus),
        "dense": lambda: BiEncoderTask(BiEncoderSettings(rank=2, passes=4, chunk=1), corpus),
        "seq2seq-lstm": lambda: NeuralTask(
            Seq2SeqLstmObjective(), Seq2SeqLstmSettings(hidden=8, **NEURAL), corpus
        ),
        "attention-sum": lambda: NeuralTask(
            AttentionSumObjective(), AttentionSumSettings(hidden=8, **NEURAL), corpus
        ),
        "bidaf": lambda: NeuralTask(BidafObjective(), BidafSettings(**NEURAL), corpus),
    }


@pytest.mark.training
@pytest.mark.parametrize(
    "kind", ["layers", "adapters", "decoder", "dense", "seq2seq-lstm", "attention-sum", "bidaf"]
)
def test_a_run_that_was_stopped_ends_as_one_that_was_not(corpus: Corpus, kind: str, tmp_path: Path) -> None:
    make = _tasks(corpus)[kind]
    whole = Trainer(make(), tmp_path / "whole")
    whole.train(validations=0)
    stopped = Trainer(make(), tmp_path / "stopped")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.train(stop, validations=0)
    stopped.save()
    resumed = Trainer(make(), tmp_path / "stopped")
    assert resumed.resume()
    assert 0 < resumed.chunk < resumed.task.chunks
    resumed.train(validations=0)
    for (some, _), (others, _) in zip(whole.task.groups(), resumed.task.groups(), strict=True):
        for one, other in zip(some, others, strict=True):
            torch.testing.assert_close(one, other)
    log = [json.loads(line) for line in (tmp_path / "stopped" / "log.jsonl").read_text().splitlines()]
    assert len(log) == whole.task.chunks
    assert log[-1]["done"] == 1.0
    assert log[-1]["questions"] == resumed.questions == whole.questions
    assert 0 < log[0]["questions"] < log[-1]["questions"]


@pytest.mark.training
def test_a_run_that_finds_no_checkpoint_says_that_it_begins(
    corpus: Corpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "log.jsonl").write_text("", "utf-8")  # of a run that was killed before its first checkpoint
    run = Invocation([], tmp_path, "storyqa train bidaf", resume=True)
    for said in ([f"{tmp_path} holds no run to go on with, so this one begins"], []):
        run.train(_tasks(corpus)["bidaf"](), validations=0)
        assert [record.getMessage() for record in caplog.records] == said
        caplog.clear()


@pytest.mark.training
@pytest.mark.parametrize("saved", [False, True])
def test_what_a_killed_run_did_behind_its_checkpoint_is_logged_once(
    corpus: Corpus, saved: bool, tmp_path: Path
) -> None:
    killed = Trainer(_tasks(corpus)["attention-sum"](), tmp_path)

    def kill(done: int, total: int) -> None:
        if done == 1 and saved:
            killed.save()
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        killed.train(kill, validations=0)
    again = Trainer(_tasks(corpus)["attention-sum"](), tmp_path)
    assert again.resume() == saved
    again.train(validations=0)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    chunks = again.task.chunks
    assert [line["done"] for line in log] == [round(n / chunks, 6) for n in range(1, chunks + 1)]


@pytest.mark.training
def test_a_run_of_before_questions_were_counted_goes_on_and_tells_no_wrong_number(
    corpus: Corpus, tmp_path: Path
) -> None:
    make = _tasks(corpus)["dense"]
    trainer = Trainer(make(), tmp_path)
    trainer.save()
    with safe_open(trainer.checkpoint, "pt") as file:
        info = {name: value for name, value in file.metadata().items() if name != "questions"}
    save_file(load_file(trainer.checkpoint), trainer.checkpoint, metadata=info)
    resumed = Trainer(make(), tmp_path)
    assert resumed.resume()
    resumed.train(validations=0)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    assert len(log) == resumed.task.chunks
    assert all("questions" not in entry for entry in log)


@pytest.mark.training
def test_a_run_that_is_planned_by_time_ends_then_and_its_rates_with_it(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("training.trainer.time.monotonic", lambda: now[0])

    def pass_time(done: int, total: int) -> None:
        now[0] += 10  # until the next chunk is done

    settings = replace(TINY, fairytales=30, rank=2, generate_weight=0.0)
    trainer = Trainer(CrossEncoderTask(settings, corpus), tmp_path, within=50)
    trainer.train(pass_time, validations=2)
    # The first chunk is done at 0, the second at 10, by which the rest is planned.
    assert trainer.chunk == trainer.chunks == 6 < trainer.task.chunks
    [rate] = {group["lr"] for group in trainer._optimizer.param_groups}
    assert rate == pytest.approx(settings.rate * (1 - 5.5 / 6) / 0.95)
    log = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text("utf-8").splitlines()]
    assert ["validation" in line for line in log] == [False, False, True, False, False, True]
    assert log[-1]["done"] == 1.0
    again = Trainer(CrossEncoderTask(settings, corpus), tmp_path, within=50)
    assert again.resume()
    again.train(validations=0)
    assert again.chunk == 6  # it was at its end
    with pytest.raises(RunExists, match=r"was trained with --within 0\.83"):
        Trainer(CrossEncoderTask(settings, corpus), tmp_path).resume()


@pytest.mark.training
def test_the_card_of_a_run_that_is_planned_by_time_tells_how_much_it_saw(data: Path, tmp_path: Path) -> None:
    settings = replace(TINY, rank=2, fairytales=99, generate_weight=0.0)
    cross_encoder.train(Invocation([data], tmp_path, "storyqa train span --within 0"), settings, within=0)
    assert f'"examples": {2 * TINY.chunk}, ' in (tmp_path / "span.md").read_text("utf-8")


def test_a_folder_that_holds_another_run_is_not_gone_on_with(corpus: Corpus, tmp_path: Path) -> None:
    Trainer(CrossEncoderTask(TINY, corpus), tmp_path).save()
    said = r"with other settings \(seed was 13, now 99; rank was 0, now 2\); .* another --out"
    with pytest.raises(RunExists, match=said):
        Trainer(CrossEncoderTask(replace(TINY, seed=99, rank=2), corpus), tmp_path).resume()


@pytest.mark.parametrize("kind", ["adapters", "dense", "bidaf"])
def test_a_run_is_not_gone_on_with_on_other_data(corpus: Corpus, kind: str, tmp_path: Path) -> None:
    Trainer(_tasks(corpus)[kind](), tmp_path).save()
    assert Trainer(_tasks(corpus)[kind](), tmp_path).resume()
    first, *others = corpus.train
    renamed = Corpus((replace(first, name="another"), *others), corpus.held_out)
    with pytest.raises(RunExists, match="on other data than --data has"):
        Trainer(_tasks(renamed)[kind](), tmp_path).resume()


def test_a_checkpoint_that_tells_nothing_of_its_data_is_gone_on_with(corpus: Corpus, tmp_path: Path) -> None:
    trainer = Trainer(_tasks(corpus)["dense"](), tmp_path)
    trainer.save()
    with safe_open(trainer.checkpoint, "pt") as file:
        info = file.metadata()
    older = {name: value for name, value in info.items() if name not in ("data", "within")}
    save_file(load_file(trainer.checkpoint), trainer.checkpoint, metadata=older)
    assert Trainer(_tasks(corpus)["dense"](), tmp_path, within=50).resume()


@pytest.mark.parametrize("arguments", [["span", "--fairytales", "0"], ["dense", "--passes", "0"]])
def test_options_that_leave_nothing_to_learn_are_said_and_leave_nothing(
    data: Path, arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run(["train", *arguments, "--data", str(data), "--out", str(out)]) == 2
    assert "leave nothing to learn of fairytales (" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.training
def test_training_teaches_what_is_shown(corpus: Corpus, tmp_path: Path) -> None:
    settings = replace(TINY, fairytales=40, chunk=70, generate_weight=0.0)
    task = CrossEncoderTask(settings, Corpus(corpus.train, corpus.train))
    before = task.validate()
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=1)
    assert trainer.scores["span_sections"] > 0.6 > 0.4 > before["span_sections"]
    cross_encoder.export(trainer, "storyqa train span")
    reading = Reading("What was the goose called?", folktales.GOOSE)
    ((spoken,),) = open_reader(f"span:{trainer.out}").read([reading])
    assert spoken.text == "Dorrit"


def test_a_batch_that_nothing_can_be_learnt_from_is_a_step_like_others(corpus: Corpus) -> None:
    task = CrossEncoderTask(replace(TINY, frozen=True, span_weight=0.0, relevance_weight=0.0), corpus)
    batch = next(iter(task.batches(0)))
    losses = task.losses(replace(batch, right=[[] for _ in batch.right]))
    torch.stack(list(losses.values())).sum().backward()  # type: ignore[no-untyped-call]
    assert task.decoder is not None
    assert not any(
        parameter.grad is not None and parameter.grad.any() for parameter in task.decoder.parameters()
    )


@pytest.mark.training
def test_a_decoder_alone_learns_to_write_what_it_is_shown(corpus: Corpus, tmp_path: Path) -> None:
    settings = replace(
        TINY, frozen=True, fairytales=200, chunk=350, span_weight=0.0, generate_weight=1.0, decoder_rate=1e-3
    )
    task = CrossEncoderTask(settings, Corpus(corpus.train, corpus.train))
    before = task.validate()
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=1)
    assert trainer.scores["generate_sections"] > 0.6 > 0.3 > before["generate_sections"]
    cross_encoder.export(trainer, "storyqa train generate")
    reading = Reading("What was the goose called?", folktales.GOOSE)
    ((written,),) = open_reader(f"generate:{trainer.out}").read([reading])
    assert written.text
    assert written.support is not None


def test_a_decoder_that_was_trained_without_copies_generates_for_who_reads_its_file(
    corpus: Corpus, tmp_path: Path
) -> None:
    task = CrossEncoderTask(replace(TINY, copies=False), corpus)
    path = save_weights(task.decoder_weights(), tmp_path / "generate.safetensors", task.settings)
    decoder = decoder_of(load_weights(path)).eval()
    ids = torch.full((1, 5), 2000)
    mask = torch.ones_like(ids, dtype=torch.bool)
    memory = decoder.memory(torch.randn(1, 5, MINILM.width), ids, mask, mask)
    step = decoder(torch.tensor([[101]]), memory, base_tensors()["embeddings.word_embeddings.weight"])
    assert step.log_generates.item() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.training
def test_the_encoder_learns_where_questions_are_answered(corpus: Corpus, tmp_path: Path) -> None:
    task = BiEncoderTask(
        BiEncoderSettings(rank=8, passes=16, articles=0, rate=4e-3), Corpus(corpus.train, corpus.train)
    )
    batch = next(iter(task.batches(0)))
    before = task.losses(batch)["contrastive"].item()
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=1)
    assert task.losses(batch)["contrastive"].item() < 0.5 * before
    assert trainer.scores["dense_1.0_mrr"] > 0.9
    bi_encoder.export(trainer, "storyqa train dense")
    vectors = load_encoder(str(tmp_path)).encode([batch.questions[0], *batch.windows])
    found = int((vectors[1:] @ vectors[0]).argmax())
    assert found in batch.right[0]


@pytest.mark.training
def test_an_encoder_learns_what_another_finds_alike(corpus: Corpus, tmp_path: Path) -> None:
    settings = BiEncoderSettings(rank=8, passes=8, articles=0, rate=4e-3)
    alone = Trainer(BiEncoderTask(settings, corpus), tmp_path / "teacher")
    alone.train(validations=0)
    bi_encoder.export(alone, "storyqa train dense")
    teacher = load_encoder(str(alone.out))
    task = BiEncoderTask(replace(settings, seed=3, teacher=teacher.hash), corpus, teacher)
    batch = next(iter(task.batches(0)))
    own = BiEncoderTask(settings, corpus, load_encoder("minilm")).losses(batch)
    before = task.losses(batch)
    # As it begins it is the backbone, from which only what 8 bits round parts it.
    assert own["taught"].item() < 0.1 * before["taught"].item()
    trainer = Trainer(task, tmp_path / "student")
    trainer.train(validations=0)
    assert task.losses(batch)["taught"].item() < 0.5 * before["taught"].item()
    bi_encoder.export(trainer, "storyqa train dense --teacher DIR")
    assert f'"teacher": "{teacher.hash}"' in (trainer.out / "dense.md").read_text(encoding="utf-8")


@pytest.mark.training
def test_an_encoder_goes_on_from_another(corpus: Corpus, tmp_path: Path) -> None:
    settings = BiEncoderSettings(rank=8, passes=8, articles=0, rate=4e-3)
    first = Trainer(BiEncoderTask(settings, corpus), tmp_path)
    first.train(validations=0)
    bi_encoder.export(first, "storyqa train dense")
    batch = next(iter(first.task.batches(0)))
    learnt = first.task.losses(batch)["contrastive"].item()
    anew = BiEncoderTask(settings, corpus).losses(batch)["contrastive"].item()
    start = load_weights(tmp_path / "dense.safetensors")
    begun = BiEncoderTask(settings, corpus, start=start).losses(batch)["contrastive"].item()
    assert abs(begun - learnt) < 0.1 * abs(anew - learnt)  # but for what 8 bits round
    with pytest.raises(ModelError, match="which this run does not train"):
        BiEncoderTask(replace(settings, rank=4), corpus, start=start)
    with pytest.raises(ModelError, match="wanted some beside mpnet"):
        require_backbone(start, MPNET)


@pytest.mark.training
def test_an_adapter_in_its_file_is_the_model_that_was_trained(corpus: Corpus, tmp_path: Path) -> None:
    task = CrossEncoderTask(replace(TINY, rank=2), corpus)
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=0)
    [weights, _] = cross_encoder.export(trainer, "storyqa train span").weights
    assert weights.stat().st_size < 1_000_000
    encoder = load_crossencoder(str(tmp_path))
    batch = next(iter(task.batches(0)))
    window = batch.windows[0]
    ids = torch.tensor([window.ids])
    with torch.inference_mode():
        trained = task.backbone.model(input_ids=ids, token_type_ids=torch.tensor([window.types]))
    torch.testing.assert_close(
        torch.as_tensor(encoder.read_windows([window])[0].states).float(),
        trained.last_hidden_state[0],
        atol=2e-2,
        rtol=2e-2,
    )


def test_an_adapter_adds_its_product_to_the_parameter() -> None:
    name = "encoder.layer.0.output.dense"
    down, up = torch.randn(2, 1536), torch.randn(384, 2)
    [(changed, tensor)] = overlay({f"{name}.lora_A": down, f"{name}.lora_B": up}, base_tensors()).items()
    assert changed == f"{name}.weight"
    torch.testing.assert_close(tensor, base_tensors()[changed] + up @ down)
    with pytest.raises(ModelError, match="adapts no parameter"):
        overlay({"encoder.layer.9.lora_A": down, "encoder.layer.9.lora_B": up}, base_tensors())


@pytest.mark.training
def test_a_run_can_begin_with_the_weights_of_another(corpus: Corpus, tmp_path: Path) -> None:
    first = Trainer(CrossEncoderTask(TINY, corpus), tmp_path / "first")
    first.train(validations=0)
    cross_encoder.export(first, "storyqa train span")
    start = load_start(tmp_path / "first")
    second = CrossEncoderTask(replace(TINY, start=start.sha256), corpus, start.encoder, start.decoder)
    for name, tensor in first.task.weights().tensors.items():
        torch.testing.assert_close(second.weights().tensors[name], tensor, atol=2e-3, rtol=1e-3, msg=name)
    for settings in (replace(TINY, rank=2), replace(TINY, frozen=True)):  # nothing of either is trained yet
        beside = CrossEncoderTask(settings, corpus, start.encoder, start.decoder).weights()
        for name, tensor in first.task.weights().tensors.items():
            torch.testing.assert_close(beside.tensors[name], tensor, atol=2e-3, rtol=1e-3, msg=name)
    assert start.encoder is not None
    with pytest.raises(ModelError, match=r"encoder\.layer"):
        CrossEncoderTask(
            TINY, corpus, Weights(MINILM, {**start.encoder.tensors, "encoder.layer.9.x": torch.zeros(1)})
        )
    with pytest.raises(ModelError, match="beside minilm; wanted some beside mpnet"):
        CrossEncoderTask(replace(TINY, backbone="mpnet"), corpus, start.encoder)


@pytest.mark.training
def test_the_mean_of_runs_is_each_weights_mean(
    data: Path, corpus: Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from service.cli import run

    for seed in (1, 2):
        one = Trainer(CrossEncoderTask(replace(TINY, seed=seed, fairytales=1), corpus), tmp_path / str(seed))
        one.train(validations=0)
        cross_encoder.export(one, "storyqa train span")
    arguments = ["train", "average", "--data", str(data), "--out", str(tmp_path / "mean"), "--json"]
    starts = [option for seed in "12" for option in ("--start", str(tmp_path / seed))]
    assert run([*arguments, *starts]) == 0
    paths = [Path(path) for path in json.loads(capsys.readouterr().out)["weights"]]
    assert [path.name for path in paths] == ["span.safetensors", "generate.safetensors"]
    for path in paths:
        mean, *parts = (
            load_weights(one).tensors for one in (path, *sorted(tmp_path.glob(f"[12]/{path.name}")))
        )
        for name, tensor in mean.items():
            torch.testing.assert_close(
                tensor.float(), (parts[0][name].float() + parts[1][name].float()) / 2, atol=1e-3, rtol=1e-3
            )
        assert "2 runs" in path.with_suffix(".md").read_text()
    assert run([*arguments, *starts[:2]]) == 2
    adapted = Trainer(CrossEncoderTask(replace(TINY, rank=2, fairytales=1), corpus), tmp_path / "3")
    adapted.train(validations=0)
    cross_encoder.export(adapted, "storyqa train span")
    with pytest.raises(ModelError, match="of one --rank"):
        average([load_weights(tmp_path / name / "span.safetensors") for name in "13"])


@pytest.mark.parametrize("count", [2, 3])
def test_the_mean_of_adapters_is_the_nearest_there_is_to_the_mean_of_what_they_add(count: int) -> None:
    torch.manual_seed(count)
    adapters = [(torch.randn(4, 20), torch.randn(30, 4)) for _ in range(count)]
    mean = torch.stack([up @ down for down, up in adapters]).mean(0)
    down, up = mean_adapter(adapters)
    assert (down.shape, up.shape) == ((4, 20), (30, 4))
    u, values, v = torch.linalg.svd(mean, full_matrices=False)
    torch.testing.assert_close(up @ down, u[:, :4] * values[:4] @ v[:4], atol=1e-4, rtol=1e-4)
    # Of runs that agree nothing is lost.
    down, up = mean_adapter([adapters[0]] * count)
    torch.testing.assert_close(up @ down, adapters[0][1] @ adapters[0][0], atol=1e-4, rtol=1e-4)


def test_a_run_goes_on_with_adapters_of_its_rank_and_adds_to_others(corpus: Corpus, tmp_path: Path) -> None:
    first = Trainer(CrossEncoderTask(replace(TINY, rank=2, fairytales=1), corpus), tmp_path / "first")
    first.train(validations=0)
    cross_encoder.export(first, "storyqa train span")
    start = load_weights(tmp_path / "first" / "span.safetensors")
    same, other = (
        CrossEncoderTask(replace(TINY, rank=rank, fairytales=1), corpus, start).weights().tensors
        for rank in (2, 3)
    )
    assert same.keys() == start.tensors.keys()
    for name, tensor in start.tensors.items():
        torch.testing.assert_close(same[name].float().cpu(), tensor.float())
    assert not any(name.endswith((DOWN, UP)) for name in other)
    for name, tensor in overlay(
        {n: t for n, t in start.tensors.items() if not n.startswith("head.")}, base_tensors()
    ).items():
        torch.testing.assert_close(other[name], tensor)


def test_weights_that_are_broken_or_of_another_encoder_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "span.safetensors"
    save_file({"head.weight": torch.zeros(3, 384)}, path, metadata={"backbone": "another"})
    with pytest.raises(ModelError, match="backbone another"):
        load_weights(path)
    path.write_bytes(b"\x00" * 100)
    with pytest.raises(ModelError, match="train it again"):
        load_weights(path)


@pytest.mark.parametrize(
    ("name", "weights", "options"),
    [
        ("dense", ["dense"], ["--rank", "2", "--passes", "1"]),
        ("span", ["span", "generate"], []),
        ("rerank", ["span"], ["--rank", "2"]),
        ("generate", ["span", "generate"], ["--fairytales", "1", "--start", SHIPPED]),
    ],
)
def test_a_command_leaves_weights_cards_and_a_curve(
    data: Path,
    name: str,
    weights: list[str],
    options: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from service.cli import run

    out = tmp_path / "run"
    arguments = ["train", name, "--data", str(data), "--out", str(out), *options, "--json"]
    assert run(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert [Path(path).stem for path in result["weights"]] == weights
    for path in map(Path, result["weights"]):
        card = path.with_suffix(".md").read_text()
        assert "FairytaleQA train" in card
        assert '"seed": 13' in card
        if (name, path.stem) != ("generate", "span"):  # that is the shipped one, with its card
            assert f"- **Processor**: {computing_on(pick_device())}\n" in card
        assert str(tmp_path) not in card
    assert (out / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert run(arguments) == 2
    assert "--resume" in capsys.readouterr().err
    assert run([*arguments, "--resume"]) == 0

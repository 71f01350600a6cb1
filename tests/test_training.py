"""Training the span reader: its labels, its loss, and a run that can be stopped."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import folktales
import pytest
import torch

from indexing.errors import ModelError
from readers.reading import Reading
from training.data import NoTrainingData, training_questions
from training.examples import LabelledQuestion, show
from training.span import RunExists, SpanTrainer, SpanTraining, span_loss
from training.targets import target_spans

TINY = SpanTraining(held_out=0.0, fairytale_passes=3, chunk=7, batch_tokens=400, frozen=4, rate=3e-4)


def _found(text: str, *answers: str) -> list[str]:
    return [text[start:end] for _, start, end in target_spans([text], answers)]


def test_every_place_where_an_answer_stands_is_a_target() -> None:
    text = "The Grey\ngoose hissed. Nobody loved the grey goose, goose or not."
    assert _found(text, "the grey goose!") == ["The Grey\ngoose", "the grey goose"]


def test_an_answer_that_stands_nowhere_has_the_closest_span() -> None:
    text = "Because the miller had cheated her, she hid the key under the third stone."
    assert _found(text, "the miller cheated her") == ["the miller had cheated her"]


@pytest.mark.parametrize("answer", ["zebra", "to his and the", "", "?!"])
def test_an_answer_that_shares_nothing_but_stop_words_has_no_target(answer: str) -> None:
    assert _found("He went to the mill and slept.", answer) == []


def test_the_closest_span_is_that_of_the_best_passage_and_answer() -> None:
    texts = ["The miller wept.", "Because the old miller had cheated her, she hid the key.", "A key."]
    [(number, start, end)] = target_spans(texts, ["the grey mill", "the miller cheated her"])
    assert (number, texts[number][start:end]) == (1, "the old miller had cheated her")


def test_no_close_span_is_learnt_where_an_answer_stands() -> None:
    texts = ["The old miller had cheated her.", "It was greed, said the miller."]
    assert target_spans(texts, ["the miller cheated her", "greed"]) == [(1, 7, 12)]


def test_a_place_that_the_data_set_tells_is_the_target(tmp_path: Path) -> None:
    text = "The goose hissed at Maud, and Maud laughed at the goose."
    place = {"text": "Maud", "answer_start": text.rindex("Maud")}
    qas = [{"id": "1", "question": "Who laughed?", "answers": [place]}]
    article = {"title": "Geese", "paragraphs": [{"context": text, "qas": qas}]}
    (tmp_path / "train-v1.1.json").write_text(json.dumps({"data": [article]}))
    _, [question], _ = training_questions([tmp_path], 10, 0.0, 1)
    assert question.targets == ((0, 30, 34),)


def test_a_negative_is_a_part_of_another_passage_no_longer_than_its_own() -> None:
    own, other = "She hid the golden key in the well.", "and then " * 200 + "she slept."
    labelled = LabelledQuestion("What?", (own,), ((0, 8, 22),), (other,), ("the golden key",))
    shown = [show(labelled, random.Random(seed)) for seed in range(200)]
    assert all(example.passages[0] == own and example.targets == labelled.targets for example in shown)
    negatives = [passage for example in shown for passage in example.passages[1:]]
    assert 5 < len(negatives) < 50
    assert all(passage in other and len(passage.split()) == len(own.split()) for passage in negatives)


def test_the_loss_is_the_one_counted_by_hand() -> None:
    # Two windows of one example, one of another; uniform scores but for a start of log 3.
    start = torch.zeros(3, 3)
    start[0, 1] = torch.log(torch.tensor(3.0))
    context = torch.tensor([[False, True, True], [False, True, True], [False, True, False]])
    loss = span_loss(
        start, torch.zeros(3, 3), context, [slice(0, 2), slice(2, 3)], [[(0, 1, 2), (1, 1, 1)], [(0, 1, 1)]]
    )
    # First: starts sum to 3 + 1 + 1 + 1, ends to 4; the targets weigh 3 and 1. Second: certain.
    assert loss.item() == pytest.approx(-torch.log(torch.tensor((3 + 1) / (6 * 4))).item() / 2)


def test_the_loss_sees_no_token_outside_the_context() -> None:
    context = torch.tensor([[False, True, True, False]])
    scores = torch.randn(1, 4)
    loud = scores.clone()
    loud[0, 0] = loud[0, 3] = 50.0
    right = [[(0, 1, 2)]]
    assert span_loss(scores, scores, context, [slice(0, 1)], right) == span_loss(
        loud, loud, context, [slice(0, 1)], right
    )


def test_a_run_that_was_stopped_ends_as_one_that_was_not(tmp_path: Path) -> None:
    data = [folktales.write_fairytaleqa(tmp_path / "data", "train")]
    whole = SpanTrainer(TINY, data, tmp_path / "whole")
    whole.run()
    stopped = SpanTrainer(TINY, data, tmp_path / "stopped")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped.run(stop)
    stopped.save()
    resumed = SpanTrainer(TINY, data, tmp_path / "stopped")
    assert resumed.resume()
    assert 0 < resumed.chunk < resumed.chunks
    resumed.run()
    for name, tensor in whole.tensors().items():
        torch.testing.assert_close(resumed.tensors()[name], tensor, msg=name)
    assert len((tmp_path / "stopped" / "log.jsonl").read_text().splitlines()) == whole.chunks
    with pytest.raises(RunExists):
        SpanTrainer(SpanTraining(held_out=0.0, seed=99), data, tmp_path / "stopped").resume()


def test_training_teaches_the_reader_what_it_is_shown(tmp_path: Path) -> None:
    data = [folktales.write_fairytaleqa(tmp_path / "data", "train")]
    settings = SpanTraining(
        held_out=0.0, fairytale_passes=60, chunk=64, batch_tokens=400, frozen=3, rate=5e-4
    )
    trainer = SpanTrainer(settings, data, tmp_path / "run")
    trainer.validation = list({q.question: q for q in trainer.order}.values())
    before = trainer.validate()
    trainer.run()
    after = trainer.validate()
    assert before is not None
    assert after is not None
    assert after > 0.7 > 0.4 > before


def test_a_run_can_begin_with_the_weights_of_another(tmp_path: Path) -> None:
    data = [folktales.write_fairytaleqa(tmp_path / "data", "train")]
    first = SpanTrainer(TINY, data, tmp_path / "first")
    first.run()
    weights = first.export()
    second = SpanTrainer(TINY, data, tmp_path / "second", weights)
    for name, tensor in first.tensors().items():
        torch.testing.assert_close(second.tensors()[name], tensor, atol=2e-3, rtol=1e-3, msg=name)
    second.save()
    with pytest.raises(RunExists):  # without them it would be another run
        SpanTrainer(TINY, data, tmp_path / "second").resume()
    with pytest.raises(ModelError, match=r"encoder\.layer\.4"):
        SpanTrainer(replace(TINY, frozen=5), data, tmp_path / "third", weights)


def test_trained_weights_read_the_same_from_their_file(tmp_path: Path) -> None:
    from safetensors.torch import load_file

    from readers.span import SpanReader

    data = [folktales.write_fairytaleqa(tmp_path / "data", "train")]
    trainer = SpanTrainer(TINY, data, tmp_path / "run")
    weights = trainer.export()
    tensors = load_file(weights)
    assert all(tensor.dtype == torch.float16 for tensor in tensors.values())
    assert not [name for name in tensors if name.startswith(("embeddings.", "encoder.layer.0."))]
    reading = Reading("What was the goose called?", (folktales.GOOSE[0],))
    (from_file,), (from_trainer,) = (
        reader.read([reading])[0] for reader in (SpanReader.load(str(weights.parent)), trainer.reader())
    )
    assert from_file.confidence == pytest.approx(from_trainer.confidence, abs=0.02)


def test_weights_that_are_broken_or_of_another_encoder_are_refused(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    from readers.span import WEIGHTS, SpanReader

    save_file({"head.weight": torch.zeros(2, 384)}, tmp_path / WEIGHTS, metadata={"backbone": "another"})
    with pytest.raises(ModelError, match="encoder another"):
        SpanReader.load(str(tmp_path))
    (tmp_path / WEIGHTS).write_bytes(b"\x00" * 100)
    with pytest.raises(ModelError, match="train it again"):
        SpanReader.load(str(tmp_path))


def test_a_folder_without_training_data_is_named(tmp_path: Path) -> None:
    with pytest.raises(NoTrainingData, match="questions/train"):
        training_questions([tmp_path], 10, 0.1, 1)


def test_held_out_stories_are_not_trained_on(tmp_path: Path) -> None:
    data = folktales.write_fairytaleqa(tmp_path, "train")
    fairytale, _, held = training_questions([data], 10, 0.5, 1)
    assert held
    assert not {q.question for q in fairytale} & {q.question for q in held}


def test_the_command_leaves_weights_and_a_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from service.cli import run

    data = folktales.write_fairytaleqa(tmp_path / "data", "train")
    arguments = [
        "train",
        "span",
        "--data",
        str(data),
        "--out",
        str(tmp_path / "run"),
        "--passes",
        "1",
        "--json",
    ]
    assert run(arguments) == 0
    result = json.loads(capsys.readouterr().out)
    assert Path(result["weights"]).is_file()
    card = Path(result["weights"]).with_suffix(".md").read_text()
    assert "Licence" in card
    assert "--seed 13" in card
    assert run(arguments) == 2
    assert "--resume" in capsys.readouterr().err

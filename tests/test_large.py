"""The large backbone: what is trained beside it is read as it was trained, and its absence is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import folktales
import pytest
import tiny_models
import torch

from encoders.adapters import file_hash, load_weights, overlay
from encoders.backbone import BACKBONES, MPNET, Backbone, base_tensors, load_backbone, load_tokenizer
from encoders.cross_encoder import collate, load_crossencoder
from encoders.errors import ModelError
from encoders.windows import Windower
from readers import open_reader
from readers.reading import Reading
from training.corpora.corpus import Corpus
from training.corpora.loading import load_corpus
from training.objectives import cross_encoder
from training.objectives.cross_encoder import CrossEncoderTask
from training.objectives.cross_encoder_settings import LargeSettings
from training.trainer import Trainer

QUESTION = "What was the goose called?"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Backbone]:
    """A tiny model in the place of mpnet."""
    folder = tmp_path_factory.mktemp("models")
    weights = tiny_models.save_mpnet(folder / "mpnet") / "model.safetensors"
    tiny = replace(MPNET, sha256=file_hash(weights), width=32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORYQA_MODELS", str(folder))
        patch.setitem(BACKBONES, "mpnet", tiny)
        yield tiny


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return load_corpus([folktales.write_fairytaleqa(tmp_path_factory.mktemp("data"), "train")])


def test_windows_of_unequal_length_say_what_each_says_alone(large: Backbone) -> None:
    asked = [(QUESTION, folktales.GOOSE[:1]), ("Who?", ["Osk slept."])]
    [first], [second] = Windower(load_tokenizer(large))(asked)
    assert len(first.ids) > len(second.ids)
    model = load_backbone(backbone=large)
    with torch.inference_mode():
        together = model(**collate([first, second], large.pad, large.typed).named).last_hidden_state
        for row, window in enumerate((first, second)):
            alone = model(**collate([window], large.pad, large.typed).named).last_hidden_state[0]
            torch.testing.assert_close(together[row, : len(window.ids)], alone, atol=1e-5, rtol=1e-4)


def test_context_tokens_are_those_of_the_passage(large: Backbone) -> None:
    text = "The goose is Dorrit."
    [[window]] = Windower(load_tokenizer(large))([(QUESTION, [text])])
    assert "".join(text[slice(*place)] for place in window.offsets) == text.replace(" ", "")


def test_adapters_beside_it_are_read_as_they_were_trained(
    large: Backbone, corpus: Corpus, tmp_path: Path
) -> None:
    settings = LargeSettings(rank=4, fairytales=8, chunk=7, batch_tokens=800, rate=3e-3)
    task = CrossEncoderTask(settings, corpus)
    trainer = Trainer(task, tmp_path)
    trainer.train(validations=0)
    [path] = cross_encoder.export(trainer, "storyqa train large").weights
    weights = load_weights(path)
    assert weights.backbone == large
    changed = overlay(
        {n: t for n, t in weights.tensors.items() if not n.startswith("head.")}, base_tensors(large)
    )
    assert any(not torch.equal(tensor, base_tensors(large)[name]) for name, tensor in changed.items())
    window = next(iter(task.batches(0))).windows[0]
    with torch.inference_mode():
        trained = task.backbone.model(**collate([window], large.pad, large.typed).named).last_hidden_state
    read = load_crossencoder(str(tmp_path))._read([window])[0]
    torch.testing.assert_close(read.states.float(), trained[0].float(), atol=2e-2, rtol=2e-2)
    [[answer]] = open_reader(f"span:{tmp_path}").read([Reading(QUESTION, folktales.GOOSE)])
    assert answer.span is not None
    assert answer.text in folktales.GOOSE[answer.span.passage]


def test_without_it_the_way_to_get_it_is_told(
    large: Backbone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_MODELS", str(tmp_path))
    with pytest.raises(ModelError, match="storyqa models fetch mpnet"):
        replace(large, title="not loaded yet").folder()

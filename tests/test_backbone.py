"""The shared encoder: checked, loaded once, and equal to what its publisher's code computes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from encoders.backbone import MINILM, MPNET, backbone_folder, base_tensors, load_backbone, load_tokenizer
from encoders.batches import batches
from encoders.bi_encoder import load_encoder
from encoders.errors import ModelError
from encoders.quantisation import Int8Linear
from encoders.sizes import check_ahead

TEXTS = [
    "The cooper of Vane kept seven geese.",
    "A fox took the grey one on a winter's night, and the cooper wept.",
    "Ledger, tariff, wharf.",
    "goose " * 400,
    "",
    "🦊 Лиса",
]


def test_hidden_states_are_those_of_transformers() -> None:
    from transformers import AutoModel

    ids = torch.tensor([load_tokenizer().encode(TEXTS[0], TEXTS[1]).ids])
    reference = AutoModel.from_pretrained(backbone_folder()).eval()
    with torch.inference_mode():
        ours = load_backbone()(input_ids=ids).last_hidden_state
        theirs = reference(input_ids=ids).last_hidden_state
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def test_models_share_the_parameters_that_they_do_not_change() -> None:
    name = "encoder.layer.5.output.dense.bias"
    changed = load_backbone({name: torch.ones_like(base_tensors()[name])})
    words = "embeddings.word_embeddings.weight"
    assert changed.get_parameter(words).data_ptr() == load_backbone().get_parameter(words).data_ptr()
    assert bool((changed.get_parameter(name) == 1).all())
    assert not bool((base_tensors()[name] == 1).all())


def test_a_parameter_that_the_backbone_does_not_have_is_refused() -> None:
    with pytest.raises(ModelError, match=r"encoder\.layer\.9"):
        load_backbone({"encoder.layer.9.output.dense.bias": torch.zeros(384)})


def test_weights_with_another_hash_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "another_minilm"
    shutil.copytree(backbone_folder(), package / "model")
    (package / "__init__.py").touch()
    with (package / "model" / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelError, match="SHA-256"):
        backbone_folder(replace(MINILM, package="another_minilm"))


def test_a_backbone_that_is_checked_ahead_and_is_another_is_told_to_who_loads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mpnet").mkdir()
    for name in (MPNET.weights, *MPNET.beside):
        (tmp_path / "mpnet" / name).write_bytes(b"")
    monkeypatch.setenv("STORYQA_MODELS", str(tmp_path))
    monkeypatch.setenv("STORYQA_SIZE", "large")
    check_ahead().join()  # what it did not keep to itself would fail the test
    with pytest.raises(ModelError, match="SHA-256"):
        backbone_folder(MPNET)
    assert backbone_folder(MINILM).is_dir()


@pytest.mark.parametrize("missing", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_backbone_is_installed_with_all_its_files(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORYQA_MODELS", str(tmp_path))
    (tmp_path / "mpnet").mkdir()
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / "mpnet" / name).touch()
    assert MPNET.is_installed
    (tmp_path / "mpnet" / missing).unlink()
    assert not MPNET.is_installed
    with pytest.raises(ModelError, match=f"{missing} is missing; get it: storyqa models fetch mpnet"):
        MPNET.folder()


def test_vectors_are_those_of_mean_pooling_in_floating_point() -> None:
    from transformers import AutoModel, AutoTokenizer

    model, tokenizer = (c.from_pretrained(backbone_folder()) for c in (AutoModel, AutoTokenizer))
    encoded = tokenizer(TEXTS, padding=True, truncation=True, max_length=256, return_tensors="pt")
    with torch.inference_mode():
        hidden = model.eval()(**encoded).last_hidden_state
    mask = encoded["attention_mask"].unsqueeze(-1)
    reference = torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=-1).numpy()
    ours = load_encoder("minilm").encode(TEXTS)
    assert ours.dtype == np.float32
    assert np.linalg.norm(ours, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-5)
    # bf16 and int8 round; a text stays far closer to itself than to any other.
    assert ((ours * reference).sum(1) > 0.97).all()
    assert (np.argmax(ours @ reference.T, axis=1) == np.arange(len(TEXTS))).all()


def test_a_text_past_the_limit_is_read_as_the_text_that_ends_there() -> None:
    encoder = load_encoder("minilm")
    geese = "goose " * 253  # with one word more, [CLS] and [SEP] 256 tokens
    past, there, other = (encoder.encode([geese + end])[0] for end in ("goose fox", "goose", "fox"))
    assert past == pytest.approx(there, abs=1e-6)
    assert other != pytest.approx(there, abs=1e-3)


@pytest.mark.parametrize("outlier", [1.0, 30.0])
def test_int8_products_are_within_their_rounding_of_the_exact_ones(outlier: float) -> None:
    torch.manual_seed(0)
    linear = torch.nn.Linear(64, 32)
    x = torch.randn(5, 7, 64)
    x[:, 0, 9] *= outlier
    with torch.inference_mode():
        exact, rounded = linear(x), Int8Linear(linear, x.flatten(0, 1))(x)
    assert rounded.shape == exact.shape
    # Of the other rows: what one row holds must not round them more coarsely.
    assert (rounded - exact)[:, 1:].abs().max() < 0.05 * exact[:, 1:].abs().max()


def test_an_encoder_is_loaded_once_and_an_unknown_one_is_named() -> None:
    assert load_encoder() is load_encoder()
    with pytest.raises(ModelError, match="no-such-folder"):
        load_encoder("no-such-folder")


def test_an_encoder_of_the_users_own_is_read_without_a_word(
    tiny_bert: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    own = Path(shutil.copytree(tiny_bert, tmp_path / "own"))  # which nothing has loaded yet
    capfd.readouterr()
    assert load_encoder(str(own)).encode(["the mill"]).shape[0] == 1
    assert capfd.readouterr() == ("", "")


def test_an_encoder_that_lacks_some_of_its_weights_is_refused(tiny_bert: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(tiny_bert, tmp_path / "own"))
    weights = load_file(own / "model.safetensors")
    lost = next(name for name in weights if name.endswith("layer.0.output.dense.weight"))
    del weights[lost]
    save_file(weights, own / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"has no weights for encoder\.layer\.0\.output\.dense\.weight"):
        load_encoder(str(own))


def test_batches_hold_every_text_once_within_the_budget() -> None:
    lengths = [5, 300, 2, 2, 90, 41, 41, 1000]
    found = batches(lengths, 100)
    assert sorted(i for batch in found for i in batch) == list(range(len(lengths)))
    assert all(len(b) * max(lengths[i] for i in b) <= 100 or len(b) == 1 for b in found)

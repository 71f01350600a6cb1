"""Fixed 8-bit scales: what is measured, that it is kept with its weights, and what is computed by it."""

from __future__ import annotations

import json
import shutil
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import folktales
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from encoders import bi_encoder, cross_encoder
from encoders.activation_ranges import Range, load_ranges, ranges_path, save_ranges
from encoders.adapters import file_hash
from encoders.backbone import load_backbone, load_tokenizer
from encoders.errors import ModelError
from encoders.transformer import Transformer
from service.cli import run
from training.objectives.activation_ranges import Ids, Watched, share_cut

SHIPPED = [
    weights
    for size in (".", "large")
    for weights in sorted((Path(str(files("encoders.weights"))) / size).glob("*.safetensors"))
    if not weights.name.endswith(".ranges.safetensors")
]
TEXTS = ["The goose flew.", *folktales.GOOSE, "What was the goose called?", "..."]


@pytest.fixture(scope="module")
def model() -> Transformer:
    return load_backbone()


@pytest.fixture(scope="module")
def ids() -> Ids:
    return [(one.ids, one.type_ids) for one in load_tokenizer().encode_batch(TEXTS)]


@pytest.fixture(scope="module")
def watched(model: Transformer, ids: Ids) -> Watched:
    watched = Watched(model)
    for text in ids:
        watched.read(text)
    return watched


@pytest.mark.parametrize("weights", SHIPPED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_what_is_shipped_comes_with_its_ranges(weights: Path) -> None:
    ranges = load_ranges(weights, file_hash(weights))
    assert ranges is not None
    assert ranges_path(weights).with_suffix(".md").is_file()
    for name, (_, reach) in ranges.items():
        assert reach.min() > 0, name


def test_ranges_are_kept_with_their_weights_and_hold_all_that_was_measured(tmp_path: Path) -> None:
    weights = tmp_path / "span.safetensors"
    assert load_ranges(weights, "abc") is None
    rng = np.random.default_rng(0)
    ends = rng.normal(0, 3, (2, 1000)).astype(np.float32)
    lowest = {"a": ends.min(0), "b": np.array([-0.17, 1e9, 2.0, 28.3], np.float32)}
    highest = {"a": ends.max(0), "b": np.array([5.0, 1e9, 2.0, 28.4], np.float32)}
    save_ranges(lowest, highest, weights, "abc")
    found = load_ranges(weights, "abc")
    assert found is not None
    middle, reach = found["a"]
    assert (middle - reach <= lowest["a"] + 1e-5).all()
    assert (middle + reach >= highest["a"] - 1e-5).all()
    spread = np.maximum(highest["a"] - lowest["a"], abs(middle) / 7)
    assert np.median(2 * reach / spread) < 1.2
    middle, reach = found["b"]
    assert reach[1] > 1e5  # the most that a byte can say
    assert middle[2:] + reach[2:] == pytest.approx([2.0, 28.4], rel=0.2)
    with pytest.raises(ModelError, match=r"is of other weights, abc; span.safetensors is def; delete it, or"):
        load_ranges(weights, "def")
    ranges_path(weights).write_bytes(b"nothing")
    with pytest.raises(ModelError, match=r"cannot be read .*storyqa train ranges"):
        load_ranges(weights, "abc")


def test_nothing_that_was_measured_lies_beyond_the_ranges_and_larger_numbers_do(
    model: Transformer, ids: Ids, watched: Watched
) -> None:
    assert share_cut(model, watched.bounds, ids) == 0
    lowest, highest = ({name: 0.5 * one for name, one in found.items()} for found in watched.bounds)
    assert 0 < share_cut(model, (lowest, highest), ids) < 0.5
    assert share_cut(model, (lowest, highest), []) == 0
    layers = model.config.num_hidden_layers
    assert len(highest) == 4 * layers  # attention's three share one


@pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is not installed")
def test_states_by_fixed_scales_are_near_those_of_floating_point(
    model: Transformer, ids: Ids, watched: Watched
) -> None:
    from encoders.openvino_layers import OpenVINOTransformer

    arrays = {name: one.detach().numpy() for name, one in model.named_parameters()}

    def off(scale: float) -> float:
        ranges = {
            name: Range((low + high) / 2, (high - low) / 2 * scale)
            for (name, low), high in zip(watched.bounds[0].items(), watched.bounds[1].values(), strict=True)
        }
        layers = OpenVINOTransformer(arrays, model.config, "fp32", int8=True, ranges=ranges)
        return float(np.mean([_distance(model, layers, text) for text in ids]))

    right = off(1.0)
    assert 0 < right < 0.1  # of a state's length
    assert off(0.5) > 2 * right
    assert off(16.0) > 2 * right


def _distance(model: Transformer, layers: object, text: tuple[list[int], list[int]]) -> float:
    """How far the states of a text are from torch's, as a share of their length."""
    tokens, types = (np.array([one], np.int64) for one in text)
    found: NDArray[np.float32] = layers(tokens, None, types).last_hidden_state  # type: ignore[operator]
    with torch.inference_mode():
        wanted = model(torch.from_numpy(tokens), None, torch.from_numpy(types)).last_hidden_state.numpy()
    return float(np.linalg.norm(found - wanted) / np.linalg.norm(wanted))


@pytest.mark.training
@pytest.mark.parametrize("name", ["span.safetensors", "dense.safetensors"])
def test_ranges_are_measured_for_the_encoder_of_a_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    data = folktales.write_many_tales(tmp_path / "data", "train", stories=12)
    own = tmp_path / "own"
    own.mkdir()
    arguments = ["train", "ranges", "--data", str(data), "--start", str(own), "--out", str(own), "--json"]
    assert run(arguments) == 2
    assert "has neither span.safetensors nor dense.safetensors" in capsys.readouterr().err
    shutil.copyfile(SHIPPED[0].parent / name, own / name)
    assert run([*arguments, "--texts", "12"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["weights"] == [str(ranges_path(own / name))]
    assert report["held_out"][f"{Path(name).stem}_cut_per_million"] >= 0
    card = ranges_path(own / name).with_suffix(".md").read_text(encoding="utf-8")
    assert file_hash(own / name) in card
    assert load_ranges(own / name, file_hash(own / name)) is not None
    if name == cross_encoder.WEIGHTS:
        encoder = cross_encoder.load_crossencoder(str(own))
        [[passage]] = encoder.encode([("What was the goose called?", folktales.GOOSE[:1])])
        assert passage.windows
    else:
        assert bi_encoder.load_encoder(str(own)).encode(["a goose"]).shape == (1, 384)

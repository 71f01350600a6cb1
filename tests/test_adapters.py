"""Files of weights: what is kept of a matrix is its change, and what is read is the matrix."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from encoders.adapters import CHANGE, NUMPY, STEP, STEPS, Weights, load_weights
from encoders.backbone import MINILM, base_tensors
from encoders.errors import ModelError
from training.export import save_weights

MATRIX = "encoder.layer.1.attention.self.query.weight"
BIAS = "encoder.layer.1.attention.self.query.bias"
DOWN, UP = (f"encoder.layer.2.output.dense.lora_{end}" for end in "AB")
LANGUAGE = "model.layers.0.mlp.down_proj.lora_A"
HEAD = "head.weight"


@pytest.fixture(scope="module")
def trained() -> dict[str, torch.Tensor]:
    """Parameters of each kind, a little away from the backbone's; one row has not changed."""
    torch.manual_seed(1)
    base = base_tensors()
    matrix = base[MATRIX] + 0.005 * torch.randn(base[MATRIX].shape)
    matrix[3] = base[MATRIX][3]
    return {
        MATRIX: matrix,
        BIAS: base[BIAS] + 0.01,
        DOWN: torch.tensor([[1.0], [0.5], [0.02], [0.0]]) * torch.randn(4, 1_536),
        UP: torch.tensor([0.01, 0.3, 2.0, 0.0]) * torch.randn(384, 4),
        LANGUAGE: torch.randn(4, 30),
        HEAD: torch.randn(3, 384),
    }


@pytest.fixture(scope="module")
def path(trained: dict[str, torch.Tensor], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_weights(
        Weights(MINILM, trained), tmp_path_factory.mktemp("run") / "span.safetensors", {"seed": 5}
    )


def test_a_matrix_is_read_as_it_was_trained_but_for_half_a_step_and_all_else_in_fp16(
    trained: dict[str, torch.Tensor], path: Path
) -> None:
    read = load_weights(path).tensors
    assert read.keys() == trained.keys()
    base = base_tensors()[MATRIX]
    step = (trained[MATRIX] - base).abs().amax(1, keepdim=True) / STEPS
    assert ((read[MATRIX] - trained[MATRIX]).abs() <= 0.51 * step + 1e-8).all()
    assert torch.equal(read[MATRIX][3], base[3])
    for name in (BIAS, LANGUAGE, HEAD):
        assert torch.equal(read[name], trained[name].half())


@pytest.mark.parametrize(("name", "over"), [(DOWN, 1), (UP, 0)])
def test_each_rank_of_an_adapter_has_steps_of_its_own(
    trained: dict[str, torch.Tensor], path: Path, name: str, over: int
) -> None:
    step = trained[name].abs().amax(over, keepdim=True) / STEPS
    assert step.numel() == 4
    assert ((load_weights(path).tensors[name] - trained[name]).abs() <= 0.51 * step + 1e-8).all()
    product = trained[UP] @ trained[DOWN]
    read = load_weights(path).tensors
    assert (read[UP] @ read[DOWN] - product).norm() < 0.02 * product.norm()


def test_the_file_takes_a_byte_for_each_weight_of_a_matrix_and_knows_its_run(
    trained: dict[str, torch.Tensor], path: Path
) -> None:
    kept = load_file(path)
    assert kept[MATRIX + CHANGE].dtype == torch.int8
    assert kept[MATRIX + CHANGE].shape == trained[MATRIX].shape
    assert (
        path.stat().st_size
        < trained[MATRIX].numel() + 4 * 384 + 2 * (384 + 3 * 384) + 4 * (1_536 + 384) + 3_000
    )
    with safe_open(path, "pt") as file:
        assert json.loads(file.metadata()["settings"]) == {"seed": 5}


def test_numpy_reads_what_torch_reads(path: Path) -> None:
    for name, tensor in load_weights(path).tensors.items():
        array = load_weights(path, NUMPY).tensors[name]
        assert isinstance(array, np.ndarray)
        assert np.array_equal(array, tensor.numpy())


@pytest.mark.parametrize("broken", ["no step", "no such parameter"])
def test_a_change_of_nothing_is_an_error(path: Path, tmp_path: Path, broken: str) -> None:
    kept = load_file(path)
    if broken == "no step":
        del kept[MATRIX + STEP]
    else:
        kept["encoder.layer.99.weight" + CHANGE] = kept.pop(MATRIX + CHANGE)
        kept["encoder.layer.99.weight" + STEP] = kept.pop(MATRIX + STEP)
    wrong = tmp_path / "wrong.safetensors"
    save_file(kept, wrong, metadata={"backbone": MINILM.sha256})
    with pytest.raises(ModelError, match="changes no parameter of the backbone; train the model again"):
        load_weights(wrong)

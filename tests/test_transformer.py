"""The encoders of the backbones beside those of transformers: equal states and gradients, padded or not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shelf
import tiny_models
import torch
from transformers import AutoModel

from encoders.backbone import backbone_folder
from encoders.transformer import ARCHITECTURES, Transformer
from encoders.transformer_config import TransformerConfig, distance_buckets
from indexing.store import IndexStore


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder with a model for each architecture."""
    tiny = tiny_models.save_mpnet(tmp_path_factory.mktemp("models") / "mpnet")
    return {"BertModel": backbone_folder(), "MPNetModel": tiny}


def _models(architecture: str, folder: Path) -> tuple[Any, Any]:
    theirs = AutoModel.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float32).eval()
    ours = Transformer(architecture, TransformerConfig.read(folder)).eval()
    ours.load_state_dict(theirs.state_dict(), strict=True)
    return ours, theirs


def _inputs(architecture: str, words: int) -> dict[str, torch.Tensor]:
    """Three texts of unequal length, padded as the architecture is."""
    pad = {"BertModel": 0, "MPNetModel": 1}[architecture]
    ids = torch.arange(5, 5 + 3 * 160).reshape(3, 160) % (words - 5) + 5
    mask = (torch.arange(160) < torch.tensor([[160], [97], [3]])).long()
    inputs = {"input_ids": torch.where(mask == 1, ids, pad), "attention_mask": mask}
    if architecture == "BertModel":
        inputs["token_type_ids"] = (torch.arange(160) > 40).long().expand(3, -1)
    return inputs


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_states_are_those_of_transformers(architecture: str, masked: bool, folders: dict[str, Path]) -> None:
    ours, theirs = _models(architecture, folders[architecture])
    inputs = _inputs(architecture, ours.config.vocab_size)
    mask = inputs["attention_mask"][..., None] if masked else 1
    if not masked:
        del inputs["attention_mask"]
    with torch.inference_mode():
        found, wanted = (model(**inputs).last_hidden_state * mask for model in (ours, theirs))
    torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_gradients_are_those_of_transformers(architecture: str, folders: dict[str, Path]) -> None:
    models = _models(architecture, folders[architecture])
    inputs = _inputs(architecture, models[0].config.vocab_size)
    for model in models:
        states = model(**inputs).last_hidden_state * inputs["attention_mask"][..., None]
        (states[:, 0] ** 2).sum().backward()
    ours, theirs = (dict(model.named_parameters()) for model in models)
    assert ours.keys() == theirs.keys()
    for name, parameter in ours.items():
        if name.endswith(("key.bias", "k.bias")):
            # It adds the same to all that a query is compared with, which changes nothing but by rounding.
            assert parameter.grad.abs().max() < 1e-5
        elif theirs[name].grad is not None and parameter.grad is not None:
            scale = float(theirs[name].grad.abs().max()) + 1e-6
            torch.testing.assert_close(parameter.grad, theirs[name].grad, atol=1e-4 * scale, rtol=1e-3)
    assert sum(parameter.grad is not None for parameter in ours.values()) > 0.9 * len(ours)


def test_near_distances_have_buckets_of_their_own_and_directions_apart() -> None:
    distances = np.arange(-400, 401)
    buckets = distance_buckets(distances, 32)
    assert buckets.min() == 0
    assert buckets.max() == 31
    near = np.abs(distances) < 8
    assert len(set(buckets[near].tolist())) == 15
    backwards = buckets[distances < 0][::-1]
    assert (np.diff(backwards) >= 0).all()  # further never counts as nearer
    assert np.array_equal(buckets[distances > 0], backwards + 16)


@pytest.mark.processes
def test_a_question_on_the_command_line_imports_no_more_than_it_needs(
    shelf_store: IndexStore,
) -> None:
    book, question = shelf.QUESTIONS[0]
    asked = ["ask", book, question, "--store", str(shelf_store.root), "--json"]
    code = (
        f"import json, sys\nfrom service.cli import run\ncode = run({asked!r})\n"
        "heavy = {'transformers', 'fastapi', 'torch._dynamo', 'sympy', 'sklearn'}\n"
        "print(json.dumps([code, sorted(heavy & sys.modules.keys())]), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(done.stderr.splitlines()[-1]) == [0, []]
    assert json.loads(done.stdout)["answer"]

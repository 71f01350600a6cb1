"""The runtime that encoders run in: OpenVINO beside torch, and how one of them is picked.

What int8 and bf16 lose is in tests/test_instruction_sets.py: these tests run in fp32.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

import pytest
import tiny_models
import torch

from encoders.backbone import load_backbone
from encoders.errors import ModelError
from encoders.runtime import OPENVINO, TORCH, VARIABLE, Runtime, pick_runtime, running
from encoders.transformer import Transformer, TransformerConfig
from readers.default.decoder_weights import words_of
from readers.default.pointer_generator import WIDTH, PointerDecoder

FP32 = Runtime(OPENVINO, torch.device("cpu"), torch.float32)
ROOT = Path(__file__).parents[1]
needs_openvino = pytest.mark.skipif(find_spec("openvino") is None, reason="OpenVINO is not installed")


@pytest.fixture(scope="module", params=["BertModel", "MPNetModel"])
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Transformer:
    """An encoder of each architecture; the one of MPNet is tiny, and as wide as no group of weights."""
    if request.param == "BertModel":
        return load_backbone()
    from transformers import AutoModel

    folder = tiny_models.save_mpnet(tmp_path_factory.mktemp("models") / "mpnet")
    theirs = AutoModel.from_pretrained(folder, add_pooling_layer=False, dtype=torch.float32)
    ours = Transformer("MPNetModel", TransformerConfig.read(folder)).eval().requires_grad_(False)
    ours.load_state_dict(theirs.state_dict(), strict=True)
    return ours


def _batch(model: Transformer, lengths: tuple[int, ...]) -> dict[str, torch.Tensor]:
    """Texts of these lengths, padded; of two types of tokens where the model knows types."""
    longest = max(lengths)
    places = torch.arange(longest)
    mask = (places < torch.tensor(lengths)[:, None]).long()
    ids = (torch.arange(len(lengths) * longest).reshape(mask.shape) * 7) % (model.config.vocab_size - 5) + 5
    batch = {
        "input_ids": torch.where(mask == 1, ids, model.config.pad_token_id),
        "attention_mask": mask,
        "token_type_ids": (places > longest // 3).long().expand(len(lengths), -1),
    }
    if not bool((mask == 0).any()):
        del batch["attention_mask"]
    return batch


@needs_openvino
@pytest.mark.parametrize("lengths", [(1,), (40,), (33, 33), (64, 9, 1)])
def test_states_in_openvino_are_those_of_torch(model: Transformer, lengths: tuple[int, ...]) -> None:
    batch = _batch(model, lengths)
    real = batch.get("attention_mask", torch.ones_like(batch["input_ids"]))[..., None]
    found, wanted = (layers(**batch).last_hidden_state * real for layers in (running(model, FP32), model))
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


@needs_openvino
def test_threads_share_a_model_and_what_it_said_stays_as_it_was(model: Transformer) -> None:
    layers = running(model, FP32)
    batches = [_batch(model, (n, 2 * n)) for n in range(3, 11)]
    alone = [layers(**batch).last_hidden_state for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda batch: layers(**batch).last_hidden_state, batches * 4))
    for found, wanted in zip(together, alone * 4, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-6)


@needs_openvino
def test_the_decoder_in_openvino_says_what_it_says_in_torch() -> None:
    torch.manual_seed(3)
    decoder, words = PointerDecoder.from_backbone().eval(), words_of(torch.device("cpu"))
    states, ids = torch.randn(2, 30, WIDTH), torch.randint(1000, 5000, (2, 30))
    mask = (torch.arange(30) < torch.tensor([[30], [21]])).expand(2, -1)
    tokens = torch.randint(1000, 5000, (6, 4))

    def said() -> list[torch.Tensor]:
        with torch.inference_mode():
            step = decoder(tokens, decoder.memory(states, ids, mask, mask), words)
        return [step.log_vocabulary, step.attention, step.log_generates, step.log_copies]

    wanted = said()
    decoder.run_in(FP32, words)
    for one, other in zip(said(), wanted, strict=True):
        torch.testing.assert_close(one, other, atol=1e-4, rtol=1e-4)


@needs_openvino
@pytest.mark.processes
def test_openvino_is_imported_without_what_reports_to_its_makers() -> None:
    code = (
        "import json, sys; from encoders.runtime import *; from encoders.backbone import load_backbone; "
        "running(load_backbone(), pick_runtime()); print(json.dumps([str(pick_runtime()), *sys.modules]))"
    )
    around = {**_unlimited(), VARIABLE: OPENVINO}
    done = subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True, cwd=ROOT)
    picked, *modules = json.loads(done.stdout)
    assert picked.startswith("openvino ")
    assert not [name for name in modules if "telemetry" in name]


def _unlimited() -> dict[str, str]:
    """The environment of a user, who holds no processor back."""
    return {k: v for k, v in os.environ.items() if not k.endswith(("_MAX_CPU_ISA", "_CPU_CAPABILITY"))}


@needs_openvino
def test_openvino_runs_where_it_is_installed_unless_something_says_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert pick_runtime().name == TORCH  # for tests hold the processor back
    for name in ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"):
        monkeypatch.delenv(name, raising=False)
    if not torch.cuda.is_available():
        assert pick_runtime().name == OPENVINO
    assert pick_runtime(TORCH).name == TORCH
    monkeypatch.setenv(VARIABLE, TORCH)
    assert pick_runtime().name == TORCH
    monkeypatch.setenv(VARIABLE, "")
    assert pick_runtime().name in (TORCH, OPENVINO)


@needs_openvino
def test_a_processor_that_is_held_back_gets_no_int8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, OPENVINO)
    assert pick_runtime() == FP32
    assert str(pick_runtime()).endswith(" on cpu in fp32")


def test_an_unknown_runtime_is_said_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "onnx")
    with pytest.raises(ModelError, match="STORYQA_RUNTIME is 'onnx'; wanted torch or openvino"):
        pick_runtime()

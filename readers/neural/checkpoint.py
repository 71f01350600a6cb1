"""The checkpoint of a model without a backbone: its tensors, its vocabulary, what it was trained on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.adapters import file_hash
from encoders.errors import ModelError
from readers.neural.vocabulary import Vocabulary

if TYPE_CHECKING:
    import torch

SUFFIX = ".safetensors"
_SCALE = ".scale"  # after the name of a matrix in int8: what each of its rows is multiplied by
RANKING_SUFFIX = "-mrr"  # after the name of a checkpoint that ranks, where another one answers


@dataclass(frozen=True)
class Checkpoint:
    """``sizes`` are the keywords that the model is made with, beside the number of words it knows.

    ``options`` are what a reader has to know of how it was trained.
    """

    sizes: Mapping[str, int]
    vocabulary: Vocabulary
    tensors: Mapping[str, torch.Tensor]
    trained_on: str
    version: str | None = None
    options: Mapping[str, bool] = field(default_factory=dict)

    def load_into(self, model: torch.nn.Module) -> None:
        """Give the model these weights; raises ModelError where they do not fit."""
        try:
            model.load_state_dict({name: _as_computed(tensor) for name, tensor in self.tensors.items()})
        except RuntimeError as error:
            raise ModelError(f"the weights do not fit ({error}); train the model again") from error

    def save(self, path: Path, settings: Mapping[str, Any], int8: bool = False) -> Path:
        """Write the file, with the settings of the run that made it; matrices in fp16, or in ``int8``."""
        from safetensors.torch import save_file

        path.parent.mkdir(parents=True, exist_ok=True)
        info = {
            "sizes": json.dumps(dict(self.sizes)),
            "words": json.dumps(self.vocabulary.words, ensure_ascii=False),
            "trained_on": self.trained_on,
            "settings": json.dumps(dict(settings)),
        }
        if self.options:
            info["options"] = json.dumps(dict(self.options))
        found: dict[str, torch.Tensor] = {}
        for name, tensor in self.tensors.items():
            if int8 and tensor.ndim == 2 and tensor.is_floating_point():
                found[name], found[name + _SCALE] = quantise_rows(tensor.detach().cpu())
            elif tensor.is_floating_point():
                found[name] = tensor.detach().half().cpu().contiguous()
            else:
                found[name] = tensor.cpu().contiguous()
        save_file(found, path, metadata=info)
        return path


def _as_computed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.float() if tensor.is_floating_point() else tensor


def quantise_rows(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """int8 of a matrix (rows, columns) and the scale of each row, fp16 (rows,): their product is near it."""
    scale = (matrix.float().abs().amax(1) / 127).half().clamp_min(1e-7)
    return (matrix / scale.float()[:, None]).round().clamp(-127, 127).char(), scale


def _read_tensors(file: Any) -> dict[str, torch.Tensor]:
    tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no dict
    for name in [name for name in tensors if name.endswith(_SCALE)]:
        scale = tensors.pop(name)
        matrix = name.removesuffix(_SCALE)
        tensors[matrix] = tensors[matrix].float() * scale.float()[:, None]
    return tensors


def load(name: str, argument: str | None, remedy: str | None = None) -> Checkpoint:
    """The shipped weights of the reader ``name``, or those that training left in the folder ``argument``.

    Raises ModelError where there are none, or none of such a model; it names the ``remedy``, the command that
    trains them, by default the one called ``name``.
    """
    folder = Path(str(files("readers.weights"))) if argument is None else Path(argument)
    command = remedy or f"storyqa train {name} --data DATA --out {argument or 'FOLDER'}"
    return read(folder / f"{name}{SUFFIX}", command)


def read(path: Path, remedy: str) -> Checkpoint:
    """The weights in a file; raises ModelError, which names the ``remedy``, for a file that is none."""
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise ModelError(f"{path} does not exist; train it: {remedy}")
    try:
        with safe_open(path, "pt") as file:
            info = file.metadata() or {}
            tensors = _read_tensors(file)
        return Checkpoint(
            json.loads(info["sizes"]),
            Vocabulary(json.loads(info["words"])),
            tensors,
            info["trained_on"],
            file_hash(path)[:12],
            json.loads(info.get("options", "{}")),
        )
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error!r}); train it again: {remedy}") from error

"""The file that counting leaves: arrays and words in safetensors, with what they were counted in."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.adapters import file_hash
from encoders.errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

SUFFIX = ".safetensors"


@dataclass(frozen=True)
class ArrayFile:
    """``words`` are what the arrays speak of, by their numbers; ``settings`` whatever else is to be known."""

    arrays: Mapping[str, NDArray[Any]]
    words: Sequence[str]
    trained_on: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None

    def save(self, path: Path) -> Path:
        """Write the file."""
        from safetensors.numpy import save_file

        path.parent.mkdir(parents=True, exist_ok=True)
        info = {
            "words": json.dumps(list(self.words), ensure_ascii=False),
            "trained_on": self.trained_on,
            "settings": json.dumps(dict(self.settings)),
        }
        save_file(dict(self.arrays), path, metadata=info)
        return path


def load(system: str, folder: str | None, benchmark: str = "cbt") -> ArrayFile:
    """What training the ``system`` (a reader's name without its folder) has left in ``folder``.

    Raises ``ModelError``, which says how to train it, where there is nothing of the kind.
    """
    from safetensors import SafetensorError, safe_open

    remedy = f"train it: storyqa train {benchmark} --system {system} --data DATA --out {folder or 'DIR'}"
    if folder is None:
        kind, at, options = system.partition("@")
        raise ModelError(f"the reader {system!r} needs a folder: write {kind}:DIR{at}{options}, or {remedy}")
    path = Path(folder) / f"{system.replace('@', '-')}{SUFFIX}"
    if not path.is_file():
        raise ModelError(f"{path} does not exist; {remedy}")
    try:
        with safe_open(path, "np") as file:
            info = file.metadata() or {}
            return ArrayFile(
                {name: file.get_tensor(name) for name in file.keys()},  # noqa: SIM118, it is no dict
                json.loads(info["words"]),
                info["trained_on"],
                json.loads(info["settings"]),
                file_hash(path)[:12],
            )
    except (OSError, SafetensorError, KeyError, ValueError) as error:
        raise ModelError(f"{path} cannot be read ({error!r}); {remedy}") from error

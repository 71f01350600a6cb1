"""What the decoder is made of: weights from a file, and words, numbered as the small backbone has them."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from encoders.adapters import NUMPY, TORCH, Weights, file_hash, fp32, load_weights
from encoders.backbone import Backbone, load_tokenizer
from encoders.errors import ModelError
from encoders.sizes import weights_folder
from encoders.vocabularies import translation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = "generate.safetensors"


def decoder_tensors(weights: Weights) -> dict[str, Any]:
    """The decoder's parameters in a file, fp32, by name, for torch or NumPy as those of the file are.

    A file may hold those alone that narrow a large encoder's states: the others are the shipped decoder's.
    Raises ModelError where that is another one by now.
    """
    tensors = weights.tensors
    if weights.rest is not None:
        shipped = shipped_decoder()
        if file_hash(shipped) != weights.rest:
            raise ModelError(
                f"{shipped} is not the decoder {weights.rest} that another is part of; train it again"
            )
        framework = TORCH if all(hasattr(one, "detach") for one in tensors.values()) else NUMPY
        tensors = {**load_weights(shipped, framework).tensors, **tensors}
    return {name: fp32(tensor) for name, tensor in tensors.items()}


def shipped_decoder() -> Path:
    """The file of the decoder that reads the small encoder's states."""
    return weights_folder("readers.weights", None) / WEIGHTS


@lru_cache
def word_ids(base: Backbone) -> NDArray[np.int64]:
    """What the decoder's number is of each token id of a backbone."""
    return translation(load_tokenizer(base), load_tokenizer())

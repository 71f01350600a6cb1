"""What the decoder is made of: weights from a file, and words, which it shares with the small backbone."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from encoders.adapters import Weights, file_hash, load_weights
from encoders.backbone import Backbone, base_tensors, load_tokenizer
from encoders.errors import ModelError
from encoders.sizes import weights_folder
from encoders.vocabularies import translation
from readers.default.pointer_generator import WIDTH, PointerDecoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WEIGHTS = "generate.safetensors"


def decoder_tensors(weights: Weights) -> dict[str, torch.Tensor]:
    """The decoder's parameters in a file, fp32, by name.

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
        tensors = {**load_weights(shipped).tensors, **tensors}
    return {name: tensor.float() for name, tensor in tensors.items()}


def shipped_decoder() -> Path:
    """The file of the decoder that reads the small encoder's states."""
    return weights_folder("readers.weights", None) / WEIGHTS


def decoder_of(weights: Weights) -> PointerDecoder:
    """A decoder with the weights of a file; raises ModelError where they do not fit."""
    tensors = decoder_tensors(weights)
    narrow = tensors.get("narrow.weight")
    decoder = PointerDecoder(states=WIDTH if narrow is None else narrow.shape[1])
    try:
        decoder.load_state_dict(tensors)
    except RuntimeError as error:
        raise ModelError(f"the decoder's weights do not fit ({error}); train it again") from error
    return decoder


def words_of(device: torch.device) -> torch.Tensor:
    """The embeddings of the decoder's words, fp32 (vocabulary, width)."""
    return base_tensors()["embeddings.word_embeddings.weight"].float().to(device)


@lru_cache
def word_ids(base: Backbone) -> NDArray[np.int64]:
    """What the decoder's number is of each token id of a backbone."""
    return translation(load_tokenizer(base), load_tokenizer())

"""What the decoder is made of: weights from a file, and words, which it shares with the small backbone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING

import torch

from encoders.backbone import Backbone, base_tensors, load_tokenizer
from encoders.errors import ModelError
from encoders.vocabularies import translation
from readers.default.pointer_generator import PointerDecoder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def decoder_of(tensors: Mapping[str, torch.Tensor]) -> PointerDecoder:
    """A decoder with the weights of a file; raises ModelError where they do not fit."""
    decoder = PointerDecoder(states=tensors["point_key.weight"].shape[1])
    try:
        decoder.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
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

"""What an encoder's ``config.json`` says of it, and how MPNet tells distances apart; without torch."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FARTHEST = 128  # tokens apart, from which all distances are one to MPNet


@dataclass(frozen=True, slots=True)
class TransformerConfig:
    """What ``config.json`` says of an encoder, by the names that it has there; bounds are in tokens."""

    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    layer_norm_eps: float
    max_position_embeddings: int
    pad_token_id: int
    type_vocab_size: int = 0
    relative_attention_num_buckets: int = 0

    @classmethod
    def read(cls, folder: Path) -> TransformerConfig:
        """That of a folder with a ``config.json``."""
        stored = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        return cls(**{one.name: stored[one.name] for one in fields(cls) if one.name in stored})


def distances(tokens: int) -> NDArray[np.int64]:
    """(tokens, tokens), how far it is from one token to another."""
    import numpy as np

    places = np.arange(tokens)
    return places[None, :] - places[:, None]


def distance_buckets(distances: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """The bucket of each distance: half are for either direction, and of each half the first half exact, the
    rest growing as logarithms up to ``FARTHEST`` (Raffel et al. 2020, section 2.1)."""
    import numpy as np

    half = buckets // 2
    exact = half // 2
    far = np.abs(distances)
    share = np.log(np.maximum(far, 1).astype(np.float32) / exact) / math.log(FARTHEST / exact)
    growing = np.minimum(exact + (share * (half - exact)).astype(np.int64), half - 1)
    found: NDArray[np.int64] = np.where(far < exact, far, growing) + half * (distances > 0)
    return found

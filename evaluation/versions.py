"""What a run's predictions depend on besides its options: the code and the weights that are installed."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from encoders.adapters import file_hash
from encoders.bi_encoder import TRAINED, load_encoder
from encoders.bi_encoder import WEIGHTS as ENCODER_WEIGHTS
from encoders.cross_encoder import WEIGHTS as CROSS_ENCODER_WEIGHTS
from encoders.sizes import default_encoder, weights_folder
from retrieval import retriever_class
from retrieval.rerank import RerankRetriever

# What answers pass through, and what scores them.
ROOMS = ("text", "encoders", "indexing", "retrieval", "readers", "answering", "evaluation")


@lru_cache
def code_version() -> str:
    """The first digits of a SHA-256 over all source files of these rooms, their names included."""
    digest = hashlib.sha256()
    for room in ROOMS:
        spec = find_spec(room)
        assert spec is not None
        assert spec.origin is not None
        folder = Path(spec.origin).parent
        for path in sorted(folder.rglob("*.py")):
            digest.update(f"{room}/{path.relative_to(folder).as_posix()}\n".encode())
            digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def encoder_version() -> str:
    """Of the vectors that an index is built with, as benchmarks build it."""
    name = default_encoder()
    return _weights(ENCODER_WEIGHTS, TRAINED[name]) if name in TRAINED else load_encoder(name).hash[:12]


def retriever_version(name: str) -> str | None:
    """Of the cross-encoder that reads for this retriever, None for one that reads nothing."""
    found = retriever_class(name)
    return _weights(CROSS_ENCODER_WEIGHTS, found.size) if issubclass(found, RerankRetriever) else None


def _weights(name: str, size: str | None = None) -> str:
    return file_hash(weights_folder("encoders.weights", size) / name)[:12]

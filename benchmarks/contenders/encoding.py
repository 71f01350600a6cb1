"""The peers that turn texts into vectors."""

from __future__ import annotations

import sys
from typing import Any, Literal


class SentenceTransformers:
    """sentence-transformers as it comes, batches of 32 texts, in torch (fp32) or another of its backends."""

    def prepare(self, model: str, backend: Literal["torch", "onnx", "openvino"] = "torch") -> None:
        """To the latter two backends it exports the model itself."""
        # OpenVINO's converter reports each use to its makers where this package can be imported.
        sys.modules["openvino_telemetry"] = None  # type: ignore[assignment]
        from sentence_transformers import SentenceTransformer

        self.model = SentenceTransformer(model, device="cpu", backend=backend)

    def run(self, texts: list[str]) -> None:
        self.vectors = self.model.encode(texts, show_progress_bar=False)

    def last(self) -> list[list[float]]:
        """The unit vectors of the last run."""
        return unit(self.vectors)


class TxtaiEmbeddings:
    """txtai's ``Embeddings``: means of the last states, transformers in torch (fp32), batches of 32 texts."""

    def prepare(self, model: str) -> None:
        from txtai import Embeddings

        # Left alone it would read all 512 tokens that the model has places for.
        self.embeddings = Embeddings(path=model, maxlength=256, gpu=False)

    def run(self, texts: list[str]) -> None:
        self.vectors = self.embeddings.batchtransform(texts)

    def last(self) -> list[list[float]]:
        """The unit vectors of the last run."""
        return unit(self.vectors)


def unit(vectors: Any) -> list[list[float]]:
    """The vectors, each divided by its length."""
    return [(vector / (vector @ vector) ** 0.5).tolist() for vector in vectors]

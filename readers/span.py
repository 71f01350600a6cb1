"""The default reader: the shared encoder with a start and an end score for every token."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from indexing.backbone import SHA256, load_backbone, load_tokenizer
from indexing.batches import batches
from indexing.device import pick_device, pick_dtype
from indexing.errors import ModelError
from readers.decoding import expected_f1, pool, probabilities, window_candidates, without_overlaps
from readers.pretrained import load_pretrained
from readers.reading import Answer, Reading
from readers.windows import Window, Windower

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray
    from tokenizers import Tokenizer
    from transformers import BertModel

    from readers.decoding import Candidate

# A larger batch leaves the caches of a CPU, and is a seventh slower there.
BATCH_TOKENS = {"cpu": 1536, "cuda": 16384}
LONGEST = 384  # tokens of a window
WEIGHTS = "span.safetensors"
LONGEST_ANSWER = 40  # tokens
KEPT_PER_WINDOW = 20
KEPT = 40


class SpanScorer(Protocol):
    """Scores every token as the answer's start and as its end."""

    def __call__(
        self, ids: torch.Tensor, types: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Shapes (windows, tokens) to two of (windows, tokens), unnormalised log-probabilities."""
        ...


class BackboneScorer:
    """start_i = w_s h_i + b_s and end_i = w_e h_i + b_e (Devlin et al. 2019, section 4.2)."""

    def __init__(self, backbone: BertModel, weight: torch.Tensor, bias: torch.Tensor) -> None:
        """``weight`` has shape (2, width), ``bias`` (2,): start first, then end."""
        self.backbone, self.weight, self.bias = backbone, weight, bias

    def __call__(
        self, ids: torch.Tensor, types: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        import torch

        hidden = self.backbone(input_ids=ids, token_type_ids=types, attention_mask=mask).last_hidden_state
        start, end = torch.nn.functional.linear(hidden, self.weight, self.bias).unbind(-1)
        return start, end

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, torch.Tensor]) -> BackboneScorer:
        """A scorer from ``head.weight``, ``head.bias`` and the backbone parameters that were trained."""
        overlay = {name: tensor.float() for name, tensor in tensors.items() if not name.startswith("head.")}
        return cls(load_backbone(overlay), tensors["head.weight"].float(), tensors["head.bias"].float())


class HuggingFaceScorer:
    """Any Hugging Face question-answering model; ``types`` says whether it is told the segments apart."""

    def __init__(self, model: Any, types: bool) -> None:
        self.backbone, self._types = model, types

    def __call__(
        self, ids: torch.Tensor, types: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        extra = {"token_type_ids": types} if self._types else {}
        output = self.backbone(input_ids=ids, attention_mask=mask, **extra)
        return output.start_logits, output.end_logits


def load_weights(path: Path) -> dict[str, torch.Tensor]:
    """The tensors of a span reader's file. Raises ModelError if unreadable or for another encoder."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            backbone = (file.metadata() or {}).get("backbone")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118, it is no dict
    except (OSError, SafetensorError) as error:
        raise ModelError(f"{path} cannot be read ({error}); train it again or reinstall storyqa") from error
    if backbone != SHA256:
        raise ModelError(f"{path} was trained on the encoder {backbone}, not {SHA256}; train it again")
    return tensors


class SpanReader:
    """Reads every window of every passage and answers with the span of least risk.

    ``version`` tells weights apart: the first digits of their SHA-256, None for a model of the user's own.
    """

    version: str | None = None

    def __init__(
        self, scorer: SpanScorer, tokenizer: Tokenizer, longest: int = LONGEST, overlap: int = 64
    ) -> None:
        self._scorer = scorer
        self._windower = Windower(tokenizer, longest, overlap)
        self.device = pick_device()
        self.dtype = pick_dtype(self.device)
        # What was read last: ranking candidates after answering must not read the passages again.
        self._recent: dict[Reading, list[Candidate]] = {}

    @classmethod
    def load(cls, argument: str | None) -> SpanReader:
        """The shipped reader, or the model that ``argument`` leads to.

        That is a folder in which ``storyqa train span`` left its weights, or the folder or hub name
        of a Hugging Face model. Raises ModelError where there is none or it answers no questions.
        """
        if argument is None:
            return cls._from_file(Path(str(files("readers.weights") / WEIGHTS)))
        if (Path(argument) / WEIGHTS).is_file():
            return cls._from_file(Path(argument) / WEIGHTS)
        model, tokenizer = load_pretrained("AutoModelForQuestionAnswering", argument)
        if not tokenizer.is_fast:
            raise ModelError(
                f"span:{argument} has no fast tokenizer; save one as tokenizer.json beside the model"
            )
        longest = min(
            LONGEST,
            int(tokenizer.model_max_length),
            int(getattr(model.config, "max_position_embeddings", LONGEST)),
        )
        told = "token_type_ids" in tokenizer.model_input_names  # as the publisher's own tokenizer has it
        reader = cls(HuggingFaceScorer(model, told), tokenizer.backend_tokenizer, longest, longest // 3)
        model.to(reader.device, reader.dtype)
        return reader

    @classmethod
    def _from_file(cls, path: Path) -> SpanReader:
        reader = cls.from_tensors(load_weights(path))
        with path.open("rb") as weights:
            reader.version = hashlib.file_digest(weights, "sha256").hexdigest()[:12]
        return reader

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, torch.Tensor]) -> SpanReader:
        """A reader from a checkpoint's tensors (see ``BackboneScorer.from_tensors``)."""
        import torch

        scorer = BackboneScorer.from_tensors(tensors)
        reader = cls(scorer, load_tokenizer())
        torch.nn.Module.to(scorer.backbone, reader.device, reader.dtype)
        scorer.weight = scorer.weight.to(reader.device, reader.dtype)
        scorer.bias = scorer.bias.to(reader.device, reader.dtype)
        return reader

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; an answer's score and confidence are the word F1 it is expected to have."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        return [
            self._answers(reading, candidates, n_best)
            for reading, candidates in zip(readings, self._candidates(readings), strict=True)
        ]

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """See ``Ranker.rank``: the word F1 each candidate is expected to have against the spans read."""
        spans = self._candidates([reading])[0]
        if not spans or not candidates:
            return [0.0] * len(candidates)
        texts = [_text(reading, candidate) for candidate in spans]
        return [float(f1) for f1 in expected_f1(candidates, texts, probabilities(spans))]

    def _answers(self, reading: Reading, candidates: list[Candidate], n_best: int) -> list[Answer]:
        import numpy as np

        if not candidates:
            return []
        texts = [_text(reading, candidate) for candidate in candidates]
        f1 = np.clip(expected_f1(texts, texts, probabilities(candidates)), 0.0, 1.0)
        order = np.argsort(-f1, kind="stable").tolist()  # stable: the likelier span wins a tie
        spans = [candidate.span for candidate in candidates]
        return [
            Answer(texts[i], float(f1[i]), float(f1[i]), spans[i])
            for i in without_overlaps(order, spans, n_best)
        ]

    def _candidates(self, readings: Sequence[Reading]) -> list[list[Candidate]]:
        """The likeliest spans of each reading, best first."""
        recent = self._recent
        if not all(reading in recent for reading in readings):
            # Replaced whole, never changed: other threads may be reading too.
            recent = self._recent = dict(zip(readings, self._read(readings), strict=True))
        return [recent[reading] for reading in readings]

    def _read(self, readings: Sequence[Reading]) -> list[list[Candidate]]:
        windows = [(r, window) for r, found in enumerate(self._windower(readings)) for window in found]
        pooled: list[list[Candidate]] = [[] for _ in readings]
        for (r, window), (start, end) in zip(windows, self._score([w for _, w in windows]), strict=True):
            pooled[r] += window_candidates(window, start, end, LONGEST_ANSWER, KEPT_PER_WINDOW)
        return [pool(candidates, KEPT) for candidates in pooled]

    def _score(self, windows: Sequence[Window]) -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
        """Start and end scores of the context tokens of each window."""
        import torch

        scores: list[Any] = [None] * len(windows)
        lengths = [len(window.ids) for window in windows]
        for batch in batches(lengths, BATCH_TOKENS[self.device.type]):
            ids, types, mask = collate([windows[i] for i in batch])
            mask = None if mask is None else mask.to(self.device)
            with torch.inference_mode():
                start, end = self._scorer(ids.to(self.device), types.to(self.device), mask)
            both = torch.stack([start, end], -1).float().cpu().numpy()  # (windows, tokens, 2)
            for row, i in enumerate(batch):
                context = slice(windows[i].first, windows[i].first + len(windows[i].offsets))
                scores[i] = both[row, context, 0], both[row, context, 1]
        return scores


def collate(windows: Sequence[Window]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Token ids, segment types and attention mask of shape (windows, tokens), padded on the right.

    The mask is None where nothing is padded: attention then takes its fastest path.
    """
    import torch

    longest = max(len(window.ids) for window in windows)
    ids, types, mask = (torch.zeros((len(windows), longest), dtype=torch.long) for _ in range(3))
    for row, window in enumerate(windows):
        ids[row, : len(window.ids)] = torch.tensor(window.ids)
        types[row, : len(window.ids)] = torch.tensor(window.types)
        mask[row, : len(window.ids)] = 1
    return ids, types, None if bool(mask.all()) else mask


def _text(reading: Reading, candidate: Candidate) -> str:
    span = candidate.span
    return reading.passages[span.passage][span.start : span.end]

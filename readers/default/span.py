"""The extractive reader: the span of least risk over all windows of all passages."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from encoders.batches import batches
from encoders.cross_encoder import (
    BATCH_TOKENS,
    LONGEST,
    WEIGHTS,
    CrossEncoder,
    collate,
    load_crossencoder,
)
from encoders.device import pick_device, pick_dtype
from encoders.errors import ModelError
from encoders.windows import Window, Windower
from readers.default.span_decoding import (
    expected_f1,
    pool,
    probabilities,
    window_candidates,
    without_overlaps,
)
from readers.external.huggingface.pretrained import load_pretrained
from readers.reading import Answer, Ranker, Reading

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from readers.default.span_decoding import Candidate

LONGEST_ANSWER = 40  # tokens
KEPT_PER_WINDOW = 20
KEPT = 40

Scores = list[tuple["NDArray[np.float32]", "NDArray[np.float32]"]]


class WindowScorer(Protocol):
    """Cuts passages into windows and scores every token as the answer's start and as its end."""

    @property
    def windows(self) -> Windower:
        """What cuts passages into windows."""
        ...

    def score(self, windows: Sequence[Window]) -> Scores:
        """Start and end scores of the context tokens of each window, unnormalised log-probabilities."""
        ...


class BackboneScorer:
    """The shared cross-encoder's scores."""

    def __init__(self, encoder: CrossEncoder) -> None:
        self.encoder = encoder
        self.windows = encoder.windows

    def score(self, windows: Sequence[Window]) -> Scores:
        """See ``WindowScorer.score``."""
        return [(read.start, read.end) for read in self.encoder.read(windows)]


class HuggingFaceScorer:
    """Any Hugging Face question-answering model."""

    def __init__(self, model: Any, tokenizer: Tokenizer, types: bool, longest: int) -> None:
        """``types`` says whether the model is told the segments apart; it reads ``longest`` tokens."""
        self._device = pick_device()
        self._model = model.to(self._device, pick_dtype(self._device))
        self._types = types
        self.windows = Windower(tokenizer, longest, longest // 3)

    def score(self, windows: Sequence[Window]) -> Scores:
        """See ``WindowScorer.score``."""
        import torch

        scores: list[Any] = [None] * len(windows)
        for batch in batches([len(window.ids) for window in windows], BATCH_TOKENS[self._device.type]):
            ids, types, mask = collate([windows[i] for i in batch])
            told = {"token_type_ids": types.to(self._device)} if self._types else {}
            with torch.inference_mode():
                output = self._model(
                    input_ids=ids.to(self._device),
                    attention_mask=None if mask is None else mask.to(self._device),
                    **told,
                )
            both = torch.stack([output.start_logits, output.end_logits], -1).float().cpu().numpy()
            for row, i in enumerate(batch):
                context = slice(windows[i].first, windows[i].first + len(windows[i].offsets))
                scores[i] = both[row, context, 0], both[row, context, 1]
        return scores


class SpanReader(Ranker):
    """Reads every window of every passage and answers with the span of least risk.

    ``version`` tells weights apart: the first digits of their SHA-256, None for a model of the user's own.
    """

    def __init__(self, scorer: WindowScorer, version: str | None = None) -> None:
        self._scorer = scorer
        self.version = version
        # What was read last: ranking candidates after answering must not decode the passages again.
        self._recent: dict[Reading, list[Candidate]] = {}

    @classmethod
    def load(cls, argument: str | None) -> SpanReader:
        """The shipped reader, or the model that ``argument`` leads to.

        That is a folder in which ``storyqa train span`` left its weights, or the folder or hub name
        of a Hugging Face model. Raises ModelError where there is none or it answers no questions.
        """
        if argument is None or (Path(argument) / WEIGHTS).is_file():
            encoder = load_crossencoder(argument)
            return cls(BackboneScorer(encoder), encoder.version)
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
        return cls(HuggingFaceScorer(model, tokenizer.backend_tokenizer, told, longest))

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

    def certainty(self, reading: Reading) -> float:
        """The probability of the likeliest span; 0 where there is none."""
        (candidates,) = self._candidates([reading])
        return float(probabilities(candidates).max()) if candidates else 0.0

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
        found = self._scorer.windows([(reading.question, reading.passages) for reading in readings])
        windows = [(r, window) for r, of_one in enumerate(found) for window in of_one]
        scores = self._scorer.score([window for _, window in windows])
        pooled: list[list[Candidate]] = [[] for _ in readings]
        for (r, window), (start, end) in zip(windows, scores, strict=True):
            pooled[r] += window_candidates(window, start, end, LONGEST_ANSWER, KEPT_PER_WINDOW)
        return [pool(candidates, KEPT) for candidates in pooled]


def _text(reading: Reading, candidate: Candidate) -> str:
    span = candidate.span
    return reading.passages[span.passage][span.start : span.end]

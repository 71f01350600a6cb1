"""Any Hugging Face question-answering model, as what reads passages for the span reader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from encoders.batches import batches
from encoders.cross_encoder import BATCH_TOKENS, LONGEST, EncodedPassage, EncodedWindow, collate
from encoders.device import pick_device, pick_dtype
from encoders.errors import ModelError
from encoders.windows import Windower
from readers.external.huggingface.pretrained import load_pretrained, version_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer

PAD = 0  # any token: the mask hides it


class QuestionAnsweringEncoder:
    """Start and end scores of a model for extractive question answering; it knows no relevance.

    ``version`` tells the model from others: see ``version_of``.
    """

    def __init__(self, model: Any, tokenizer: Tokenizer, typed: bool, longest: int, version: str) -> None:
        """``typed`` says whether the model is told the segments apart; it reads ``longest`` tokens."""
        self.version = version
        self._device = pick_device()
        self._model = model.to(self._device, pick_dtype(self._device))
        self._typed = typed
        self._windows = Windower(tokenizer, longest, longest // 3)

    @classmethod
    def load(cls, name: str) -> QuestionAnsweringEncoder:
        """The model of a folder or hub name; raises ModelError where it answers no questions."""
        model, tokenizer = load_pretrained("AutoModelForQuestionAnswering", name)
        if not tokenizer.is_fast:
            raise ModelError(
                f"span:{name} has no fast tokenizer; save one as tokenizer.json beside the model"
            )
        longest = min(
            LONGEST,
            int(tokenizer.model_max_length),
            int(getattr(model.config, "max_position_embeddings", LONGEST)),
        )
        typed = "token_type_ids" in tokenizer.model_input_names  # as the publisher's own tokenizer has it
        return cls(model, tokenizer.backend_tokenizer, typed, longest, version_of(name))

    def encode(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[list[EncodedPassage]]:
        """See ``CrossEncoder.encode``; every relevance is 0, and states have width 0."""
        import torch

        cut = self._windows([(question, (one,)) for question, passages in asked for one in passages])
        windows = [window for of_passage in cut for window in of_passage]
        found: dict[int, EncodedWindow] = {}
        for batch in batches([len(window.ids) for window in windows], BATCH_TOKENS[self._device.type]):
            inputs = collate([windows[i] for i in batch], PAD, self._typed).to(self._device)
            with torch.inference_mode():
                output = self._model(**inputs.named)
            scores = torch.stack([output.start_logits, output.end_logits], -1).float().cpu().numpy()
            for row, i in enumerate(batch):
                context = slice(windows[i].first, windows[i].first + len(windows[i].offsets))
                start, end = (scores[row, context, column].copy() for column in (0, 1))
                states = torch.zeros((len(windows[i].ids), 0))
                found[i] = EncodedWindow(windows[i], start, end, 0.0, states)
        read = (found[i] for i in range(len(windows)))
        passages = iter([EncodedPassage(self.version, tuple(next(read) for _ in one)) for one in cut])
        return [[next(passages) for _ in of_question] for _, of_question in asked]

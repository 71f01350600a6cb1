"""The writing reader: a small language model in this process, taught to answer from passages."""

from __future__ import annotations

import copy
import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from encoders.adapters import file_hash, load_weights
from encoders.backbone import LANGUAGE_MODELS
from encoders.batches import batches
from encoders.causal_lm import load_causal_lm
from encoders.device import pick_device, pick_dtype
from encoders.errors import ModelError
from encoders.sizes import weights_folder
from readers.attribution import nearest_sentence
from readers.default.writer_prompt import LONGEST, WritePrompts, is_refusal
from readers.external.checked_reply import REFUSED
from readers.reading import Answer, Ranker, Reading, Span
from text.quote_matching import find_quote

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

log = logging.getLogger(__name__)

WEIGHTS = "write.safetensors"
MAX_NEW_TOKENS = 40
BATCH_TOKENS = 4_096  # prompt tokens per batch, padding included
RANK_TOKENS = 512  # candidate tokens per batch; each takes a row of logits as wide as the vocabulary


class WriteReader(Ranker):
    """Writes answers greedily with a decoder-only language model; one per reading, whatever ``n_best`` is.

    The score is the log-probability of the written tokens, end token included, the confidence its
    geometric mean per token, 0 where the model says that the passages do not tell. An answer rests on the
    sentence nearest to it (``readers.attribution``): where it stands there word for word, it is a span and
    spelt as the passage has it.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        version: str | None = None,
        *,
        max_new_tokens: int = MAX_NEW_TOKENS,
        longest: int = LONGEST,
    ) -> None:
        """``model`` stays where it is, in its number format; ``longest`` limits a prompt's tokens."""
        from transformers import GenerationConfig

        self.version = version
        self._model = model
        self._tokenizer = tokenizer
        self._prompts = WritePrompts(tokenizer, longest)
        self._longest = longest
        self._end = int(tokenizer.eos_token_id)
        self._how = GenerationConfig(  # type: ignore[no-untyped-call]
            eos_token_id=self._end,
            pad_token_id=self._end,  # masked before a prompt, and behind an answer it is the end again
            do_sample=False,
            max_new_tokens=max_new_tokens,
            output_logits=True,
            return_dict_in_generate=True,
        )

    @classmethod
    def load(cls, argument: str | None) -> WriteReader:
        """The shipped reader or that of a run's folder, on the GPU where there is one.

        Raises ModelError for a folder without adapters, without which the model invents, and where the model
        that they stand beside is not installed.
        """
        path = weights_folder("readers.weights", argument) / WEIGHTS
        if not path.is_file():
            raise ModelError(f"{path} is missing; wanted the folder of a run of: storyqa train write")
        weights = load_weights(path, known=LANGUAGE_MODELS)
        model, tokenizer = load_causal_lm(weights.backbone, weights.tensors)
        device = pick_device()
        return cls(model.to(device, pick_dtype(device)), tokenizer, file_hash(path)[:12])

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """See ``Reader.read``; there is no answer either where the question alone fills the prompt."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        prompts: dict[int, list[int]] = {}
        for i, reading in enumerate(readings):
            if any(passage.strip() for passage in reading.passages):
                prompt = self._prompt(reading)
                if prompt is not None:
                    prompts[i] = prompt
        asked = list(prompts)
        answers: list[list[Answer]] = [[] for _ in readings]
        for batch in batches([len(prompts[i]) for i in asked], BATCH_TOKENS):
            members = [asked[i] for i in batch]
            for i, (text, log_probs) in zip(members, self._write([prompts[i] for i in members]), strict=True):
                if text:
                    answers[i] = [_answer(readings[i], text, log_probs)]
        return answers

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """The log-probability of each candidate per token, end token included, given the reading.

        -inf for all where the question alone fills the prompt.
        """
        import torch

        prompt = self._prompt(reading)
        if prompt is None:
            return [-math.inf] * len(candidates)
        targets = [self._prompts.answer(candidate) for candidate in candidates]
        scores = [0.0] * len(candidates)
        device = self._model.device
        with torch.inference_mode():
            # Read once for all candidates, up to the token behind which they begin.
            start = torch.tensor([prompt[:-1]], device=device)
            read = self._model.model(input_ids=start, use_cache=True).past_key_values
            for batch in batches([len(target) for target in targets], RANK_TOKENS):
                rows = [targets[i] for i in batch]
                width = max(map(len, rows))
                ids = torch.tensor([row + [self._end] * (width - len(row)) for row in rows], device=device)
                inputs = torch.cat([torch.full_like(ids[:, :1], prompt[-1]), ids[:, :-1]], dim=1)
                cache = copy.deepcopy(read)  # what is read is added to it
                cache.batch_repeat_interleave(len(rows))
                # (candidates, longest candidate, vocabulary)
                logits = self._model(input_ids=inputs, past_key_values=cache).logits.float()
                chosen = logits.log_softmax(2).gather(2, ids.unsqueeze(2)).squeeze(2)
                for i, row, target in zip(batch, chosen.tolist(), rows, strict=True):
                    scores[i] = math.fsum(row[: len(target)]) / len(target)
        return scores

    def _prompt(self, reading: Reading) -> list[int] | None:
        prompt = self._prompts(reading.question, reading.passages)
        if prompt is None:
            log.warning(
                "a question of %d words fills the model's prompt of %d tokens; nothing can be read",
                len(reading.question.split()),
                self._longest,
            )
        return prompt

    def _write(self, prompts: Sequence[list[int]]) -> list[tuple[str, list[float]]]:
        """Per prompt the answer, and the log-probability of each of its tokens, the end's among them."""
        import torch

        width = max(map(len, prompts))
        device = self._model.device
        # Padded on the left, so that all begin to write at the same place.
        ids = torch.tensor([[self._end] * (width - len(one)) + one for one in prompts], device=device)
        mask = torch.tensor([[0] * (width - len(one)) + [1] * len(one) for one in prompts], device=device)
        with torch.inference_mode():
            written = self._model.generate(input_ids=ids, attention_mask=mask, generation_config=self._how)
            tokens = written.sequences[:, width:]  # (prompts, tokens)
            log_probs = torch.stack(
                [
                    logits.float().log_softmax(1).gather(1, tokens[:, step : step + 1])[:, 0]
                    for step, logits in enumerate(written.logits)
                ],
                dim=1,
            )  # (prompts, tokens)
        found = []
        for row, scores in zip(tokens.tolist(), log_probs.tolist(), strict=True):
            length = row.index(self._end) + 1 if self._end in row else len(row)
            text = self._tokenizer.decode(row[:length], skip_special_tokens=True)
            found.append((" ".join(str(text).split()), scores[:length]))
        return found


def _answer(reading: Reading, text: str, log_probs: Sequence[float]) -> Answer:
    """The written text as an answer, with the place in the passages that it rests on."""
    score = math.fsum(log_probs)
    if is_refusal(text):
        return Answer(text, score, 0.0, None, note=REFUSED)
    confidence = min(1.0, math.exp(score / len(log_probs)))
    nearest = nearest_sentence(reading.passages, text, reading.question)
    if nearest is None:
        return Answer(text, score, confidence, None)
    passage, start, end = nearest
    place = find_quote(reading.passages[passage], text, start, end)
    if place is None:
        return Answer(text, score, confidence, None, Span(passage, start, end))
    return Answer(reading.passages[passage][slice(*place)], score, confidence, Span(passage, *place))

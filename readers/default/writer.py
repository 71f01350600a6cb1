"""The writing reader: a small language model in this process, taught to answer from passages."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
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
from readers.reading import Answer, Rank, Ranker, Reading, Span
from text.quote_matching import find_quote

if TYPE_CHECKING:
    import torch
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
        found = {i: answers for i, answers, _ in self.read_to_rank(readings, n_best)}
        return [found[i] for i in range(len(readings))]

    def read_to_rank(
        self, readings: Sequence[Reading], n_best: int = 1
    ) -> Iterator[tuple[int, list[Answer], Rank]]:
        """See ``Ranker.read_to_rank``: candidates are ranked behind the prompt that was read to write."""
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        prompts: dict[int, list[int]] = {}
        for i, reading in enumerate(readings):
            prompt = self._prompt(reading) if any(map(str.strip, reading.passages)) else None
            if prompt is None:
                yield i, [], partial(self.rank, reading)
            else:
                prompts[i] = prompt
        asked = list(prompts)
        for batch in batches([len(prompts[i]) for i in asked], BATCH_TOKENS):
            members = [asked[i] for i in batch]
            for i, written in zip(members, self._write([prompts[i] for i in members]), strict=True):
                answers = [_answer(readings[i], written)] if written.text else []
                yield i, answers, partial(self._rank, written.read)

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """The log-probability of each candidate per token, end token included, given the reading.

        -inf for all where the question alone fills the prompt.
        """
        import torch

        prompt = self._prompt(reading)
        if prompt is None:
            return [-math.inf] * len(candidates)
        start = torch.tensor([prompt[:-1]], device=self._model.device)
        with torch.inference_mode():
            cache = self._model.model(input_ids=start, use_cache=True).past_key_values
        return self._rank(_Read.of(cache, 0, slice(None), prompt[-1]), candidates)

    def _rank(self, read: _Read, candidates: Sequence[str]) -> list[float]:
        """As ``rank``, behind a prompt that has been read once for all candidates."""
        import torch

        targets = [self._prompts.answer(candidate) for candidate in candidates]
        scores = [0.0] * len(candidates)
        device = self._model.device
        with torch.inference_mode():
            for batch in batches([len(target) for target in targets], RANK_TOKENS):
                rows = [targets[i] for i in batch]
                width = max(map(len, rows))
                ids = torch.tensor([row + [self._end] * (width - len(row)) for row in rows], device=device)
                inputs = torch.cat([torch.full_like(ids[:, :1], read.last), ids[:, :-1]], dim=1)
                # (candidates, longest candidate, vocabulary)
                logits = self._model(input_ids=inputs, past_key_values=read.cache(len(rows))).logits.float()
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

    def _write(self, prompts: Sequence[list[int]]) -> list[_Written]:
        """What is written behind each prompt."""
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
        for i, (prompt, row, scores) in enumerate(
            zip(prompts, tokens.tolist(), log_probs.tolist(), strict=True)
        ):
            length = row.index(self._end) + 1 if self._end in row else len(row)
            text = str(self._tokenizer.decode(row[:length], skip_special_tokens=True))
            read = _Read.of(written.past_key_values, i, slice(width - len(prompt), width - 1), prompt[-1])
            found.append(_Written(" ".join(text.split()), scores[:length], read))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """A prompt as the model has read it, up to the token behind which an answer begins: ``last``.

    ``layers`` are each layer's keys and values, of shape (1, heads, tokens, d).
    """

    last: int
    layers: Sequence[tuple[torch.Tensor, torch.Tensor]]

    @classmethod
    def of(cls, cache: Any, row: int, tokens: slice, last: int) -> _Read:
        """What a cache holds of these tokens of a row; that is not copied."""
        return cls(
            last,
            [
                tuple(kept[row : row + 1, :, tokens] for kept in (one.keys, one.values))
                for one in cache.layers
            ],
        )

    def cache(self, rows: int) -> Any:
        """A cache of so many rows that have all read this; what they read next is kept there alone."""
        from transformers import DynamicCache

        return DynamicCache(
            [(keys.expand(rows, -1, -1, -1), values.expand(rows, -1, -1, -1)) for keys, values in self.layers]
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Written:
    """A written text, the log-probability of each of its tokens, the end's among them, and what was read."""

    text: str
    log_probs: Sequence[float]
    read: _Read


def _answer(reading: Reading, written: _Written) -> Answer:
    """The written text as an answer, with the place in the passages that it rests on."""
    text, score = written.text, math.fsum(written.log_probs)
    if is_refusal(text):
        return Answer(text, score, 0.0, None, note=REFUSED)
    confidence = min(1.0, math.exp(score / len(written.log_probs)))
    nearest = nearest_sentence(reading.passages, text, reading.question)
    if nearest is None:
        return Answer(text, score, confidence, None)
    passage, start, end = nearest
    place = find_quote(reading.passages[passage], text, start, end)
    if place is None:
        return Answer(text, score, confidence, None, Span(passage, start, end))
    return Answer(reading.passages[passage][slice(*place)], score, confidence, Span(passage, *place))

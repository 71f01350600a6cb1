"""The generating reader: any Hugging Face encoder-decoder model, greedy or with beams."""

from __future__ import annotations

import logging
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from encoders.batches import batches
from encoders.device import pick_device, pick_dtype
from encoders.errors import ModelError
from readers.external.huggingface.pretrained import load_config, load_pretrained, version_of
from readers.external.huggingface.prompts import DELIMITER, count_tokens, prompt
from readers.reading import Answer, Ranker, Reading, merged

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import GenerationConfig, PreTrainedTokenizerBase

log = logging.getLogger(__name__)

FORM = "seq2seq:PATH_OR_NAME"  # or with beams: seq2seq:PATH_OR_NAME@beams=4
MOST_BEAMS = 32
LONGEST_UNKNOWN = 1024  # input tokens of models that state no limit; their positions are relative
BATCH_TOKENS = 4096  # input tokens per batch, padding included
RANK_TOKENS = 512  # candidate tokens per batch; each takes a row of logits as wide as the vocabulary


class Seq2SeqReader(Ranker):
    """Generates answers, so they have no span.

    The score is the log-probability of the generated tokens, end token included; the confidence
    its geometric mean per token. Beams are ordered by the score itself, without length penalty.
    With one beam there is one answer whatever ``n_best`` is.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        *,
        num_beams: int = 1,
        max_new_tokens: int = 48,
        longest: int | None = None,
        delimiter: str = DELIMITER,
        version: str | None = None,
    ) -> None:
        """``longest`` is the limit on input tokens, by default what model and tokenizer state."""
        self.version = version
        self._tokenizer = tokenizer
        self._device = pick_device()
        self._model = model.to(self._device, pick_dtype(self._device))
        # Only the special tokens are kept: a summariser's minimum length is not for answers.
        self._tokens = model.generation_config = _special_tokens(model)
        self._num_beams = num_beams
        self._longest_target = _target_limit(model)
        self._max_new_tokens = min(max_new_tokens, self._longest_target)
        self._longest = longest or _input_limit(model, tokenizer)
        self._delimiter = delimiter

    @classmethod
    def load(cls, argument: str | None, **settings: Any) -> Seq2SeqReader:
        """The model in a folder or on the hub; ``settings`` are the constructor's.

        A name may end in ``@beams=N``. Raises ModelError for no argument, for files that cannot be
        loaded and for other kinds of model.
        """
        name, at, beams = (argument or "").partition("@beams=")
        if not name:
            raise ModelError(
                f"the reader 'seq2seq' needs a model: write {FORM}, such as seq2seq:models/my-t5"
            )
        if at:
            if not beams.isdecimal() or not 1 <= int(beams) <= MOST_BEAMS:
                raise ModelError(f"{beams!r} beams for {name!r}; wanted a number from 1 to {MOST_BEAMS}")
            settings = {"num_beams": int(beams), **settings}
        config = load_config(name)
        kind = ", ".join(config.architectures or [config.model_type])
        if "QuestionAnswering" in kind:
            raise ModelError(f"{name!r} extracts spans and generates nothing; write span:{name}")
        if not config.is_encoder_decoder:
            raise ModelError(
                f"{name!r} is a {kind}, not an encoder-decoder; {FORM} wants one "
                "such as a whole T5 or BART (question-answering models: span:PATH_OR_NAME)"
            )
        loaded = load_pretrained("AutoModelForSeq2SeqLM", name)
        return cls(*loaded, version=version_of(name), **settings)

    def read(self, readings: Sequence[Reading], n_best: int = 1) -> list[list[Answer]]:
        """At most ``n_best`` different answers per reading, none where there is nothing to read.

        There is none either where the question alone fills the model's input.
        """
        if n_best < 1:
            raise ValueError(f"n_best {n_best}; wanted at least 1")
        prompts: dict[int, str] = {}
        for i, reading in enumerate(readings):
            if any(passage.strip() for passage in reading.passages):
                text = self._prompt(reading)
                if text is not None:
                    prompts[i] = text
        asked = list(prompts)
        sizes = [count_tokens(self._tokenizer, prompts[i]) for i in asked]
        answers: list[list[Answer]] = [[] for _ in readings]
        for batch in batches(sizes, BATCH_TOKENS):
            found = self._generate([prompts[asked[i]] for i in batch], n_best)
            for i, best in zip(batch, found, strict=True):
                answers[asked[i]] = best
        return answers

    def rank(self, reading: Reading, candidates: Sequence[str]) -> list[float]:
        """The log-probability of each candidate, end token included, given the reading.

        -inf for all where the question alone fills the model's input. A candidate is cut at the
        longest output that the model can give.
        """
        text = self._prompt(reading)
        if text is None:
            return [-math.inf] * len(candidates)
        targets = [
            self._tokenizer(text_target=candidate, verbose=False)["input_ids"][: self._longest_target]
            for candidate in candidates
        ]
        hidden, mask = self._encode([text])
        scores = [0.0] * len(candidates)
        for batch in batches([len(target) for target in targets], RANK_TOKENS):
            rows = len(batch)
            log_probs = self._log_probs(
                hidden.expand(rows, -1, -1), mask.expand(rows, -1), [targets[i] for i in batch]
            )
            for i, row in zip(batch, log_probs, strict=True):
                scores[i] = math.fsum(row)
        return scores

    def _prompt(self, reading: Reading) -> str | None:
        text = prompt(reading, self._tokenizer, self._longest, self._delimiter)
        if text is None:
            log.warning(
                "a question of %d words fills the model's input of %d tokens; nothing can be read",
                len(reading.question.split()),
                self._longest,
            )
        return text

    def _encode(self, prompts: list[str]) -> tuple[Tensor, Tensor]:
        """The encoder's states (prompts, tokens, width) and the mask of real tokens (prompts, tokens)."""
        import torch

        batch = self._tokenizer(prompts, padding=True, return_tensors="pt", verbose=False).to(self._device)
        ids, mask = batch["input_ids"], batch["attention_mask"]
        with torch.inference_mode():
            encoded = self._model.get_encoder()(input_ids=ids, attention_mask=mask, return_dict=True)
        return encoded.last_hidden_state, mask

    def _generate(self, prompts: list[str], n_best: int) -> list[list[Answer]]:
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        hidden, mask = self._encode(prompts)
        rows = max(1, min(n_best, self._num_beams))  # answers per prompt
        with torch.inference_mode():
            sequences = self._model.generate(
                encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
                attention_mask=mask,
                num_beams=self._num_beams,
                num_return_sequences=rows,
                max_new_tokens=self._max_new_tokens,
                **({"length_penalty": 0.0} if self._num_beams > 1 else {}),
            )  # (prompts * rows, tokens)
        targets = [self._until_end(row[1:]) for row in sequences.tolist()]
        log_probs = self._log_probs(
            hidden.repeat_interleave(rows, 0), mask.repeat_interleave(rows, 0), targets
        )
        texts = self._tokenizer.batch_decode(targets, skip_special_tokens=True)
        found = [_answer(text.strip(), row) for text, row in zip(texts, log_probs, strict=True)]
        return [_best(found[i : i + rows]) for i in range(0, len(found), rows)]

    def _log_probs(self, hidden: Tensor, mask: Tensor, targets: Sequence[list[int]]) -> list[list[float]]:
        """Per target the log-probability of each of its tokens given those before it and the reading.

        ``hidden`` has shape (targets, tokens, width), ``mask`` (targets, tokens). A first token that
        the model is forced to write is left out: it was no choice.
        """
        import torch
        from transformers.modeling_outputs import BaseModelOutput

        lengths = [len(target) for target in targets]
        pad = self._tokens.pad_token_id
        padded = [target + [pad] * (max(lengths) - len(target)) for target in targets]
        ids = torch.tensor(padded, device=self._device)  # (targets, longest target)
        start = torch.full_like(ids[:, :1], self._tokens.decoder_start_token_id)
        with torch.inference_mode():
            logits = self._model(
                encoder_outputs=BaseModelOutput(last_hidden_state=hidden),
                attention_mask=mask,
                decoder_input_ids=torch.cat([start, ids[:, :-1]], dim=1),
                use_cache=False,
            ).logits.float()  # (targets, longest target, vocabulary)
            chosen = logits.gather(2, ids.unsqueeze(2)).squeeze(2)
            log_probs = chosen - logits.logsumexp(2)  # (targets, longest target)
        forced = self._tokens.forced_bos_token_id
        return [
            row[int(target[:1] == [forced]) : length]
            for row, target, length in zip(log_probs.tolist(), targets, lengths, strict=True)
        ]

    def _until_end(self, row: list[int]) -> list[int]:
        """The tokens up to the first end token, which is kept."""
        ends = self._tokens.eos_token_id
        ends = ends if isinstance(ends, list) else [ends]
        return row[: next((i + 1 for i, token in enumerate(row) if token in ends), len(row))]


def _answer(text: str, log_probs: list[float]) -> Answer:
    score = math.fsum(log_probs)
    return Answer(text, score, min(1.0, math.exp(score / max(1, len(log_probs)))), None)


def _best(answers: Sequence[Answer]) -> list[Answer]:
    """Best first, those that differ; an output of special tokens alone is no answer."""
    best = sorted((answer for answer in answers if answer.text), key=lambda answer: -answer.score)
    return merged(best, len(best))


def _special_tokens(model: Any) -> GenerationConfig:
    """Start, end, padding and forced tokens; older models keep them in their configuration."""
    from transformers import GenerationConfig

    names = ("decoder_start_token_id", "bos_token_id", "eos_token_id", "pad_token_id", "forced_bos_token_id")
    found: dict[str, Any] = {}
    for name in names:
        value = getattr(model.generation_config, name, None)
        found[name] = getattr(model.config, name, None) if value is None else value
    if found["decoder_start_token_id"] is None:
        found["decoder_start_token_id"] = found["bos_token_id"]
    for name in ("decoder_start_token_id", "eos_token_id", "pad_token_id"):
        if found[name] is None:
            raise ModelError(f"the model states no {name}; set it in its generation_config.json")
    return GenerationConfig(**found)  # type: ignore[no-untyped-call]


def _input_limit(model: Any, tokenizer: PreTrainedTokenizerBase) -> int:
    """How many tokens the encoder reads: the least of the limits that model and tokenizer state."""
    config = getattr(model.config, "encoder", model.config)
    stated = [
        getattr(config, name, None)
        for name in ("max_encoder_position_embeddings", "max_position_embeddings", "n_positions")
    ]
    if tokenizer.model_max_length < 1_000_000:  # a tokenizer without limit says 10 ** 30
        stated.append(tokenizer.model_max_length)
    return min((int(limit) for limit in stated if limit), default=LONGEST_UNKNOWN)


def _target_limit(model: Any) -> int:
    """How many tokens the decoder can write."""
    config = getattr(model.config, "decoder", model.config)
    stated = [
        getattr(config, name, None) for name in ("max_decoder_position_embeddings", "max_position_embeddings")
    ]
    return min((int(limit) for limit in stated if limit), default=LONGEST_UNKNOWN)

"""The pointer-generator, and any other decoder of torch, in beam search: on a GPU or the CPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import torch
from torch.nn.utils.rnn import pad_sequence

from encoders.backbone import base_tensors
from encoders.errors import ModelError
from readers.default import beam_search
from readers.default.beam_search import Written
from readers.default.decoder_weights import decoder_tensors
from readers.default.decoding import LONGEST, WIDTH, Read, Said
from readers.default.pointer_generator import Memory, Past, PointerDecoder, Step, for_each

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from encoders.adapters import Weights
    from readers.default.wording import Wording


class Growing(Protocol):
    """As ``beam_search.Growing``, in tensors, and of the whole vocabulary."""

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        """log P of the next token, (answers, vocabulary), after one more token each, (answers,)."""
        ...

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with these answers, in this order."""
        ...


def grow(
    growing: Growing, readings: int, device: torch.device, begin: int, end: int, beams: int, longest: int
) -> list[list[Written]]:
    """See ``beam_search.grow``; the likeliest tokens are picked on the device."""
    return beam_search.grow(_Picking(growing, device), readings, begin, end, beams, longest)


class _Picking:
    """See ``beam_search.Growing``."""

    def __init__(self, growing: Growing, device: torch.device) -> None:
        self._growing, self._device = growing, device

    def next(
        self, tokens: Sequence[int], never: Sequence[int], most: int
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        log_p = self._growing.next(torch.tensor(tokens, device=self._device))
        log_p[:, list(never)] = -torch.inf
        values, numbers = log_p.topk(min(most, log_p.shape[1]), dim=1)
        return values.float().cpu().numpy(), numbers.cpu().numpy()

    def keep(self, rows: Sequence[int]) -> None:
        self._growing.keep(torch.tensor(rows, device=self._device))


def distribution(step: Step, memory_ids: torch.Tensor) -> torch.Tensor:
    """P(w) of the last position, (answers, vocabulary): See et al. 2017, equation 9.

    ``memory_ids`` (readings, memory) are those of all answers to a reading.
    """
    generated = (step.log_vocabulary[:, -1] + step.log_generates[:, -1:]).exp()
    copied = step.attention[:, -1] * step.log_copies[:, -1:].exp()
    return generated.scatter_add(1, for_each(memory_ids, len(generated)), copied)


class _Pointing:
    """A pointer-generator; what it may write next is for ``wording`` to say, one for each reading."""

    def __init__(
        self, decoder: PointerDecoder, memory: Memory, words: torch.Tensor, wording: Sequence[Wording]
    ) -> None:
        self._decoder, self._memory, self._words, self._wording = decoder, memory, words, wording
        self._past = Past()
        self._written: list[tuple[int, ...]] = []

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        """See ``Growing.next``."""
        step = self._decoder(tokens[:, None], self._memory, self._words, self._past)
        log_p = distribution(step, self._memory.ids).clamp_min(1e-12).log()
        last = tokens.tolist()
        self._written = [
            (*some, one) for some, one in zip(self._written or [()] * len(last), last, strict=True)
        ]
        answers = len(last) // len(self._wording)
        for row, written in enumerate(self._written):
            self._wording[row // answers].forbid(written[1:], log_p[row])
        return log_p

    def keep(self, rows: torch.Tensor) -> None:
        """See ``Growing.keep``."""
        self._past.keep(rows)
        self._written = [self._written[row] for row in rows.tolist()]


class TorchDecoding:
    """See ``Decoding``; the decoder is moved to the device."""

    def __init__(self, decoder: PointerDecoder, device: torch.device) -> None:
        self._decoder = decoder.to(device).eval()
        self._device = device
        self._words = words_of(device)

    def mask(self, of_words: NDArray[np.bool_]) -> torch.Tensor:
        """See ``Decoding.mask``."""
        return torch.from_numpy(of_words).to(self._device)

    def read(self, readings: Sequence[Read]) -> Memory:
        """See ``Decoding.read``."""
        with torch.inference_mode():
            states = [
                torch.cat([torch.as_tensor(one, device=self._device).float() for one in reading.states])
                for reading in readings
            ]
            ids, copied, mask = (
                pad_sequence(rows, batch_first=True).to(self._device)
                for rows in (
                    [torch.tensor(reading.ids) for reading in readings],
                    [torch.tensor(reading.copied) for reading in readings],
                    [torch.ones(len(reading.ids), dtype=torch.bool) for reading in readings],
                )
            )
            return self._decoder.memory(pad_sequence(states, batch_first=True), ids, mask, copied)

    def search(
        self, memory: Memory, wording: Sequence[Wording], begin: int, end: int, beams: int
    ) -> list[list[Written]]:
        """See ``Decoding.search``."""
        growing = _Pointing(self._decoder, memory, self._words, wording)
        with torch.inference_mode():
            return grow(growing, len(memory.ids), memory.ids.device, begin, end, beams, LONGEST)

    def say(self, memory: Memory, row: int, begin: int, answers: Sequence[Sequence[int]]) -> list[Said]:
        """See ``Decoding.say``."""
        with torch.inference_mode():
            alone = memory.row(row)
            padded = pad_sequence([torch.tensor(one) for one in answers], batch_first=True).to(self._device)
            before = torch.cat([torch.full_like(padded[:, :1], begin), padded[:, :-1]], 1)
            step = self._decoder(before, alone, self._words)
            whole = (step.attention, step.log_copies, step.log_probability(padded, alone.ids))
            parts = [part.float().cpu().numpy() for part in whole]
        return [Said(*(part[n, : len(one)] for part in parts)) for n, one in enumerate(answers)]


def decoder_of(weights: Weights) -> PointerDecoder:
    """A decoder with the weights of a file; raises ModelError where they do not fit."""
    tensors = decoder_tensors(weights)
    narrow = tensors.get("narrow.weight")
    decoder = PointerDecoder(states=WIDTH if narrow is None else narrow.shape[1])
    try:
        decoder.load_state_dict(tensors)
    except RuntimeError as error:
        raise ModelError(f"the decoder's weights do not fit ({error}); train it again") from error
    return decoder


def words_of(device: torch.device) -> torch.Tensor:
    """The embeddings of the decoder's words, fp32 (vocabulary, width)."""
    return base_tensors()["embeddings.word_embeddings.weight"].float().to(device)

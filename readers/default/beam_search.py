"""Beam search: the likeliest answers, token by token, of a pointer-generator or any other decoder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch

from readers.default.pointer_generator import LONGEST, Memory, Past, PointerDecoder, Step, for_each
from readers.default.wording import Wording

LENGTH_PENALTY = 0.6  # answers are compared by log P / tokens ** this (Wu et al. 2016, section 7, simplified)


@dataclass(frozen=True, slots=True)
class Written:
    """An answer as tokens, end token left out, and its log-probability, end token included."""

    tokens: tuple[int, ...]
    log_probability: float

    @property
    def score(self) -> float:
        """What beams are ordered by."""
        return by_length(self.log_probability, len(self.tokens) + 1)


def likeliest(written: Sequence[Written]) -> list[Written]:
    """The same answers by their log-probability alone, short ones not held back."""
    return sorted(written, key=lambda one: -one.log_probability)


def by_length(log_probability: float, tokens: int) -> float:
    """A log-probability as answers of different lengths are compared by it."""
    return float(log_probability / tokens**LENGTH_PENALTY)


def distribution(step: Step, memory_ids: torch.Tensor) -> torch.Tensor:
    """P(w) of the last position, (answers, vocabulary): See et al. 2017, equation 9.

    ``memory_ids`` (readings, memory) are those of all answers to a reading.
    """
    generated = (step.log_vocabulary[:, -1] + step.log_generates[:, -1:]).exp()
    copied = step.attention[:, -1] * step.log_copies[:, -1:].exp()
    return generated.scatter_add(1, for_each(memory_ids, len(generated)), copied)


class Growing(Protocol):
    """The decoder of a search: answers that grow, as many to each reading, those to a reading in a row."""

    def next(self, tokens: torch.Tensor) -> torch.Tensor:
        """log P of the next token, (answers, vocabulary), after one more token each, (answers,)."""
        ...

    def keep(self, rows: torch.Tensor) -> None:
        """Go on with these answers, in this order."""
        ...


class _Pointing:
    """A pointer-generator's decoder; ``words`` are the word embeddings.

    What it may write next is for ``wording`` to say, one for each reading.
    """

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


def beam_search(
    decoder: PointerDecoder,
    memory: Memory,
    words: torch.Tensor,
    wording: Sequence[Wording],
    begin: int,
    end: int,
    beams: int,
) -> list[list[Written]]:
    """At most ``beams`` answers per reading of ``memory``, best first, none of them empty.

    ``words`` are the word embeddings, ``wording`` what may be written of each reading, ``begin`` and ``end``
    the tokens around an answer.
    """
    growing = _Pointing(decoder, memory, words, wording)
    return grow(growing, len(memory.ids), memory.ids.device, begin, end, beams, LONGEST)


def grow(
    growing: Growing, readings: int, device: torch.device, begin: int, end: int, beams: int, longest: int
) -> list[list[Written]]:
    """At most ``beams`` answers per reading, best first, none of them empty, of ``longest`` tokens at most.

    ``begin`` and ``end`` are the tokens around an answer, which are in none.
    """
    tokens = torch.full((readings * beams, 1), begin, device=device)
    scores = torch.full((readings, beams), -torch.inf, device=device)
    scores[:, 0] = 0.0
    finished: list[list[Written]] = [[] for _ in range(readings)]
    for length in range(1, longest + 1):
        log_p = growing.next(tokens[:, -1])
        log_p[:, begin] = -torch.inf
        if length == 1:
            log_p[:, end] = -torch.inf
        vocabulary = log_p.shape[1]
        total = (scores.flatten()[:, None] + log_p).view(readings, beams * vocabulary)
        best, flat = total.topk(min(2 * beams, total.shape[1]), dim=1)
        rows, chosen = flat // vocabulary, flat % vocabulary
        kept_rows, kept_tokens, kept_scores = [], [], []
        for r in range(readings):
            alive: list[tuple[int, int, float]] = []
            for value, row, token in zip(best[r].tolist(), rows[r].tolist(), chosen[r].tolist(), strict=True):
                before = r * beams + row
                if value == -torch.inf:
                    break
                if token == end or length == longest:
                    ids = tokens[before, 1:].tolist() + ([token] if token != end else [])
                    finished[r].append(Written(tuple(ids), value))
                elif len(alive) < beams:
                    alive.append((before, token, value))
            while len(alive) < beams:  # all but a few ended: fill up with what can never win
                alive.append((r * beams, end, -torch.inf))
            kept_rows += [row for row, _, _ in alive]
            kept_tokens += [token for _, token, _ in alive]
            kept_scores.append([score for _, _, score in alive])
        scores = torch.tensor(kept_scores, device=device)
        rows = torch.tensor(kept_rows, device=device)
        growing.keep(rows)
        tokens = torch.cat([tokens[rows], torch.tensor(kept_tokens, device=device).unsqueeze(1)], dim=1)
        if all(_settled(done, float(scores[r].max()), length, beams) for r, done in enumerate(finished)):
            break
    return [sorted(done, key=lambda written: -written.score)[:beams] for done in finished]


def _settled(done: list[Written], alive: float, length: int, beams: int) -> bool:
    """Whether ``beams`` answers ended that are better than every growing one is so far.

    A growing one could still overtake them, for length is rewarded, but hardly ever does.
    """
    if len(done) < beams:
        return alive == -torch.inf
    least = sorted((written.score for written in done), reverse=True)[beams - 1]
    return by_length(alive, length + 1) <= least

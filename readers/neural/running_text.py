"""A cloze as language models read it: the words before the blank, and per candidate those that follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from readers.cloze import Cloze
from readers.neural.layers import pad_sequences
from readers.neural.vocabulary import END, Vocabulary
from text.cloze import cloze_tokens


@dataclass(frozen=True, slots=True)
class Continuation:
    """``context`` has the ids of the passages, ``END`` after each, ``before`` the query's to the blank.

    ``options`` have per candidate its own and those of the query after it: what is scored.
    """

    context: list[int]
    before: list[int]
    options: list[list[int]]


def cloze_continuation(cloze: Cloze, vocabulary: Vocabulary, cased: bool) -> Continuation:
    """The parts of a cloze, as they are spelled where ``cased``."""
    ids = vocabulary.ids(cloze.spelled if cased else cloze.context)
    context: list[int] = []
    for n, (id, passage) in enumerate(zip(ids, cloze.passages, strict=True)):
        context.append(id)
        if n + 1 == len(ids) or cloze.passages[n + 1] != passage:
            context.append(END)
    query = vocabulary.ids(cloze.query_spelled if cased else cloze.query)
    after = query[cloze.blank + 1 :]
    options = [vocabulary.ids(_words(candidate, cased)) + after for candidate in cloze.candidates]
    return Continuation(context, query[: cloze.blank], options)


def _words(candidate: str, cased: bool) -> list[str]:
    found = list(cloze_tokens(candidate))
    return [candidate[token.start : token.end] if cased else token.key for token in found]


def padded_options(
    continuations: Sequence[Continuation], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """All options (all, longest), their lengths (all,), and the number of the cloze of each (all,)."""
    options = [option or [END] for one in continuations for option in one.options]
    of = [n for n, one in enumerate(continuations) for _ in one.options]
    ids, lengths = pad_sequences(options, device)
    return ids, lengths, torch.tensor(of, device=device)


def sums_by_length(log_p: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """The sum of each row of ``log_p`` (rows, steps) up to its length, (rows,)."""
    steps = torch.arange(log_p.shape[1], device=log_p.device)
    return (log_p * (steps < lengths[:, None])).sum(1)

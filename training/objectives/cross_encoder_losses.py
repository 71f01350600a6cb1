"""What the cross-encoder minimises for spans and for relevance."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def span_loss(
    start: torch.Tensor,
    end: torch.Tensor,
    context: torch.Tensor,
    rows: Sequence[slice],
    spans: Sequence[Sequence[tuple[int, int, int, float]]],
) -> torch.Tensor:
    """Mean over examples that have targets of -log sum_t w_t p(start_t) p(end_t).

    ``start`` and ``end`` are scores of shape (windows, tokens), ``context`` is True at the tokens
    that may be answered with. p is a softmax over all windows of the example: shared
    normalisation, Clark and Gardner 2018, equation 3, with the marginal of section 3. 0 where no
    example has a target.
    """
    start = start.float().masked_fill(~context, -1e9)
    end = end.float().masked_fill(~context, -1e9)
    losses = []
    for block, right in zip(rows, spans, strict=True):
        if right:
            row, first, last = torch.tensor([t[:3] for t in right], device=start.device).unbind(1)
            weight = torch.tensor([t[3] for t in right], device=start.device).log()
            total = torch.logsumexp(start[block].flatten(), 0) + torch.logsumexp(end[block].flatten(), 0)
            chosen = start[block][row, first] + end[block][row, last] + weight
            losses.append(total - torch.logsumexp(chosen, 0))
    return torch.stack(losses).mean() if losses else start.sum() * 0


def relevance_loss(
    relevance: torch.Tensor, rows: Sequence[slice], right: Sequence[Sequence[int]]
) -> torch.Tensor:
    """Mean over examples of -log of the probability of a right window, or of none where none is right.

    ``relevance`` (windows,) are scores against that of answering nothing, which is 0: a softmax
    over an example's windows and nothing (Nogueira and Cho 2019, with a null class).
    """
    losses = []
    for block, answering in zip(rows, right, strict=True):
        scores = torch.nn.functional.pad(relevance[block].float(), (1, 0))  # nothing comes first
        chosen = scores[[1 + row for row in answering] or [0]]
        losses.append(scores.logsumexp(0) - chosen.logsumexp(0))
    return torch.stack(losses).mean()

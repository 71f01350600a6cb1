"""A map from a large encoder's states to a small one's, so that what reads the one can read the other."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from encoders.backbone import load_tokenizer
from encoders.batches import batches
from encoders.cross_encoder import CrossEncoder
from encoders.windows import Window, Windower
from training.frozen_states import FrozenStates

QUESTIONS = 300  # that the map is fitted on: some 100,000 tokens for the 769 numbers of each output
RIDGE = 1e-3  # of the mean square of an input
BATCH_TOKENS = 3_000
Asked = Sequence[tuple[str, Sequence[str]]]


def fit_bridge(
    states: FrozenStates, cut: Windower, small: CrossEncoder, asked: Asked
) -> tuple[torch.Tensor, torch.Tensor]:
    """The weight (small width, large width) and bias (small width,) of least squares, by ridge regression.

    ``states`` are a large encoder's, whose windows ``cut`` makes. A row is a token that both encoders read
    at the same place: of the questions and passages ``asked``, and what begins each window.
    """
    pairs = _windows_of_both(cut, Windower(load_tokenizer(small.base), overlap=cut.overlap), asked)
    gram = right = None
    for batch in batches([len(large.ids) for large, _ in pairs], BATCH_TOKENS):
        members = [pairs[i] for i in batch]
        theirs = small.read_windows([window for _, window in members])
        for (large, window), row, its in zip(
            members, states([large for large, _ in members]), theirs, strict=True
        ):
            ours, others = _same_places(large, window)
            known = row[ours].double().cpu()
            known = torch.cat([known, torch.ones(len(known), 1, dtype=torch.double)], 1)
            wanted = torch.as_tensor(its.states[others]).double().cpu()
            gram = known.T @ known if gram is None else gram + known.T @ known
            right = known.T @ wanted if right is None else right + known.T @ wanted
    if gram is None or right is None:
        raise ValueError("nothing was asked; wanted questions with passages")
    gram += RIDGE * gram.diagonal()[:-1].mean() * torch.eye(len(gram), dtype=torch.double)
    solved = torch.linalg.solve(gram, right).float()
    return solved[:-1].T.contiguous(), solved[-1].contiguous()


def _windows_of_both(cut: Windower, other: Windower, asked: Asked) -> list[tuple[Window, Window]]:
    """The windows of passages that both encoders read in one."""
    found = []
    for windows, others in zip(cut(asked), other(asked), strict=True):
        alone = {passage: some[0] for passage, some in _by_passage(others).items() if len(some) == 1}
        found += [
            (some[0], alone[passage])
            for passage, some in _by_passage(windows).items()
            if len(some) == 1 and passage in alone
        ]
    return found


def _by_passage(windows: Sequence[Window]) -> dict[int, list[Window]]:
    found: dict[int, list[Window]] = {}
    for window in windows:
        found.setdefault(window.passage, []).append(window)
    return found


def _same_places(window: Window, other: Window) -> tuple[list[int], list[int]]:
    """The positions in either window of the tokens that stand at the same place of question or passage."""
    # Of what stands before the passage the question comes first, after one token; what parts them differs.
    asked = min(window.first, other.first) - 2
    ours, others = [*range(1 + asked)], [*range(1 + asked)]
    places = {offsets: i for i, offsets in enumerate(other.offsets)}
    for i, offsets in enumerate(window.offsets):
        if offsets in places:
            ours.append(window.first + i)
            others.append(other.first + places[offsets])
    return ours, others

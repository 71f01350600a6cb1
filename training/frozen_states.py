"""The states of an encoder that is not trained: each window is read once, and again where memory is short."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from encoders.backbone import Backbone
from encoders.cross_encoder import collate
from encoders.transformer import Transformer
from encoders.windows import Window
from training.trainer import autocast

KEPT = 10_000_000  # windows times width: some 6 GB of states


class FrozenStates:
    """What the encoder says of windows, on its device; fp16 states are kept there."""

    def __init__(self, model: Transformer, base: Backbone, device: torch.device) -> None:
        self._model, self._base, self._device = model, base, device
        self._kept: dict[tuple[int, ...], torch.Tensor] = {}

    @torch.no_grad()
    def __call__(self, windows: Sequence[Window]) -> torch.Tensor:
        """The last states, (windows, tokens, width), padded with 0."""
        keys = [tuple(window.ids) for window in windows]
        found = {key: self._kept[key] for key in keys if key in self._kept}
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in found}
        if new:
            inputs = collate(list(new.values()), self._base.pad, self._base.typed).to(self._device)
            with autocast(self._device):
                states = self._model(**inputs.named).last_hidden_state
            for key, row in zip(new, states, strict=True):
                found[key] = row[: len(key)].half()
            if len(self._kept) < KEPT // self._base.width:
                self._kept |= found
        rows = [found[key] for key in keys]
        return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).float()

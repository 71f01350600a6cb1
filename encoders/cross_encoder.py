"""The cross-encoder that reads a question beside a passage: one pass serves reranker and readers."""

from __future__ import annotations

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from encoders.adapters import file_hash, load_weights, overlay
from encoders.backbone import load_backbone, load_tokenizer
from encoders.batches import batches
from encoders.device import pick_device, pick_dtype
from encoders.windows import Window, Windower

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

# A larger batch leaves the caches of a CPU, and is a seventh slower there.
BATCH_TOKENS = {"cpu": 1536, "cuda": 16384}
LONGEST = 384  # tokens of a window
WEIGHTS = "span.safetensors"
KEPT_SCORES = 4096  # windows read last, about 3 kB each
KEPT_STATES = 512  # windows read last, 0.3 MB at most each


@dataclass(frozen=True, slots=True)
class WindowRead:
    """What one window says: scores of its context tokens as the answer's start and end, and its relevance.

    ``start`` and ``end`` have shape (context tokens,), unnormalised log-probabilities. ``relevance``
    is the log-odds that the window answers, against nothing answering.
    """

    start: NDArray[np.float32]
    end: NDArray[np.float32]
    relevance: float


class CrossEncoder:
    """start_i = w_s h_i + b_s, end_i = w_e h_i + b_e, relevance = w_r h_0 + b_r, with h the last states.

    The first two: Devlin et al. 2019, section 4.2; the third: Nogueira and Cho 2019, section 3.

    ``version`` is the first digits of the SHA-256 of its weights. What was read last is kept: a
    reader finds done what the reranker did. Safe to call from several threads.
    """

    def __init__(self, tensors: Mapping[str, torch.Tensor], version: str) -> None:
        """``tensors``: ``head.weight`` (3, width), ``head.bias`` (3,), and the backbone's own."""
        import torch

        self.version = version
        self.device = pick_device()
        self.dtype = pick_dtype(self.device)
        trained = {name: tensor for name, tensor in tensors.items() if not name.startswith("head.")}
        self.backbone = load_backbone(overlay(trained))
        torch.nn.Module.to(self.backbone, self.device, self.dtype)
        self._weight, self._bias = (
            tensors[name].float().to(self.device, self.dtype) for name in ("head.weight", "head.bias")
        )
        self.windows = Windower(load_tokenizer(), LONGEST)
        self._scores: OrderedDict[bytes, WindowRead] = OrderedDict()
        self._states: OrderedDict[bytes, torch.Tensor] = OrderedDict()
        self._lock = Lock()

    def read(self, windows: Sequence[Window]) -> list[WindowRead]:
        """What each window says, in order; those that were read lately are not read again."""
        return self._recall(windows, self._scores)

    def states(self, windows: Sequence[Window]) -> list[torch.Tensor]:
        """The last hidden states of all tokens of each window, (tokens, width), fp16, on the device."""
        return self._recall(windows, self._states)

    def _recall(self, windows: Sequence[Window], kept: OrderedDict[bytes, Any]) -> list[Any]:
        keys = [_key(window) for window in windows]
        with self._lock:
            known = {key: kept[key] for key in keys if key in kept}
            for key in known:
                kept.move_to_end(key)
        missing = {key: window for key, window in zip(keys, windows, strict=True) if key not in known}
        for key, read, states in self._read(missing):
            known[key] = read if kept is self._scores else states
            with self._lock:
                _keep(self._scores, key, read, KEPT_SCORES)
                _keep(self._states, key, states, KEPT_STATES)
        return [known[key] for key in keys]

    def _read(self, windows: Mapping[bytes, Window]) -> Iterator[tuple[bytes, WindowRead, torch.Tensor]]:
        import torch

        keys = list(windows)
        lengths = [len(window.ids) for window in windows.values()]
        for batch in batches(lengths, BATCH_TOKENS[self.device.type]):
            members = [windows[keys[i]] for i in batch]
            ids, types, mask = collate(members)
            with torch.inference_mode():
                hidden = self.backbone(
                    input_ids=ids.to(self.device),
                    token_type_ids=types.to(self.device),
                    attention_mask=None if mask is None else mask.to(self.device),
                ).last_hidden_state  # (windows, tokens, width)
                scores = torch.nn.functional.linear(hidden, self._weight, self._bias).float().cpu().numpy()
            for row, (i, window) in enumerate(zip(batch, members, strict=True)):
                context = slice(window.first, window.first + len(window.offsets))
                start, end = scores[row, context, 0].copy(), scores[row, context, 1].copy()
                # Copies: a view would keep the whole batch alive.
                yield (
                    keys[i],
                    WindowRead(start, end, float(scores[row, 0, 2])),
                    hidden[row, : len(window.ids)].to(torch.float16, copy=True),
                )


def _key(window: Window) -> bytes:
    """What stands for the tokens of a window; a tuple of them would be five times as large as its scores."""
    return blake2b(array("i", window.ids).tobytes(), digest_size=16).digest()


def _keep(kept: OrderedDict[bytes, Any], key: bytes, value: Any, most: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def collate(windows: Sequence[Window]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
    """Token ids, segment types and attention mask of shape (windows, tokens), padded on the right.

    The mask is None where nothing is padded: attention then takes its fastest path.
    """
    import torch

    longest = max(len(window.ids) for window in windows)
    ids, types, mask = (torch.zeros((len(windows), longest), dtype=torch.long) for _ in range(3))
    for row, window in enumerate(windows):
        ids[row, : len(window.ids)] = torch.tensor(window.ids)
        types[row, : len(window.ids)] = torch.tensor(window.types)
        mask[row, : len(window.ids)] = 1
    return ids, types, None if bool(mask.all()) else mask


def load_crossencoder(folder: str | None = None) -> CrossEncoder:
    """The shipped cross-encoder, or that of a folder where ``storyqa train span`` left its weights.

    Loaded once per process, so that whoever reads a window has it read for all. Raises ModelError where
    the weights cannot be read or are of another encoder.
    """
    return _load(folder)


@lru_cache  # of one argument always given: to lru_cache, f() and f(None) are two
def _load(folder: str | None) -> CrossEncoder:
    path = Path(str(files("encoders.weights") if folder is None else folder)) / WEIGHTS
    return CrossEncoder(load_weights(path), file_hash(path)[:12])

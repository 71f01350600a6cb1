"""The cross-encoder that reads a question beside a passage: what it says serves reranker and readers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from encoders.activation_ranges import Ranges, load_ranges
from encoders.adapters import Weights, file_hash, fp32, load_weights
from encoders.backbone import load_tokenizer
from encoders.batches import batches
from encoders.device import sent
from encoders.runtime import OPENVINO, as_array, pick_runtime, run_backbone
from encoders.sizes import weights_folder
from encoders.windows import Window, Windower

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

# A larger batch leaves the caches of a CPU, and is a seventh slower there in torch. In OpenVINO two windows
# at once are as fast for each token as more are, with less padding; one alone is slower on two threads.
BATCH_TOKENS = {OPENVINO: 768, "cpu": 1536, "cuda": 16384}
LONGEST = 384  # tokens of a window
WEIGHTS = "span.safetensors"
BLANK = -1e3  # the relevance of a passage without a word


@dataclass(frozen=True, slots=True, eq=False)
class EncodedWindow:
    """What one window says: scores of its context tokens as the answer's start and end, and its relevance.

    ``start`` and ``end`` have shape (context tokens,), unnormalised log-probabilities. ``relevance``
    is the log-odds that the window answers, against nothing answering. ``states`` are the last hidden
    states of all its tokens, (tokens, width), fp16 on the encoder's device, or a fp32 array where it runs
    without torch, which rounds slower than it copies; of width 0 from a model whose states nobody reads.
    """

    window: Window
    start: NDArray[np.float32]
    end: NDArray[np.float32]
    relevance: float
    states: torch.Tensor | NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPassage:
    """What an encoder says of one passage beside one question, window by window; a blank one has none.

    ``encoder`` is the version of the weights that said so: others have to read the passage anew.
    """

    encoder: str
    windows: tuple[EncodedWindow, ...]

    @property
    def relevance(self) -> float:
        """That of the best window."""
        return max((window.relevance for window in self.windows), default=BLANK)


class CrossEncoder:
    """start_i = w_s h_i + b_s, end_i = w_e h_i + b_e, relevance = w_r h_0 + b_r, with h the last states.

    The first two: Devlin et al. 2019, section 4.2; the third: Nogueira and Cho 2019, section 3.

    ``version`` is the first digits of the SHA-256 of its weights.
    """

    def __init__(self, weights: Weights, version: str, ranges: Ranges | None = None) -> None:
        """``weights``: ``head.weight`` (3, width), ``head.bias`` (3,), and those beside the backbone's.

        ``ranges`` are those of what its linear maps are given, where they were measured.
        """
        self.version = version
        self.runtime = pick_runtime().given(ranges)
        self.base = weights.backbone
        trained = {name: tensor for name, tensor in weights.tensors.items() if not name.startswith("head.")}
        self.backbone = run_backbone(self.base, trained, self.runtime, ranges)
        self._weight, self._bias = (
            as_array(fp32(weights.tensors[name])) for name in ("head.weight", "head.bias")
        )
        self._windows = Windower(load_tokenizer(self.base), LONGEST)

    def encode(self, asked: Sequence[tuple[str, Sequence[str]]]) -> list[list[EncodedPassage]]:
        """What is said of each question's passages, in their order.

        All windows of all passages are read in common batches, and a passage that is asked twice beside
        one question is read once.
        """
        pairs = list(dict.fromkeys((question, one) for question, passages in asked for one in passages))
        cut = self._windows([(question, (passage,)) for question, passage in pairs])
        read = iter(self.read_windows([window for windows in cut for window in windows]))
        found = {
            pair: EncodedPassage(self.version, tuple(next(read) for _ in windows))
            for pair, windows in zip(pairs, cut, strict=True)
        }
        return [[found[question, passage] for passage in passages] for question, passages in asked]

    def read_windows(self, windows: Sequence[Window]) -> list[EncodedWindow]:
        """What each window says, in order; they are cut for this encoder's backbone."""
        read = self._read_arrays if self.runtime.name == OPENVINO else self._read_tensors
        found: dict[int, EncodedWindow] = {}
        for batch in batches([len(window.ids) for window in windows], BATCH_TOKENS[self.runtime.batched_as]):
            members = [windows[i] for i in batch]
            scores, states = read(collate(members, self.base.pad, self.base.typed, self.runtime.multiple))
            for row, (i, window) in enumerate(zip(batch, members, strict=True)):
                context = slice(window.first, window.first + len(window.offsets))
                # Copies: a view would keep the whole batch alive.
                found[i] = EncodedWindow(
                    window,
                    start=scores[row, context, 0].copy(),
                    end=scores[row, context, 1].copy(),
                    relevance=float(scores[row, 0, 2]),
                    states=states(row, len(window.ids)),
                )
        return [found[i] for i in range(len(windows))]

    def _read_arrays(self, inputs: Inputs) -> tuple[NDArray[np.float32], Callable[[int, int], Any]]:
        """Scores (windows, tokens, 3) of a batch, and what gives the states of a row's first tokens."""
        hidden = self.backbone(**inputs.named).last_hidden_state  # (windows, tokens, width)
        scores = hidden @ self._weight.T + self._bias
        return scores, lambda row, tokens: hidden[row, :tokens].copy()

    def _read_tensors(self, inputs: Inputs) -> tuple[NDArray[np.float32], Callable[[int, int], Any]]:
        """The same by torch."""
        import torch

        hidden, found = self._forward(inputs)
        scores = found.cpu().numpy()

        def states(row: int, tokens: int) -> torch.Tensor:
            with torch.inference_mode():
                kept: torch.Tensor = hidden[row, :tokens].to(torch.float16, copy=True)
            return kept

        return scores, states

    def score(self, windows: Sequence[Window]) -> torch.Tensor:
        """Scores of windows as one batch (windows, tokens, 3): starts, ends and, at the first token,
        relevance; fp32, on the encoder's device, for which nothing waits. It runs in torch."""
        return self._forward(collate(windows, self.base.pad, self.base.typed, self.runtime.multiple))[1]

    def _forward(self, inputs: Inputs) -> tuple[torch.Tensor, torch.Tensor]:
        """Last states (windows, tokens, width) and scores (windows, tokens, 3) of a batch, by torch."""
        import torch

        device = self.runtime.torch_device
        weight, bias = (sent(torch.from_numpy(one), device) for one in (self._weight, self._bias))
        with torch.inference_mode():
            hidden = self.backbone(**inputs.to(device).named).last_hidden_state
            return hidden, torch.nn.functional.linear(hidden.float(), weight, bias)


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """A batch of windows: token ids and, as far as they are needed, segment types and attention mask.

    They are arrays of NumPy, or torch's tensors once they are on a device. All have the shape
    (windows, tokens). There is no mask where nothing is padded: attention then takes its fastest path. There
    are no types for a model that has none.
    """

    ids: Any
    types: Any
    mask: Any

    def to(self, device: torch.device) -> Inputs:
        """The same as tensors on a device."""
        import torch

        types, mask = (
            array if array is None else sent(torch.from_numpy(array), device)
            for array in (self.types, self.mask)
        )
        return Inputs(sent(torch.from_numpy(self.ids), device), types, mask)

    @property
    def named(self) -> dict[str, Any]:
        """As models of transformers take it."""
        named = {"input_ids": self.ids, "attention_mask": self.mask}
        return named if self.types is None else named | {"token_type_ids": self.types}


def collate(windows: Sequence[Window], pad: int, typed: bool, multiple: int = 1) -> Inputs:
    """Windows as one batch, padded on the right with the token id ``pad``; with types if ``typed``.

    Their length is padded to a ``multiple``, see ``Runtime.multiple``: a card multiplies eights faster.
    """
    import numpy as np

    longest = -(-max(len(window.ids) for window in windows) // multiple) * multiple
    ids = np.full((len(windows), longest), pad, dtype=np.int64)
    types, mask = (np.zeros_like(ids) for _ in range(2))
    for row, window in enumerate(windows):
        ids[row, : len(window.ids)] = window.ids
        types[row, : len(window.ids)] = window.types
        mask[row, : len(window.ids)] = 1
    return Inputs(ids, types if typed else None, None if mask.all() else mask)


def load_crossencoder(folder: str | None = None) -> CrossEncoder:
    """The shipped cross-encoder, small or ``LARGE``, or that of the folder of a run of ``storyqa train``.

    Loaded once per process: retriever and readers share it. Raises ModelError where the weights cannot be
    read or are of another encoder.
    """
    return _load(folder)


def own_crossencoder(folder: str | None) -> CrossEncoder:
    """As ``load_crossencoder``; the shipped one, small, where the folder has none of its own."""
    own = (weights_folder("encoders.weights", folder) / WEIGHTS).is_file()
    return load_crossencoder(folder if own else None)


@lru_cache  # of one argument always given: to lru_cache, f() and f(None) are two
def _load(folder: str | None) -> CrossEncoder:
    path = weights_folder("encoders.weights", folder) / WEIGHTS
    weights, sha256 = load_weights(path, pick_runtime().framework), file_hash(path)
    return CrossEncoder(weights, sha256[:12], load_ranges(path, sha256))

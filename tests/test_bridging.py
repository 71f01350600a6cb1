"""The map between two encoders' states, and a decoder that reads a larger encoder by it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import folktales
import pytest
import torch

from encoders.adapters import Weights, file_hash, load_weights
from encoders.backbone import MINILM, MPNET, load_tokenizer
from encoders.cross_encoder import CrossEncoder, load_crossencoder
from encoders.errors import ModelError
from encoders.transformer import Transformer
from encoders.windows import Window, Windower
from readers.default.decoder_weights import WEIGHTS, decoder_tensors, shipped_decoder
from readers.default.decoding import WIDTH
from readers.default.torch_decoding import decoder_of
from training.bridging import fit_bridge
from training.export import save_weights
from training.frozen_states import FrozenStates

QUESTION = "What was the goose called?"
WIDER = 512


class Wider(FrozenStates):
    """The states of the small encoder, turned and mixed into more numbers that say the same."""

    def __init__(self, encoder: CrossEncoder, mixed: torch.Tensor) -> None:
        assert isinstance(encoder.backbone, Transformer)
        super().__init__(encoder.backbone, MINILM, encoder.runtime.torch_device)
        self._mixed = mixed

    def __call__(self, windows: Sequence[Window]) -> torch.Tensor:
        return super().__call__(windows) @ self._mixed + 0.5


def test_what_is_a_linear_function_of_the_small_states_is_undone() -> None:
    torch.manual_seed(5)
    encoder = load_crossencoder()
    states = Wider(encoder, torch.randn(WIDTH, WIDER) / WIDTH**0.5)
    cut = Windower(load_tokenizer(), overlap=128)
    weight, bias = fit_bridge(states, cut, encoder, [(QUESTION, folktales.GOOSE), ("Who?", folktales.GOOSE)])
    assert weight.shape == (WIDTH, WIDER)
    assert bias.shape == (WIDTH,)
    [[window, *_]] = cut([("Who was asleep?", folktales.GOOSE[:1])])
    [known] = encoder.read_windows([window])
    found = states([window])[0] @ weight.T + bias
    error = (found - torch.as_tensor(known.states).float()).norm() / torch.as_tensor(
        known.states
    ).float().norm()
    assert error < 0.2  # of the questions and passages it was fitted on there were few


def test_nothing_asked_is_told() -> None:
    encoder = load_crossencoder()
    with pytest.raises(ValueError, match="wanted questions with passages"):
        fit_bridge(Wider(encoder, torch.eye(WIDTH)), Windower(load_tokenizer()), encoder, [("Who?", [])])


def _bridge(folder: Path, rest: str | None) -> Weights:
    rng = random.Random(3)
    tensors = {
        "narrow.weight": torch.full((WIDTH, MPNET.width), rng.random()),
        "narrow.bias": torch.zeros(WIDTH),
    }
    return load_weights(save_weights(Weights(MPNET, tensors, rest), folder / WEIGHTS, {}))


def test_a_file_with_the_map_alone_is_the_shipped_decoder_behind_it(tmp_path: Path) -> None:
    weights = _bridge(tmp_path, file_hash(shipped_decoder()))
    decoder = decoder_of(weights)
    shipped = load_weights(shipped_decoder()).tensors
    state = decoder.state_dict()
    assert all(torch.equal(state[name], tensor.float()) for name, tensor in shipped.items())
    assert torch.equal(state["narrow.weight"], weights.tensors["narrow.weight"].float())


def test_a_map_to_another_decoder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="train it again"):
        decoder_tensors(_bridge(tmp_path, "0" * 64))

"""The layers of the encoders of ``encoders.transformer``, run by OpenVINO on a CPU."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.device import threads
from encoders.transformer_config import TransformerConfig, distance_buckets, distances

# Imported without its converter of models, which nobody needs here, and which reports each use to its makers.
_CONVERTER = "openvino.tools.ovc"
sys.modules.setdefault(_CONVERTER, None)  # type: ignore[arg-type]

import openvino  # noqa: E402
from openvino import opset13 as ops  # noqa: E402

if sys.modules[_CONVERTER] is None:
    del sys.modules[_CONVERTER]  # whoever asks for it by name gets it

Array = NDArray[np.float32]
GROUP = 128  # weights of a row that share a scale
ACTIVATIONS = 64  # numbers of a token that share one, chosen anew at each call
HIDDEN = np.float32(-1e4)  # what attention adds for a token that is not there
_COMPILING = ThreadPoolExecutor(thread_name_prefix="compile")
_PRECISIONS = {"bf16": "bf16", "fp32": "f32"}
# The linear maps of a layer, and the norm behind its attention, by the names of their parameters.
_BERT = ("self.query", "self.key", "self.value", "output.dense", "output.LayerNorm")
_MPNET = ("attn.q", "attn.k", "attn.v", "attn.o", "LayerNorm")


class States(NamedTuple):
    """The last layer's states (texts, tokens, width), fp32."""

    last_hidden_state: Array


class OpenVINOTransformer:
    """As the ``Transformer`` of the same parameters, on arrays of NumPy.

    ``int8`` rounds each ``GROUP`` weights of a linear map, and what it is given by OpenVINO's
    dynamic quantisation; nothing has to be calibrated. Threads may share one.
    """

    def __init__(
        self, arrays: Mapping[str, Array], config: TransformerConfig, floats: str, int8: bool
    ) -> None:
        """``arrays`` are the parameters in fp32 by name, of which the embeddings are kept as they are.

        It computes in ``floats``, ``fp32`` or ``bf16``.
        """
        self.config = config
        self._embeddings = {
            name.removeprefix("embeddings."): array
            for name, array in arrays.items()
            if name.startswith("embeddings.")
        }
        self._distances = arrays.get("encoder.relative_attention_bias.weight")
        self._layers = Compiled(_graph(arrays, config, int8), floats, int8)

    def __call__(
        self,
        input_ids: NDArray[np.int64],
        attention_mask: NDArray[np.int64] | None = None,
        token_type_ids: NDArray[np.int64] | None = None,
    ) -> States:
        """See ``Transformer.forward``."""
        given = [self._embedded(input_ids, token_type_ids)]
        mask = np.zeros((len(input_ids), 1, 1, input_ids.shape[1]), dtype=np.float32)
        if attention_mask is not None:
            mask[:, 0, 0][attention_mask == 0] = HIDDEN
        given.append(mask)
        if self._distances is not None:
            buckets = _buckets(input_ids.shape[1], len(self._distances))
            given.append(np.take(self._distances.T, buckets, axis=1)[None])
        return States(*self._layers(*given))

    def _embedded(self, ids: NDArray[np.int64], types: NDArray[np.int64] | None) -> Array:
        """See ``BertEmbeddings.forward`` and ``MPNetEmbeddings.forward``."""
        table = self._embeddings
        found = table["word_embeddings.weight"][ids]
        if "token_type_embeddings.weight" in table:
            found += table["token_type_embeddings.weight"][0 if types is None else types]
            found += table["position_embeddings.weight"][: ids.shape[1]]
        else:
            real = ids != self.config.pad_token_id
            found += table["position_embeddings.weight"][real.cumsum(1) * real + self.config.pad_token_id]
        found -= found.mean(-1, keepdims=True)
        found /= np.sqrt(np.square(found).mean(-1, keepdims=True) + np.float32(self.config.layer_norm_eps))
        found *= table["LayerNorm.weight"]
        found += table["LayerNorm.bias"]
        return found


@lru_cache(maxsize=64)  # lengths
def _buckets(tokens: int, buckets: int) -> NDArray[np.int16]:
    return distance_buckets(distances(tokens), buckets).astype(np.int16)


class Compiled:
    """A graph, compiled; threads may share it.

    An ``observer`` that is set before it is compiled is given it and the request after each call, whose
    ``profiling_info`` then says what each node took in the mean; ``benchmarks.profile`` sets one.
    """

    observer: ClassVar[Callable[[Compiled, openvino.InferRequest], None] | None] = None

    def __init__(self, graph: Any, floats: str, int8: bool = False) -> None:
        """It computes in ``floats``, ``fp32`` or ``bf16``."""
        self._observer = Compiled.observer
        settings = {
            "PERF_COUNT": self._observer is not None,
            "INFERENCE_PRECISION_HINT": _PRECISIONS[floats],
            "INFERENCE_NUM_THREADS": threads(),
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # or all processes would crowd on the same first cores
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": ACTIVATIONS if int8 else 0,
        }
        # Beside what else is loaded: it takes as long as a question.
        self._compiled = _COMPILING.submit(openvino.Core().compile_model, graph, "CPU", settings)
        self._mine = threading.local()

    def __call__(self, *given: Array) -> list[Array]:
        """The graph's outputs; inputs are not copied, what is found is."""
        if not hasattr(self._mine, "request"):
            self._mine.request = self._compiled.result().create_infer_request()
        found = list(self._mine.request.infer(list(given), share_inputs=True).values())
        if self._observer is not None:
            self._observer(self, self._mine.request)
        return found


def _graph(arrays: Mapping[str, Array], config: TransformerConfig, int8: bool) -> Any:
    """From the first layer's states (texts, tokens, width), mask (texts, 1, 1, tokens) and, for MPNet, biases
    by distance (1, heads, tokens, tokens), to the last layer's states."""
    states = ops.parameter([-1, -1, config.hidden_size], np.float32)
    mask = ops.parameter([-1, 1, 1, -1], np.float32)
    given, bias = [states, mask], mask
    if config.relative_attention_num_buckets:
        given.append(ops.parameter([1, config.num_attention_heads, -1, -1], np.float32))
        bias = ops.add(mask, given[-1])
    names = _MPNET if "encoder.layer.0.attention.attn.q.weight" in arrays else _BERT
    found = states
    for number in range(config.num_hidden_layers):
        found = _Layer(config, arrays, f"encoder.layer.{number}.", int8).states(found, bias, names)
    return openvino.Model([found], given)


class _Layer:
    """``encoders.transformer.Layer`` as nodes of a graph."""

    def __init__(
        self, config: TransformerConfig, parameters: Mapping[str, Array], name: str, int8: bool
    ) -> None:
        self._config, self._parameters, self._name, self._int8 = config, parameters, name, int8

    def states(self, states: Any, bias: Any, names: tuple[str, ...]) -> Any:
        """Self-attention and a feed-forward net, each added to its input and normalised."""
        heads = self._config.num_attention_heads
        apart = np.array([0, 0, heads, self._config.hidden_size // heads])
        turned = np.array([0, 2, 1, 3])
        *three, out, norm = (f"attention.{name}" for name in names)
        q, k, v = (
            ops.transpose(ops.reshape(self._linear(states, name), apart, True), turned) for name in three
        )
        context = ops.transpose(ops.scaled_dot_product_attention(q, k, v, bias), turned)
        context = ops.reshape(context, np.array([0, 0, self._config.hidden_size]), True)
        states = self._norm(ops.add(self._linear(context, out), states), norm)
        inner = ops.gelu(self._linear(states, "intermediate.dense"), "erf")
        return self._norm(ops.add(self._linear(inner, "output.dense"), states), "output.LayerNorm")

    def _linear(self, x: Any, name: str) -> Any:
        return linear(x, self._parameters, self._name + name, self._int8)

    def _norm(self, x: Any, name: str) -> Any:
        return normed(x, self._parameters, self._name + name, self._config.layer_norm_eps)


def linear(x: Any, parameters: Mapping[str, Array], name: str, int8: bool = False) -> Any:
    """x W^T + b as nodes of a graph, with the weight and bias of the map ``name``."""
    weight = parameters[f"{name}.weight"]
    constant = _int8(weight) if int8 else ops.constant(weight)
    return ops.add(ops.matmul(x, constant, False, True), parameters[f"{name}.bias"])


def normed(x: Any, parameters: Mapping[str, Array], name: str, eps: float) -> Any:
    """x normalised along its last axis, with the weight and bias of the norm ``name``."""
    scaled = ops.multiply(ops.mvn(x, np.array([-1]), True, eps, "inside_sqrt"), parameters[f"{name}.weight"])
    return ops.add(scaled, parameters[f"{name}.bias"])


def _int8(weight: Array) -> Any:
    """A weight (outputs, inputs) as whole numbers up to 127 and a scale for each ``GROUP`` of a row."""
    outputs, inputs = weight.shape
    size = GROUP if inputs % GROUP == 0 else inputs
    groups = weight.reshape(outputs, inputs // size, size)
    scale = np.maximum(np.abs(groups).max(2, keepdims=True), np.float32(1e-8)) / np.float32(127)
    rounded = ops.convert(ops.constant(np.rint(groups / scale).astype(np.int8)), "f32")
    return ops.reshape(ops.multiply(rounded, scale), np.array([outputs, inputs]), False)

"""The layers of the encoders of ``encoders.transformer``, run by OpenVINO on a CPU."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.activation_ranges import Ranges
from encoders.device import threads
from encoders.openvino_api import openvino, ops
from encoders.openvino_int8 import Map, by_groups, feed_forward, rounded
from encoders.transformer_config import TransformerConfig, distance_buckets, distances

Array = NDArray[np.float32]
ACTIVATIONS = 64  # numbers of a token that share one, chosen anew at each call
SHAPES = 5000  # as many as OpenVINO keeps by itself
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
    """As the ``Transformer`` of the same parameters, on arrays of NumPy; threads may share one."""

    def __init__(
        self,
        arrays: Mapping[str, Array],
        config: TransformerConfig,
        floats: str,
        int8: bool,
        ranges: Ranges | None = None,
    ) -> None:
        """``arrays`` are the parameters in fp32 by name, of which the embeddings are kept as they are.

        It computes in ``floats``, ``fp32`` or ``bf16``, but for linear maps in ``int8``: by the ``ranges``
        of what they are given, or where there are none by rounding that anew at each call.
        """
        self.config = config
        self._embeddings = {
            name.removeprefix("embeddings."): array
            for name, array in arrays.items()
            if name.startswith("embeddings.") and ".LayerNorm." not in name
        }
        self._distances = arrays.get("encoder.relative_attention_bias.weight")
        graph = _graph(arrays, config, int8, ranges if int8 else None)
        self._layers = Compiled(graph, floats, int8 and ranges is None)

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
        """See ``BertEmbeddings.forward`` and ``MPNetEmbeddings.forward``, before the norm."""
        table = self._embeddings
        found = table["word_embeddings.weight"][ids]
        if "token_type_embeddings.weight" in table:
            found += table["token_type_embeddings.weight"][0 if types is None else types]
            found += table["position_embeddings.weight"][: ids.shape[1]]
        else:
            real = ids != self.config.pad_token_id
            found += table["position_embeddings.weight"][real.cumsum(1) * real + self.config.pad_token_id]
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

    def __init__(self, graph: Any, floats: str, rounds: bool = False, shapes: int = SHAPES) -> None:
        """It computes in ``floats``, ``fp32`` or ``bf16``.

        It ``rounds`` what maps are given whose weights are whole numbers. What it prepares for the
        ``shapes`` of inputs of each kind of node it keeps, of so many at most.
        """
        self._observer = Compiled.observer
        settings = {
            "PERF_COUNT": self._observer is not None,
            "INFERENCE_PRECISION_HINT": _PRECISIONS[floats],
            "INFERENCE_NUM_THREADS": threads(),
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # or all processes would crowd on the same first cores
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": ACTIVATIONS if rounds else 0,
            "CPU_RUNTIME_CACHE_CAPACITY": str(shapes),
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


def _graph(arrays: Mapping[str, Array], config: TransformerConfig, int8: bool, ranges: Ranges | None) -> Any:
    """From embeddings (texts, tokens, width), mask (texts, 1, 1, tokens) and, for MPNet, biases by distance
    (1, heads, tokens, tokens), to the last layer's states."""
    states = ops.parameter([-1, -1, config.hidden_size], np.float32)
    mask = ops.parameter([-1, 1, 1, -1], np.float32)
    given, bias = [states, mask], mask
    if config.relative_attention_num_buckets:
        given.append(ops.parameter([1, config.num_attention_heads, -1, -1], np.float32))
        bias = ops.add(mask, given[-1])
    names = _MPNET if "encoder.layer.0.attention.attn.q.weight" in arrays else _BERT
    found = normed(states, arrays, "embeddings.LayerNorm", config.layer_norm_eps)
    for number in range(config.num_hidden_layers):
        found = _Layer(config, arrays, f"encoder.layer.{number}.", int8, ranges).states(found, bias, names)
    return openvino.Model([found], given)


class _Layer:
    """``encoders.transformer.Layer`` as nodes of a graph."""

    def __init__(
        self,
        config: TransformerConfig,
        parameters: Mapping[str, Array],
        name: str,
        int8: bool,
        ranges: Ranges | None,
    ) -> None:
        self._config, self._parameters, self._name = config, parameters, name
        self._int8, self._ranges = int8, ranges

    def states(self, states: Any, bias: Any, names: tuple[str, ...]) -> Any:
        """Self-attention and a feed-forward net, each added to its input and normalised."""
        heads = self._config.num_attention_heads
        apart = np.array([0, 0, heads, self._config.hidden_size // heads])
        turned = np.array([0, 2, 1, 3])
        *three, out, norm = (f"attention.{name}" for name in names)
        q, k, v = (
            ops.transpose(ops.reshape(found, apart, True), turned) for found in self._linear(states, *three)
        )
        context = ops.transpose(ops.scaled_dot_product_attention(q, k, v, bias), turned)
        context = ops.reshape(context, np.array([0, 0, self._config.hidden_size]), True)
        [mixed] = self._linear(context, out)
        states = self._norm(ops.add(mixed, states), norm)
        return self._norm(ops.add(self._feed_forward(states), states), "output.LayerNorm")

    def _linear(self, x: Any, *names: str) -> list[Any]:
        """What each of several maps makes of x."""
        if self._ranges is None:
            return [linear(x, self._parameters, self._name + name, self._int8) for name in names]
        maps = [self._map(name, names[0]) for name in names]
        given = rounded(x, maps[0].given, [one.weight for one in maps])
        return [given.mapped(one.weight, one.bias) for one in maps]

    def _feed_forward(self, x: Any) -> Any:
        up, down = "intermediate.dense", "output.dense"
        if self._ranges is None:
            [inner] = self._linear(x, up)
            return self._linear(ops.gelu(inner, "erf"), down)[0]
        return feed_forward(x, self._map(up, up), self._map(down, down))

    def _map(self, name: str, measured: str) -> Map:
        """A map's parameters, with the range that was ``measured`` by the name of another or itself."""
        weight, bias = (self._parameters[f"{self._name}{name}.{part}"] for part in ("weight", "bias"))
        assert self._ranges is not None
        return Map(weight, bias, self._ranges[self._name + measured])

    def _norm(self, x: Any, name: str) -> Any:
        return normed(x, self._parameters, self._name + name, self._config.layer_norm_eps)


def linear(x: Any, parameters: Mapping[str, Array], name: str, int8: bool = False) -> Any:
    """x W^T + b as nodes of a graph, with the weight and bias of the map ``name``."""
    weight = parameters[f"{name}.weight"]
    constant = by_groups(weight) if int8 else ops.constant(weight)
    return ops.add(ops.matmul(x, constant, False, True), parameters[f"{name}.bias"])


def normed(x: Any, parameters: Mapping[str, Array], name: str, eps: float) -> Any:
    """x normalised along its last axis, with the weight and bias of the norm ``name``."""
    scaled = ops.multiply(ops.mvn(x, np.array([-1]), True, eps, "inside_sqrt"), parameters[f"{name}.weight"])
    return ops.add(scaled, parameters[f"{name}.bias"])

"""The layers of the encoders of ``encoders.transformer``, run by OpenVINO on a CPU."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from encoders.transformer import Hidden, MPNetLayer, Transformer, TransformerConfig, distance_bias

# Imported without its converter of models, which nobody needs here, and which reports each use to its makers.
_CONVERTER = "openvino.tools.ovc"
sys.modules.setdefault(_CONVERTER, None)  # type: ignore[arg-type]

import openvino  # noqa: E402
from openvino import opset13 as ops  # noqa: E402

if sys.modules[_CONVERTER] is None:
    del sys.modules[_CONVERTER]  # whoever asks for it by name gets it

GROUP = 128  # weights of a row that share a scale
ACTIVATIONS = 64  # numbers of a token that share one, chosen anew at each call
HIDDEN = np.float32(-1e4)  # what attention adds for a token that is not there
_COMPILING = ThreadPoolExecutor(thread_name_prefix="compile")
_PRECISIONS = {torch.bfloat16: "bf16", torch.float32: "f32"}
# The linear maps of a layer, and the norm behind its attention, by the names of their parameters.
_BERT = ("self.query", "self.key", "self.value", "output.dense", "output.LayerNorm")
_MPNET = ("attn.q", "attn.k", "attn.v", "attn.o", "LayerNorm")


class OpenVINOTransformer:
    """As the ``Transformer`` that it is made of, which keeps its embeddings: called alike, on the CPU.

    ``int8`` rounds each ``GROUP`` weights of a linear map, and what it is given by OpenVINO's dynamic
    quantisation; nothing has to be calibrated. Threads may share one.
    """

    def __init__(self, model: Transformer, dtype: torch.dtype, int8: bool) -> None:
        """``model`` is of fp32; as many threads as torch has compute in ``dtype``, fp32 or bf16."""
        self.config = model.config
        # And no more of the model, whose layers can go where nobody else has them.
        self._embeddings = model.embeddings
        relative = getattr(model.encoder, "relative_attention_bias", None)
        self._distances: Tensor | None = None if relative is None else relative.weight
        self._layers = _Compiled(_graph(model, int8), dtype, int8)

    def __call__(
        self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None
    ) -> Hidden:
        """See ``Transformer.forward``; states are of fp32."""
        with torch.inference_mode():
            given = [self._embeddings(input_ids, token_type_ids).numpy()]
        mask = np.zeros((len(input_ids), 1, 1, input_ids.shape[1]), dtype=np.float32)
        if attention_mask is not None:
            mask[:, 0, 0][attention_mask.numpy() == 0] = HIDDEN
        given.append(mask)
        if self._distances is not None:
            given.append(distance_bias(self._distances, input_ids.shape[1]).numpy())
        return Hidden(self._layers(*given))


class OpenVINOLinear:
    """x W^T + b for x of shape (..., inputs), a weight (outputs, inputs) and a bias (outputs,), all fp32."""

    def __init__(self, weight: Tensor, bias: Tensor, dtype: torch.dtype) -> None:
        """As many threads as torch has compute in ``dtype``, fp32 or bf16."""
        x = ops.parameter([-1, weight.shape[1]], np.float32)
        product = ops.matmul(x, ops.constant(weight.detach().numpy()), False, True)
        graph = openvino.Model([ops.add(product, bias.detach().numpy())], [x])
        self._compiled = _Compiled(graph, dtype, int8=False)

    def __call__(self, x: Tensor) -> Tensor:
        """Shape (..., inputs) to (..., outputs)."""
        return self._compiled(x.flatten(0, -2).numpy()).view(*x.shape[:-1], -1)


class _Compiled:
    """A graph of one output, compiled; threads may share it."""

    def __init__(self, graph: Any, dtype: torch.dtype, int8: bool) -> None:
        settings = {
            "INFERENCE_PRECISION_HINT": _PRECISIONS[dtype],
            "INFERENCE_NUM_THREADS": torch.get_num_threads(),
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,  # or all processes would crowd on the same first cores
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": ACTIVATIONS if int8 else 0,
        }
        # Beside what else is loaded: it takes as long as a question.
        self._compiled = _COMPILING.submit(openvino.Core().compile_model, graph, "CPU", settings)
        self._mine = threading.local()

    def __call__(self, *given: NDArray[np.float32]) -> Tensor:
        """Inputs are not copied, what is found is."""
        if not hasattr(self._mine, "request"):
            self._mine.request = self._compiled.result().create_infer_request()
        return torch.from_numpy(self._mine.request.infer(list(given), share_inputs=True)[0])


def _graph(model: Transformer, int8: bool) -> Any:
    """From the first layer's states (texts, tokens, width), mask (texts, 1, 1, tokens) and, for MPNet, biases
    by distance (1, heads, tokens, tokens), to the last layer's states."""
    config = model.config
    parameters = {name: tensor.detach().numpy() for name, tensor in model.encoder.layer.named_parameters()}
    states = ops.parameter([-1, -1, config.hidden_size], np.float32)
    mask = ops.parameter([-1, 1, 1, -1], np.float32)
    given, bias = [states, mask], mask
    if config.relative_attention_num_buckets:
        given.append(ops.parameter([1, config.num_attention_heads, -1, -1], np.float32))
        bias = ops.add(mask, given[-1])
    names = _MPNET if isinstance(model.encoder.layer[0], MPNetLayer) else _BERT
    found = states
    for number in range(config.num_hidden_layers):
        found = _Layer(config, parameters, f"{number}.", int8).states(found, bias, names)
    return openvino.Model([found], given)


class _Layer:
    """``encoders.transformer.Layer`` as nodes of a graph."""

    def __init__(
        self, config: TransformerConfig, parameters: Mapping[str, NDArray[np.float32]], name: str, int8: bool
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
        weight = self._parameters[f"{self._name}{name}.weight"]
        constant = _int8(weight) if self._int8 else ops.constant(weight)
        return ops.add(ops.matmul(x, constant, False, True), self._parameters[f"{self._name}{name}.bias"])

    def _norm(self, x: Any, name: str) -> Any:
        normed = ops.mvn(x, np.array([-1]), True, self._config.layer_norm_eps, "inside_sqrt")
        scaled = ops.multiply(normed, self._parameters[f"{self._name}{name}.weight"])
        return ops.add(scaled, self._parameters[f"{self._name}{name}.bias"])


def _int8(weight: NDArray[np.float32]) -> Any:
    """A weight (outputs, inputs) as whole numbers up to 127 and a scale for each ``GROUP`` of a row."""
    outputs, inputs = weight.shape
    size = GROUP if inputs % GROUP == 0 else inputs
    groups = weight.reshape(outputs, inputs // size, size)
    scale = np.maximum(np.abs(groups).max(2, keepdims=True), np.float32(1e-8)) / np.float32(127)
    rounded = ops.convert(ops.constant(np.rint(groups / scale).astype(np.int8)), "f32")
    return ops.reshape(ops.multiply(rounded, scale), np.array([outputs, inputs]), False)

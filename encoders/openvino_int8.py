"""Linear maps in 8-bit integers, as nodes of OpenVINO's graphs.

What maps are given is rounded anew at each call, by OpenVINO's dynamic quantisation; or, where its ranges
were measured (``encoders.activation_ranges``), by scales that are fixed, which is a sixth less work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.openvino_api import ops

Array = NDArray[np.float32]
GROUP = 128  # weights of a row that share a scale where inputs are rounded at each call
# How much of the spread between inputs is moved into the weights, 1 all of it. Of .5, .7, .85 and 1 the one
# with the least error of scores; vectors of odd texts want no more.
SMOOTHING = 0.7
# Hidden units of a feed-forward net that stay in floating point: a few give numbers ten times as large as
# the others do, for some tokens, and cost them their precision. With 64 the error is half of that with none.
APART = 64
LEAST_GELU = -0.17  # what GELU gives is no less


def by_groups(weight: Array) -> Any:
    """A weight (outputs, inputs) as whole numbers up to 127 and a scale for each ``GROUP`` of a row."""
    outputs, inputs = weight.shape
    size = GROUP if inputs % GROUP == 0 else inputs
    rounded, scale = _whole(weight.reshape(outputs, inputs // size, size))
    return ops.reshape(ops.multiply(rounded, scale), np.array([outputs, inputs]), False)


def _whole(weight: Array) -> tuple[Any, Array]:
    """The last axis in whole numbers up to 127, as a node, and the scale of each row."""
    scale = np.maximum(np.abs(weight).max(-1, keepdims=True), np.float32(1e-8)) / np.float32(127)
    return ops.convert(ops.constant(np.rint(weight / scale).astype(np.int8)), "f32"), scale


class Rounded(NamedTuple):
    """Inputs x as ``node * smooth + least``, where the node's numbers share one scale."""

    node: Any
    smooth: Array  # (inputs,)
    least: float

    def mapped(self, weight: Array, bias: Array) -> Any:
        """x W^T + b."""
        rounded, scale = _whole(weight * self.smooth)
        moved = bias + np.float32(self.least) * weight.sum(1)
        return ops.add(ops.matmul(self.node, ops.multiply(rounded, scale), False, True), moved)


def rounded(x: Any, highest: Array, weights: Sequence[Array], least: float | None = None) -> Rounded:
    """What several maps are given, rounded once for all (SmoothQuant: Xiao et al. 2023, equations 3 and 4).

    ``highest`` (inputs,) are the largest magnitudes of x, or where ``least`` says what x is never below, its
    largest numbers; what is larger is cut. ``weights`` (outputs, inputs) are those of the maps.
    """
    reach = np.maximum(highest - np.float32(least or 0), np.float32(1e-3))
    heaviest = np.maximum(np.max([np.abs(one).max(0) for one in weights], axis=0), np.float32(1e-5))
    smooth = reach**SMOOTHING / heaviest ** (1 - SMOOTHING)
    top = float((reach / smooth).max())
    if least is not None:
        x = ops.subtract(x, _number(least))
    bottom = -top * 128 / 127 if least is None else 0.0
    bounds = [_number(bottom), _number(top)]
    spread = ops.multiply(x, ops.constant((1 / smooth).astype(np.float32)[None, None]))
    return Rounded(ops.fake_quantize(spread, *bounds, *bounds, 256), smooth, least or 0.0)


def _number(value: float) -> Any:
    return ops.constant(np.array([[[value]]], dtype=np.float32))


class Map(NamedTuple):
    """A linear map's parameters, and the largest magnitude of each input."""

    weight: Array  # (outputs, inputs)
    bias: Array  # (outputs,)
    highest: Array  # (inputs,)


def feed_forward(x: Any, up: Map, down: Map) -> Any:
    """GELU(x U^T + u) D^T + d, the ``APART`` units that give the largest numbers in floating point."""
    reach = (down.highest - LEAST_GELU) * np.abs(down.weight).max(0)
    order = np.argsort(-reach, kind="stable")
    apart, rest = np.sort(order[:APART]), np.sort(order[APART:])
    exact = ops.add(ops.matmul(x, ops.constant(up.weight[apart]), False, True), up.bias[apart])
    out = ops.matmul(ops.gelu(exact, "erf"), ops.constant(down.weight[:, apart].copy()), False, True)
    if not len(rest):
        return ops.add(out, down.bias)
    inner = ops.gelu(rounded(x, up.highest, [up.weight]).mapped(up.weight[rest], up.bias[rest]), "erf")
    weight = down.weight[:, rest]
    return ops.add(rounded(inner, down.highest[rest], [weight], LEAST_GELU).mapped(weight, down.bias), out)

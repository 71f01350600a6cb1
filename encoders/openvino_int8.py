"""Linear maps in 8-bit integers, as nodes of OpenVINO's graphs.

What maps are given is rounded anew at each call, by OpenVINO's dynamic quantisation; or, where its ranges
were measured (``encoders.activation_ranges``), by scales that are fixed, which is a sixth less work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from encoders.activation_ranges import Range
from encoders.openvino_api import ops

Array = NDArray[np.float32]
GROUP = 128  # weights of a row that share a scale where inputs are rounded at each call
# How much of the spread between inputs is moved into the weights, 1 all of it. Of .7, .8, .85 and 1 the one
# with the least error of scores.
SMOOTHING = 0.85
# Hidden units of a feed-forward net that stay in floating point: a few give numbers ten times as large as
# the others do, for some tokens, and cost them their precision. With 64 the error is half of that with none.
APART = 64


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
    """Inputs x as ``node * smooth + origin``, where the node's numbers share one scale."""

    node: Any
    smooth: Array  # (inputs,)
    origin: Array  # (inputs,)

    def mapped(self, weight: Array, bias: Array) -> Any:
        """x W^T + b."""
        rounded, scale = _whole(weight * self.smooth)
        moved = bias + weight @ self.origin
        return ops.add(ops.matmul(self.node, ops.multiply(rounded, scale), False, True), moved)


def rounded(x: Any, given: Range, weights: Sequence[Array], one_sided: bool = False) -> Rounded:
    """What several maps are given, rounded once for all.

    By SmoothQuant (Xiao et al. 2023, equations 3 and 4), of what is left of x without the middle of its range
    (Wei et al. 2023, Outlier Suppression+, equation 3), or without the least of it where that is where most
    of it lies, ``one_sided``; what is outside of the range is cut. ``weights`` (outputs, inputs) are those of
    the maps.
    """
    reach = np.maximum(given.reach, np.float32(1e-3))
    origin, span = (given.middle - reach, 2 * reach) if one_sided else (given.middle, reach)
    heaviest = np.maximum(np.max([np.abs(one).max(0) for one in weights], axis=0), np.float32(1e-5))
    smooth = span**SMOOTHING / heaviest ** (1 - SMOOTHING)
    top = float((span / smooth).max())
    bounds = [_number(0.0 if one_sided else -top * 128 / 127), _number(top)]
    spread = ops.multiply(ops.subtract(x, _row(origin)), _row(1 / smooth))
    return Rounded(ops.fake_quantize(spread, *bounds, *bounds, 256), smooth, origin)


def _number(value: float) -> Any:
    return _row(np.array([value]))


def _row(values: Array) -> Any:
    """Values (inputs,) as a constant that is the same for all texts and tokens."""
    return ops.constant(values.astype(np.float32)[None, None])


class Map(NamedTuple):
    """A linear map's parameters, and the range of its inputs."""

    weight: Array  # (outputs, inputs)
    bias: Array  # (outputs,)
    given: Range


def feed_forward(x: Any, up: Map, down: Map) -> Any:
    """GELU(x U^T + u) D^T + d, the ``APART`` units that give the largest numbers in floating point."""
    order = np.argsort(-down.given.reach * np.abs(down.weight).max(0), kind="stable")
    apart, rest = np.sort(order[:APART]), np.sort(order[APART:])
    exact = ops.add(ops.matmul(x, ops.constant(up.weight[apart]), False, True), up.bias[apart])
    out = ops.matmul(ops.gelu(exact, "erf"), ops.constant(down.weight[:, apart].copy()), False, True)
    if not len(rest):
        return ops.add(out, down.bias)
    inner = ops.gelu(rounded(x, up.given, [up.weight]).mapped(up.weight[rest], up.bias[rest]), "erf")
    weight = down.weight[:, rest]
    of_rest = Range(*(one[rest] for one in down.given))
    given = rounded(inner, of_rest, [weight], one_sided=True)  # GELU gives little below 0
    return ops.add(given.mapped(weight, down.bias), out)

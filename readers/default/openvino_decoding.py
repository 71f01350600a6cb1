"""The pointer-generator of ``readers.default.pointer_generator`` in OpenVINO, on a CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from encoders.backbone import base_arrays
from encoders.openvino_api import openvino, ops
from encoders.openvino_layers import HIDDEN, Array, Compiled, linear, normed
from readers.default.beam_search import Written, grow
from readers.default.decoding import HEADS, LONGEST, WIDTH, Read, Said
from readers.default.wording import Wording

EPS = 1e-12  # of norms
_FAR = np.float32(-1e9)  # what the copy attention adds for a token that may not be copied
# What is prepared for a shape takes megabytes, and hardly two questions had the same: memory grew by 5 MB a
# question. Memories are as long as a multiple of so many tokens, and few shapes are kept.
_STEP = 64
_SHAPES = 20


@dataclass(frozen=True, slots=True)
class Memory:
    """As ``pointer_generator.Memory``, of arrays.

    ``lengths`` are tokens of each reading. ``seen`` (readings, 1, 1, memory) and ``copied`` (readings, 1,
    memory) are added to attention: 0 where a token may be looked at. ``looked_at`` are each layer's keys and
    values, and the keys of the copy attention.
    """

    lengths: tuple[int, ...]
    ids: NDArray[np.int64]
    seen: Array
    copied: Array
    looked_at: tuple[Array, ...]

    def row(self, row: int) -> Memory:
        """That of one reading, with no more padding than by itself."""
        rows, tokens = slice(row, row + 1), slice(_padded(self.lengths[row]))
        *pairs, pointed = self.looked_at
        return Memory(
            self.lengths[rows],
            self.ids[rows, tokens],
            self.seen[rows, ..., tokens],
            self.copied[rows, ..., tokens],
            (*(one[rows, :, tokens] for one in pairs), pointed[rows, tokens]),
        )


@dataclass(frozen=True, slots=True)
class Step:
    """What is said of the next token after each of ``tokens``: scores of words (answers, tokens, vocabulary),
    the copy attention (answers, tokens, memory) and the log-odds of p_gen (answers, tokens)."""

    words: Array
    attention: Array
    switch: Array


class OpenVINODecoding:
    """See ``Decoding``. Threads may share one.

    The maps over the memory and to the vocabulary, the largest, compute in ``floats``, the rest in fp32.
    """

    def __init__(self, arrays: Mapping[str, Array], floats: str) -> None:
        """``arrays`` are the decoder's parameters in fp32 by name."""
        self._positions = arrays["positions.weight"]
        self._embeddings: Array = base_arrays()["embeddings.word_embeddings.weight"]
        self._layers = sum(name.endswith(".own.key.weight") for name in arrays)
        self._read = Compiled(_reading(arrays, self._layers), floats, shapes=_SHAPES)
        self._step = Compiled(_step(arrays, self._layers), "fp32", shapes=_SHAPES)
        self._words = Compiled(_to_words(self._embeddings, arrays["bias"]), floats, shapes=_SHAPES)

    def mask(self, of_words: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """See ``Decoding.mask``."""
        return of_words

    def read(self, readings: Sequence[Read]) -> Memory:
        """See ``Decoding.read``."""
        lengths = tuple(len(reading.ids) for reading in readings)
        shape = len(readings), _padded(max(lengths))
        states: Array = np.zeros((*shape, readings[0].states[0].shape[1]), np.float32)
        ids = np.zeros(shape, np.int64)
        seen, copied = np.full(shape, HIDDEN, np.float32), np.full(shape, _FAR, np.float32)
        for row, (reading, length) in enumerate(zip(readings, lengths, strict=True)):
            np.concatenate(reading.states, out=states[row, :length])
            ids[row, :length] = reading.ids
            seen[row, :length] = 0
            copied[row, :length][np.asarray(reading.copied)] = 0
        looked_at = tuple(self._read(states))
        return Memory(lengths, ids, seen[:, None, None, :], copied[:, None, :], looked_at)

    def search(
        self, memory: Memory, wording: Sequence[Wording], begin: int, end: int, beams: int
    ) -> list[list[Written]]:
        """See ``Decoding.search``."""
        return grow(_Pointing(self, memory, wording), len(memory.ids), begin, end, beams, LONGEST)

    def say(self, memory: Memory, row: int, begin: int, answers: Sequence[Sequence[int]]) -> list[Said]:
        """See ``Decoding.say``."""
        alone = memory.row(row)
        longest = max(map(len, answers))
        padded = np.zeros((len(answers), longest), np.int64)
        for n, one in enumerate(answers):
            padded[n, : len(one)] = one
        before = np.concatenate([np.full((len(answers), 1), begin), padded[:, :-1]], 1)
        step, _ = self.step(before, alone, self.no_past(len(answers)))
        log_p = np.take_along_axis(step.words, padded[..., None], 2)[..., 0] - _log_sum(step.words)
        log_copies = _log_sigmoid(-step.switch)
        same = alone.ids[0] == padded[..., None]  # (answers, tokens, memory)
        copied = np.log(np.maximum((step.attention * same).sum(2), 1e-30)) + log_copies
        whole = np.logaddexp(log_p + _log_sigmoid(step.switch), copied)
        attention = step.attention[..., : alone.lengths[0]]
        return [
            Said(attention[n, : len(one)], log_copies[n, : len(one)], whole[n, : len(one)])
            for n, one in enumerate(answers)
        ]

    def no_past(self, answers: int) -> list[Array]:
        """The keys and values of answers before their first token."""
        nothing = np.zeros((answers, HEADS, 0, WIDTH // HEADS), np.float32)
        return [nothing] * (2 * self._layers)

    def step(self, tokens: NDArray[np.int64], memory: Memory, past: list[Array]) -> tuple[Step, list[Array]]:
        """What follows each of ``tokens`` (answers, tokens) after what is ``past``, and what is past then."""
        first = past[0].shape[2]
        answers, more = tokens.shape
        embedded = self._embeddings[tokens] + self._positions[first : first + more]
        own = np.triu(np.full((more, first + more), HIDDEN, np.float32), first + 1)[None, None]
        last, attention, switch, *grown = self._step(
            embedded, own, memory.seen, memory.copied, *memory.looked_at, *past
        )
        [words] = self._words(last)
        attention = attention.reshape(answers, more, -1)
        return Step(words, attention, switch[..., 0]), grown


class _Pointing:
    """See ``beam_search.Growing``."""

    def __init__(self, decoding: OpenVINODecoding, memory: Memory, wording: Sequence[Wording]) -> None:
        self._decoding, self._memory, self._wording = decoding, memory, wording
        self._past: list[Array] | None = None
        self._written: list[tuple[int, ...]] = []

    def next(self, tokens: Sequence[int], never: Sequence[int], most: int) -> tuple[Array, NDArray[np.int64]]:
        """See ``beam_search.Growing.next``."""
        past = self._past or self._decoding.no_past(len(tokens))
        step, self._past = self._decoding.step(np.array(tokens)[:, None], self._memory, past)
        log_p = self._log_distribution(step)
        self._written = [
            (*some, one) for some, one in zip(self._written or [()] * len(tokens), tokens, strict=True)
        ]
        answers = len(tokens) // len(self._wording)
        for row, written in enumerate(self._written):
            self._wording[row // answers].forbid(written[1:], log_p[row])
        log_p[:, list(never)] = -np.inf
        likeliest = np.argpartition(-log_p, min(most, log_p.shape[1] - 1), axis=1)[:, :most]
        return np.take_along_axis(log_p, likeliest, 1), likeliest

    def _log_distribution(self, step: Step) -> Array:
        """log P(w) of the next token, (answers, vocabulary): See et al. 2017, equation 9."""
        words, switch = step.words[:, -1], step.switch[:, -1:]
        generated: Array = np.exp(words - words.max(1, keepdims=True))
        generated *= np.exp(_log_sigmoid(switch)) / generated.sum(1, keepdims=True)
        copied = step.attention[:, -1] * np.exp(_log_sigmoid(-switch))
        answers = len(words) // len(self._memory.ids)
        for row, one in enumerate(copied):
            np.add.at(generated[row], self._memory.ids[row // answers], one)
        return np.log(np.maximum(generated, 1e-12))

    def keep(self, rows: Sequence[int]) -> None:
        """See ``beam_search.Growing.keep``."""
        if self._past is not None:
            self._past = [one[list(rows)] for one in self._past]
        self._written = [self._written[row] for row in rows]


def _padded(tokens: int) -> int:
    return -(-tokens // _STEP) * _STEP


def _log_sigmoid(x: Array) -> Array:
    found: Array = -np.logaddexp(np.float32(0), -x)
    return found


def _log_sum(scores: Array) -> Array:
    """log of the sum of exp along the last axis."""
    most = scores.max(-1)
    found: Array = most + np.log(np.exp(scores - most[..., None]).sum(-1))
    return found


# The graphs, as PointerDecoder computes without dropout.


def _parameter(*shape: int) -> Any:
    return ops.parameter(list(shape), np.float32)


def _split_heads(x: Any) -> Any:
    """(rows, tokens, width) to (rows, heads, tokens, width / heads)."""
    apart = ops.reshape(x, np.array([0, 0, HEADS, WIDTH // HEADS]), True)
    return ops.transpose(apart, np.array([0, 2, 1, 3]))


def _reading(arrays: Mapping[str, Array], layers: int) -> Any:
    """From states (readings, memory, width) to all that is looked at, see ``Memory.looked_at``."""
    narrow = arrays.get("narrow.weight")
    given = _parameter(-1, -1, WIDTH if narrow is None else narrow.shape[1])
    states = given if narrow is None else linear(given, arrays, "narrow")
    pairs = [
        _split_heads(linear(states, arrays, f"layers.{n}.across.{name}"))
        for n in range(layers)
        for name in ("key", "value")
    ]
    return openvino.Model([*pairs, linear(states, arrays, "point_key")], [given])


def _to_words(embeddings: Array, bias: Array) -> Any:
    """From what the last layer says (answers, tokens, width) to scores of words."""
    given = _parameter(-1, -1, WIDTH)
    words = ops.constant(embeddings, shared_memory=True)  # with the encoders, and other processes
    return openvino.Model([ops.add(ops.matmul(given, words, False, True), bias)], [given])


def _step(arrays: Mapping[str, Array], layers: int) -> Any:
    """From embedded tokens (answers, tokens, width), what is added to attention among them, memory and past.

    To what words are scored by, copy attention (readings, answers * tokens, memory), switch and past.
    """
    embedded, own = _parameter(-1, -1, WIDTH), _parameter(1, 1, -1, -1)
    seen, copied = _parameter(-1, 1, 1, -1), _parameter(-1, 1, -1)
    heads = WIDTH // HEADS
    across = [_parameter(-1, HEADS, -1, heads) for _ in range(2 * layers)]
    pointed = _parameter(-1, -1, WIDTH)
    past = [_parameter(-1, HEADS, -1, heads) for _ in range(2 * layers)]
    shape = ops.shape_of(embedded)
    readings = ops.gather(ops.shape_of(seen), np.array([0]), np.array(0))
    by_reading = ops.concat([readings, np.array([-1, WIDTH])], 0)  # all answers to one in a row

    def attend(name: str, states: Any, key: Any, value: Any, bias: Any) -> Any:
        query = _split_heads(linear(states, arrays, f"{name}.query"))
        found = ops.transpose(
            ops.scaled_dot_product_attention(query, key, value, bias), np.array([0, 2, 1, 3])
        )
        mixed = linear(ops.reshape(found, np.array([0, 0, WIDTH]), True), arrays, f"{name}.output")
        return normed(ops.add(states, mixed), arrays, f"{name}.norm", EPS)

    hidden = normed(embedded, arrays, "norm", EPS)
    grown = []
    for n in range(layers):
        name = f"layers.{n}"
        key, value = (
            ops.concat([past[2 * n + i], _split_heads(linear(hidden, arrays, f"{name}.own.{kind}"))], 2)
            for i, kind in enumerate(("key", "value"))
        )
        grown += [key, value]
        hidden = attend(f"{name}.own", hidden, key, value, own)
        together = ops.reshape(hidden, by_reading, False)
        together = attend(f"{name}.across", together, across[2 * n], across[2 * n + 1], seen)
        hidden = ops.reshape(together, shape, False)
        inner = ops.gelu(linear(hidden, arrays, f"{name}.inner"), "erf")
        hidden = normed(ops.add(hidden, linear(inner, arrays, f"{name}.outer")), arrays, f"{name}.norm", EPS)
    query = linear(ops.reshape(hidden, by_reading, False), arrays, "point_query")
    scores = ops.multiply(ops.matmul(query, pointed, False, True), np.float32(WIDTH**-0.5))
    attention = ops.softmax(ops.add(scores, copied), -1)
    context = ops.reshape(ops.matmul(attention, pointed, False, False), shape, False)
    switch = linear(ops.concat([context, hidden, embedded], 2), arrays, "switch")
    last = normed(ops.gelu(linear(hidden, arrays, "transform"), "erf"), arrays, "transform_norm", EPS)
    return openvino.Model(
        [last, attention, switch, *grown],
        [embedded, own, seen, copied, *across, pointed, *past],
    )
